package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"floe/transport/http/api"
)

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	var out T
	err := c.call(ctx, request{method: http.MethodGet, path: path, query: query}, &out)
	return out, err
}

func change[T any](ctx context.Context, c *Client, method, path string, query url.Values, body any) (T, error) {
	var out T
	err := c.call(ctx, request{method: method, path: path, query: query, body: body, change: true}, &out)
	return out, err
}

// Topics returns all topics sorted by name.
func (c *Client) Topics(ctx context.Context) ([]api.Topic, error) {
	return get[[]api.Topic](ctx, c, "/v1/topics", nil)
}

// Topic returns one topic. Error kind: no_such_topic.
func (c *Client) Topic(ctx context.Context, name string) (api.Topic, error) {
	return get[api.Topic](ctx, c, "/v1/topics", url.Values{"name": {name}})
}

// Create makes a topic.
func (c *Client) Create(ctx context.Context, name string) (api.Topic, error) {
	if err := checkText(name); err != nil {
		return api.Topic{}, err
	}
	return change[api.Topic](ctx, c, http.MethodPost, "/v1/topics", nil, api.NewTopic{Name: name})
}

// Destroy removes a topic with its links and subscriptions. One that a route
// leads to is refused (in_use) unless forced.
func (c *Client) Destroy(ctx context.Context, name string, force bool) error {
	query := url.Values{"name": {name}}
	if force {
		query.Set("force", "true")
	}
	_, err := change[api.Removed](ctx, c, http.MethodDelete, "/v1/topics", query, nil)
	return err
}

// Links returns all links sorted by source.
func (c *Client) Links(ctx context.Context) ([]api.Link, error) {
	return get[[]api.Link](ctx, c, "/v1/links", nil)
}

// TopicLinks returns the links of one topic in the order they were made.
func (c *Client) TopicLinks(ctx context.Context, topic string) ([]api.Link, error) {
	return get[[]api.Link](ctx, c, "/v1/links", url.Values{"topic": {topic}})
}

// Link makes a link, or gives it a new cost where Replace is set.
func (c *Client) Link(ctx context.Context, l api.NewLink) (api.Link, error) {
	if err := checkText(l.From, l.To, l.Cluster); err != nil {
		return api.Link{}, err
	}
	return change[api.Link](ctx, c, http.MethodPost, "/v1/links", nil, l)
}

// Unlink removes a link. to names its target as lists of links do.
func (c *Client) Unlink(ctx context.Context, from, to string) error {
	return c.unlink(ctx, url.Values{"from": {from}, "to": {to}})
}

// UnlinkMessages removes a link to messages, named as MTYPE or MTYPE/SUBID.
func (c *Client) UnlinkMessages(ctx context.Context, from, messages string) error {
	return c.unlink(ctx, url.Values{"from": {from}, "to": {messages}, "messages": {"true"}})
}

func (c *Client) unlink(ctx context.Context, query url.Values) error {
	_, err := change[api.Removed](ctx, c, http.MethodDelete, "/v1/links", query, nil)
	return err
}

// Subscribers returns the subscribers and links of the topics, of all
// topics where none is named.
func (c *Client) Subscribers(ctx context.Context, topics ...string) ([]api.Subscriber, error) {
	query := url.Values{}
	if len(topics) > 0 {
		query["topic"] = topics
	}
	return get[[]api.Subscriber](ctx, c, "/v1/subscribers", query)
}

// Unsubscribe removes a subscription, named by its Ice identity.
func (c *Client) Unsubscribe(ctx context.Context, topic, identity string) error {
	_, err := change[api.Removed](ctx, c, http.MethodDelete, "/v1/subscribers", url.Values{"topic": {topic}, "identity": {identity}}, nil)
	return err
}

// Graph returns all topics and links as they stand at one moment.
func (c *Client) Graph(ctx context.Context) (api.Graph, error) {
	return get[api.Graph](ctx, c, "/v1/graph", nil)
}

// Apply brings the graph to what a script says, whole or not at all.
func (c *Client) Apply(ctx context.Context, a api.Apply) (api.Applied, error) {
	if err := checkScript(a.Script); err != nil {
		return api.Applied{}, err
	}
	return change[api.Applied](ctx, c, http.MethodPost, "/v1/apply", nil, a)
}

// Clusters returns the other floe clusters that are known.
func (c *Client) Clusters(ctx context.Context) ([]api.Cluster, error) {
	return get[[]api.Cluster](ctx, c, "/v1/clusters", nil)
}

// AddCluster makes another floe cluster known.
func (c *Client) AddCluster(ctx context.Context, cluster api.Cluster) (api.Cluster, error) {
	if err := checkText(cluster.Name); err != nil {
		return api.Cluster{}, err
	}
	return change[api.Cluster](ctx, c, http.MethodPost, "/v1/clusters", nil, cluster)
}

// RemoveCluster forgets another floe cluster.
func (c *Client) RemoveCluster(ctx context.Context, name string) error {
	_, err := change[api.Removed](ctx, c, http.MethodDelete, "/v1/clusters", url.Values{"name": {name}}, nil)
	return err
}

// Members returns the nodes as the asked one sees them.
func (c *Client) Members(ctx context.Context) ([]api.Member, error) {
	return get[[]api.Member](ctx, c, "/v1/members", nil)
}

// Status returns the state of the cluster as the asked node sees it.
func (c *Client) Status(ctx context.Context) (api.Status, error) {
	return get[api.Status](ctx, c, "/v1/status", nil)
}

// Join has the asked node enter the cluster found at one of the peer addresses.
func (c *Client) Join(ctx context.Context, addresses []string, token string) (api.Done, error) {
	return change[api.Done](ctx, c, http.MethodPost, "/v1/join", nil, api.Join{Addresses: addresses, Token: token})
}

// Leave has the asked node leave its cluster.
func (c *Client) Leave(ctx context.Context) (api.Done, error) {
	return change[api.Done](ctx, c, http.MethodPost, "/v1/leave", nil, nil)
}

// Remove removes a node from the cluster.
func (c *Client) Remove(ctx context.Context, id string, force bool) (api.Done, error) {
	return change[api.Done](ctx, c, http.MethodPost, "/v1/remove", nil, api.Remove{ID: id, Force: force})
}

// Transfer hands leadership over, to the node of that id if it is not empty.
func (c *Client) Transfer(ctx context.Context, id string) (api.Done, error) {
	return change[api.Done](ctx, c, http.MethodPost, "/v1/transfer", nil, api.Transfer{ID: id})
}

// Drain has the asked node let go of its work, or take part again.
func (c *Client) Drain(ctx context.Context, undo bool) (api.Done, error) {
	return change[api.Done](ctx, c, http.MethodPost, "/v1/drain", nil, api.Drain{Undo: undo})
}

// Publish publishes one event.
func (c *Client) Publish(ctx context.Context, p api.Publish) error {
	if err := checkEvent(p); err != nil {
		return err
	}
	_, err := change[api.Done](ctx, c, http.MethodPost, "/v1/events", nil, p)
	return err
}

// Settings returns what can be changed while the asked node runs.
func (c *Client) Settings(ctx context.Context) ([]api.Setting, error) {
	return get[[]api.Setting](ctx, c, "/v1/settings", nil)
}

// Set changes a value of the asked node until it stops.
func (c *Client) Set(ctx context.Context, s api.Setting) error {
	_, err := change[api.Setting](ctx, c, http.MethodPost, "/v1/settings", nil, s)
	return err
}

// String says how old the copy is, for people.
func (c Copy) String() string {
	age := "has not heard a leader since it started"
	if c.Age >= 0 {
		age = "heard the leader " + strconv.FormatFloat(c.Age.Seconds(), 'f', 1, 64) + "s ago"
	}
	return "answered by node " + c.Node + " at applied index " + strconv.FormatUint(c.Index, 10) + ", which " + age
}
