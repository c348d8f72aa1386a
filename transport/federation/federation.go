package federation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"floe/fsm"
	"floe/topics"
)

// askTimeout bounds one question to one address.
const askTimeout = 2 * time.Second

// Group is what federation needs of this node's cluster.
type Group interface {
	View() *fsm.View
	// Read returns a view that is as new as every change acknowledged before.
	Read(ctx context.Context) (*fsm.View, error)
	// Ask puts a question to a peer address, also one of another cluster.
	Ask(ctx context.Context, addr, method string, body []byte) ([]byte, error)
}

// Config says what a [Federation] works on.
type Config struct {
	Group Group
	// LinkProxy returns the marshalled Ice proxy (encoding 1.1) that takes
	// events for one of our own topics.
	LinkProxy func(t *topics.Topic) []byte
}

// Federation asks other clusters and answers them. It is safe for concurrent use.
type Federation struct {
	config  Config
	mu      sync.Mutex
	learned map[string][]string // cluster id to the addresses its nodes told
}

// New returns a federation.
func New(config Config) *Federation {
	return &Federation{config: config, learned: make(map[string][]string)}
}

// Errors of questions to other clusters.
var (
	// ErrNoTopic: the other cluster has no such topic.
	ErrNoTopic = errors.New("the other cluster has no such topic")
	// ErrUnreachable: no known address of the other cluster answered.
	ErrUnreachable = errors.New("no node of the other cluster answers")
	// ErrOtherCluster: the addresses lead to a cluster with another id.
	ErrOtherCluster = errors.New("the addresses lead to another cluster")
)

// hello is the answer to "federation.hello".
type hello struct {
	ClusterID string   `json:"cluster_id"`
	Instance  string   `json:"instance"`
	Addresses []string `json:"addresses"`
}

// topicQuestion asks about a topic by name or by id.
type topicQuestion struct {
	ClusterID string    `json:"cluster_id"`
	Name      string    `json:"name,omitempty"`
	ID        topics.ID `json:"id,omitempty"`
}

type topicAnswer struct {
	hello
	Found bool      `json:"found"`
	Name  string    `json:"name,omitempty"`
	ID    topics.ID `json:"id,omitempty"`
	Proxy []byte    `json:"proxy,omitempty"`
}

// Discover asks peer addresses who they belong to and returns the cluster
// under the given name, with the addresses of all its nodes. Nothing is
// changed: propose fsm.SetCluster with what it returns.
func (f *Federation) Discover(ctx context.Context, name string, addresses []string) (fsm.Peer, error) {
	var h hello
	if err := f.askAny(ctx, addresses, methods+"hello", struct{}{}, &h); err != nil {
		return fsm.Peer{}, fmt.Errorf("cluster %q: %w", name, err)
	}
	return fsm.Peer{Name: name, ID: h.ClusterID, Instance: h.Instance, Addresses: merge(addresses, h.Addresses)}, nil
}

// Topic returns the link target for a topic of a cluster we know by name.
// Errors: fsm.ErrNoCluster, ErrNoTopic, ErrUnreachable, ErrOtherCluster.
func (f *Federation) Topic(ctx context.Context, cluster, topic string) (topics.Remote, error) {
	peer, known := f.config.Group.View().Cluster(cluster)
	if !known {
		return topics.Remote{}, &fsm.Refusal{Kind: fsm.ErrNoCluster, Name: cluster, Detail: "floe clusters add " + cluster + " HOST:PORT makes it known"}
	}
	a, err := f.ask(ctx, peer, methods+"topic", topicQuestion{ClusterID: peer.ID, Name: topic})
	if err != nil {
		return topics.Remote{}, fmt.Errorf("topic %q of cluster %q: %w", topic, cluster, err)
	}
	return topics.Remote{Identity: Identity(cluster, topic), Cluster: peer.ID, Topic: a.ID}, nil
}

// Identity returns the identity Ice tools show for a topic of another cluster.
func Identity(cluster, topic string) topics.Identity {
	return topics.Identity{Name: "topic." + topic, Category: cluster}
}

// LinkProxy returns the marshalled Ice proxy that takes events for a topic
// of another cluster, freshly asked for. ErrNoTopic says that the topic is
// gone for good: its id is never used again.
func (f *Federation) LinkProxy(ctx context.Context, clusterID string, topic topics.ID) ([]byte, error) {
	for _, peer := range f.config.Group.View().Clusters {
		if peer.ID != clusterID {
			continue
		}
		a, err := f.ask(ctx, peer, methods+"link", topicQuestion{ClusterID: clusterID, ID: topic})
		return a.Proxy, err
	}
	return nil, fmt.Errorf("cluster id %s: %w", clusterID, fsm.ErrNoCluster)
}

// ask puts a question about a topic to any node of a cluster.
func (f *Federation) ask(ctx context.Context, peer fsm.Peer, method string, q topicQuestion) (topicAnswer, error) {
	var a topicAnswer
	if err := f.askAny(ctx, f.addresses(peer), method, q, &a); err != nil {
		return a, err
	}
	if a.ClusterID != peer.ID {
		return a, fmt.Errorf("%w (id %s, not %s); floe clusters add %s with its new addresses puts it right", ErrOtherCluster, a.ClusterID, peer.ID, peer.Name)
	}
	f.learn(peer.ID, a.Addresses)
	if !a.Found {
		return a, ErrNoTopic
	}
	return a, nil
}

// askAny tries the addresses in turn until one answers.
func (f *Federation) askAny(ctx context.Context, addresses []string, method string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	failed := make([]error, 0, len(addresses))
	for _, addr := range addresses {
		one, cancel := context.WithTimeout(ctx, askTimeout)
		reply, err := f.config.Group.Ask(one, addr, method, body)
		cancel()
		if err == nil {
			err = json.Unmarshal(reply, answer)
		}
		if err == nil {
			return nil
		}
		failed = append(failed, fmt.Errorf("%s: %w", addr, err))
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, errors.Join(failed...))
}

func (f *Federation) addresses(peer fsm.Peer) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return merge(f.learned[peer.ID], peer.Addresses)
}

// learn notes where a cluster's nodes say they are.
func (f *Federation) learn(clusterID string, addresses []string) {
	if len(addresses) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.learned[clusterID] = addresses
}

// merge returns a and what b has beside it, in that order.
func merge(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Asks tells whether a method of the peer port is one by which clusters ask
// each other.
func Asks(method string) bool { return strings.HasPrefix(method, methods) }

// methods is how the names of all of them begin.
const methods = "federation."

// Register hooks the answers to other clusters' questions into the peer port.
func (f *Federation) Register(handle func(method string, answer func(ctx context.Context, from string, body []byte) ([]byte, error))) {
	handle(methods+"hello", func(context.Context, string, []byte) ([]byte, error) { return json.Marshal(f.hello()) })
	handle(methods+"topic", f.answerTopic)
	handle(methods+"link", f.answerTopic)
}

func (f *Federation) hello() hello {
	v := f.config.Group.View()
	h := hello{ClusterID: v.ClusterID, Instance: v.Graph.Instance()}
	for _, m := range v.Members {
		if addr := m.Address("peer"); addr != "" {
			h.Addresses = append(h.Addresses, addr)
		}
	}
	return h
}

// answerTopic says whether a topic lives here and how to reach it. A no is
// first confirmed with the leader where there is one.
func (f *Federation) answerTopic(ctx context.Context, _ string, body []byte) ([]byte, error) {
	var q topicQuestion
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, fmt.Errorf("federation question: %w", err)
	}
	a := topicAnswer{hello: f.hello()}
	if q.ClusterID != "" && q.ClusterID != a.ClusterID {
		return json.Marshal(a)
	}
	t := find(f.config.Group.View(), q)
	if t == nil {
		v, err := f.config.Group.Read(ctx)
		if err != nil {
			return nil, err
		}
		t = find(v, q)
	}
	if t != nil {
		a.Found, a.Name, a.ID, a.Proxy = true, t.Name, t.ID, f.config.LinkProxy(t)
	}
	return json.Marshal(a)
}

func find(v *fsm.View, q topicQuestion) *topics.Topic {
	if q.ID != 0 {
		return v.Graph.ByID(q.ID)
	}
	return v.Graph.Topic(q.Name)
}
