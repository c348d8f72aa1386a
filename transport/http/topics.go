package http

import (
	"context"
	"net/http"

	"floe/fsm"
	"floe/topics"
	"floe/transport/http/api"
)

// listTopics answers with all topics sorted by name, or with the one that is
// asked for.
func (s *Server) listTopics(ctx context.Context, r *http.Request) (any, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	if q := r.URL.Query(); q.Has("name") {
		t := v.Graph.Topic(q.Get("name"))
		if t == nil {
			return nil, noTopic(q.Get("name"))
		}
		return topicValue(t), nil
	}
	return topicValues(v.Graph), nil
}

func (s *Server) createTopic(ctx context.Context, r *http.Request) (any, error) {
	var ask api.NewTopic
	if err := decode(r, bodyLimit, &ask, "name"); err != nil {
		return nil, err
	}
	result, err := s.propose(ctx, r, fsm.CreateTopic{Name: ask.Name})
	if err != nil {
		return nil, err
	}
	return api.Topic{Name: ask.Name, ID: uint64(result.Topic)}, nil
}

func (s *Server) destroyTopic(ctx context.Context, r *http.Request) (any, error) {
	name, err := param(r, "name")
	if err != nil {
		return nil, err
	}
	force, err := flag(r, "force")
	if err != nil {
		return nil, err
	}
	if _, err := s.propose(ctx, r, fsm.DestroyTopic{Name: name, Force: force}); err != nil {
		return nil, err
	}
	return api.Removed{Removed: 1}, nil
}

func noTopic(name string) error { return &fsm.Refusal{Kind: topics.ErrNoTopic, Name: name} }

func topicValue(t *topics.Topic) api.Topic { return api.Topic{Name: t.Name, ID: uint64(t.ID)} }

func topicValues(g *topics.Graph) []api.Topic {
	out := make([]api.Topic, 0, g.Len())
	for t := range g.All() {
		out = append(out, topicValue(t))
	}
	return out
}
