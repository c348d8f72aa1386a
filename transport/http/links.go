package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"floe/fsm"
	"floe/topics"
	"floe/transport/http/api"
	"floe/transport/ice/proto"
)

// listLinks answers with the links sorted by source, in the order they were
// made, of one topic only where it is asked for, and with this node's figures
// of those that leave the graph.
func (s *Server) listLinks(ctx context.Context, r *http.Request) (any, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	if q := r.URL.Query(); q.Has("topic") {
		t := v.Graph.Topic(q.Get("topic"))
		if t == nil {
			return nil, noTopic(q.Get("topic"))
		}
		return topicLinks([]api.Link{}, v, t, s.figures()), nil
	}
	return linkValues(v, s.figures()), nil
}

func (s *Server) link(ctx context.Context, r *http.Request) (any, error) {
	var ask api.NewLink
	if err := decode(r, bodyLimit, &ask, "from", "to"); err != nil {
		return nil, err
	}
	op, err := s.linkOp(ctx, s.config.Group.View(), ask)
	if err != nil {
		return nil, err
	}
	if _, err := s.propose(ctx, r, op); err != nil {
		return nil, strangeCluster(op.To, err)
	}
	if ask.Messages {
		return api.Link{From: ask.From, To: messagesName(op.Remote.Messages), Cost: ask.Cost, Remote: api.ToMessages}, nil
	}
	to := ask.To
	if ask.Cluster != "" {
		to = ask.Cluster + "/" + ask.To
	}
	return api.Link{From: ask.From, To: to, Cost: ask.Cost}, nil
}

// strangeCluster adds to the refusal of a target that looks like one of another
// cluster that no cluster is known by that name.
func strangeCluster(to string, err error) error {
	var refusal *fsm.Refusal
	cluster, _, other := strings.Cut(to, "/")
	if !other || !errors.As(err, &refusal) || refusal.Kind != topics.ErrNoTopic || refusal.Name != to {
		return err
	}
	told := *refusal
	told.Detail = fmt.Sprintf("nor is a cluster %q known, which floe clusters add would change", cluster)
	return &told
}

// linkOp works out what a link leads to: messages, a topic of this cluster
// or, where none has that name, one of another cluster.
func (s *Server) linkOp(ctx context.Context, v *fsm.View, ask api.NewLink) (fsm.Link, error) {
	op := fsm.Link{From: ask.From, To: ask.To, Cost: ask.Cost, Replace: ask.Replace}
	if ask.Messages {
		remote, err := toMessages(ask)
		op.To, op.Remote = "", &remote
		return op, err
	}
	cluster, name, other := farTarget(v, ask)
	if !other {
		return op, nil
	}
	remote, err := s.remote(ctx, cluster, name)
	if err != nil {
		return op, err
	}
	op.To, op.Remote = "", &remote
	return op, nil
}

// toMessages reads the target of a link to messages.
func toMessages(ask api.NewLink) (topics.Remote, error) {
	if ask.Cluster != "" {
		return topics.Remote{}, refuse(api.BadRequest, "a link leads to messages or to another cluster, not to both")
	}
	m, err := topics.ParseMessages(ask.To)
	if err != nil {
		return topics.Remote{}, refuse(api.BadRequest, err.Error())
	}
	return topics.ToMessages(m), nil
}

// messagesName is how messages are named as the target of a link.
func messagesName(m *topics.Messages) string { return api.ToMessages + ":" + m.String() }

// farTarget tells whether a target lies in another floe cluster, and where.
func farTarget(v *fsm.View, ask api.NewLink) (cluster, name string, other bool) {
	if ask.Cluster != "" {
		return ask.Cluster, ask.To, true
	}
	if v.Graph.Topic(ask.To) != nil {
		return "", "", false
	}
	if cluster, name, other = strings.Cut(ask.To, "/"); !other {
		return "", "", false
	}
	_, known := v.Cluster(cluster)
	return cluster, name, known
}

// remote asks another cluster for its topic.
func (s *Server) remote(ctx context.Context, cluster, name string) (topics.Remote, error) {
	if s.config.Clusters == nil {
		return topics.Remote{}, refuse(api.NotBuilt, "this node knows no other floe clusters")
	}
	return s.config.Clusters.Topic(ctx, cluster, name)
}

func (s *Server) unlink(ctx context.Context, r *http.Request) (any, error) {
	from, err := param(r, "from")
	if err != nil {
		return nil, err
	}
	to, err := param(r, "to")
	if err != nil {
		return nil, err
	}
	target, err := s.unlinkTarget(ctx, r, from, to)
	if err != nil {
		return nil, err
	}
	if _, err := s.propose(ctx, r, fsm.Unlink{From: from, Target: target}); err != nil {
		return nil, err
	}
	return api.Removed{Removed: 1}, nil
}

// unlinkTarget finds out which of a topic's links is meant.
func (s *Server) unlinkTarget(ctx context.Context, r *http.Request, from, to string) (topics.Identity, error) {
	messages, err := flag(r, "messages")
	if err != nil {
		return topics.Identity{}, err
	}
	if messages {
		remote, err := toMessages(api.NewLink{To: to})
		return remote.Identity, err
	}
	v := s.config.Group.View()
	target, found := linkTarget(v, from, to)
	if !found { // this node's copy may be behind
		v, err := s.config.Group.Read(ctx)
		if err != nil {
			return target, err
		}
		target, _ = linkTarget(v, from, to)
	}
	return target, nil
}

// linkTarget returns the identity of the link's target that is shown as to. A
// topic of this cluster comes before others that are shown alike.
func linkTarget(v *fsm.View, from, to string) (topics.Identity, bool) {
	none := topics.Identity{Name: "topic." + to, Category: v.Graph.Instance()}
	t := v.Graph.Topic(from)
	if t == nil {
		return none, false
	}
	target, found := none, false
	for _, l := range t.Links {
		if shown, remote := LinkName(v, l); shown == to && (!found || remote == "") {
			target, found = v.Graph.TargetIdentity(l), true
		}
	}
	return target, found
}

func linkValues(v *fsm.View, figures receiverFigures) []api.Link {
	out := []api.Link{}
	for t := range v.Graph.All() {
		out = topicLinks(out, v, t, figures)
	}
	return out
}

func topicLinks(out []api.Link, v *fsm.View, t *topics.Topic, figures receiverFigures) []api.Link {
	for _, l := range t.Links {
		to, remote := LinkName(v, l)
		link := api.Link{From: t.Name, To: to, Cost: l.Cost, Remote: remote}
		if l.Remote != nil {
			link.Figures = figures.receiver(t, l.Serial)
		}
		out = append(out, link)
	}
	return out
}

// LinkName returns how a link of the view's graph is named by its target,
// and what that is if it is no topic of this cluster; see [api.Link].
func LinkName(v *fsm.View, l topics.Link) (to, remote string) {
	if l.Remote == nil {
		return v.Graph.ByID(l.To).Name, ""
	}
	if l.Remote.Messages != nil {
		return messagesName(l.Remote.Messages), api.ToMessages
	}
	name := topics.TopicName(l.Remote.Identity)
	if l.Remote.Cluster == "" {
		return l.Remote.Identity.Category + "/" + name, "icestorm"
	}
	for _, p := range v.Clusters {
		if p.ID == l.Remote.Cluster {
			return p.Name + "/" + name, "floe " + p.Name
		}
	}
	return l.Remote.Cluster + "/" + name, "floe " + l.Remote.Cluster
}

// identityText is an identity as Ice tools show it.
func identityText(id topics.Identity) string { return proto.Identity(id).String() }
