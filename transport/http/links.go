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
		return nil, strangeCluster(ask.To, err)
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

// linkOp works out what a link leads to: a topic of this cluster or, where
// none has that name, one of another cluster.
func (s *Server) linkOp(ctx context.Context, v *fsm.View, ask api.NewLink) (fsm.Op, error) {
	op := fsm.Link{From: ask.From, To: ask.To, Cost: ask.Cost, Replace: ask.Replace}
	cluster, name, other := farTarget(v, ask)
	if !other {
		return op, nil
	}
	remote, err := s.remote(ctx, cluster, name)
	if err != nil {
		return nil, err
	}
	op.To, op.Remote = "", &remote
	return op, nil
}

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
	v := s.config.Group.View()
	target, found := linkTarget(v, from, to)
	if !found { // this node's copy may be behind
		if v, err = s.config.Group.Read(ctx); err != nil {
			return nil, err
		}
		target, _ = linkTarget(v, from, to)
	}
	if _, err := s.propose(ctx, r, fsm.Unlink{From: from, Target: target}); err != nil {
		return nil, err
	}
	return api.Removed{Removed: 1}, nil
}

// linkTarget returns the identity of the link's target that is shown as to.
func linkTarget(v *fsm.View, from, to string) (topics.Identity, bool) {
	none := topics.Identity{Name: "topic." + to, Category: v.Graph.Instance()}
	t := v.Graph.Topic(from)
	if t == nil {
		return none, false
	}
	for _, l := range t.Links {
		if shown, _ := LinkName(v, l); shown == to {
			return v.Graph.TargetIdentity(l), true
		}
	}
	return none, false
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
// and where that lives if it is not here; see [api.Link].
func LinkName(v *fsm.View, l topics.Link) (to, remote string) {
	if l.Remote == nil {
		return v.Graph.ByID(l.To).Name, ""
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
