package http

import (
	"context"
	"net/http"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/http/api"
)

// traffic answers with what this node counted by topic and link, of the named
// topics or of all. It looks at this node alone and needs no leader.
func (s *Server) traffic(_ context.Context, r *http.Request) (any, error) {
	out := api.Traffic{Node: s.config.Nodes.ID(), Topics: []api.TopicTraffic{}}
	if s.config.Figures == nil {
		return out, nil
	}
	named := map[string]bool{}
	for _, name := range r.URL.Query()["topic"] {
		named[name] = true
	}
	v := s.config.Group.View()
	for _, counted := range s.config.Figures.Stats().Topics {
		t := v.Graph.ByID(counted.ID)
		if t == nil || len(named) > 0 && !named[t.Name] {
			continue
		}
		out.Topics = append(out.Topics, topicTraffic(v, t, counted))
	}
	return out, nil
}

func topicTraffic(v *fsm.View, t *topics.Topic, counted delivery.TopicStats) api.TopicTraffic {
	out := api.TopicTraffic{Name: t.Name, Published: counted.Published, Arrived: counted.Arrived}
	for _, r := range counted.Receivers {
		out.Offered += r.Offered
		out.Delivered += r.Delivered
		out.Queued += r.Queued
		out.Dropped += r.Lost()
		if r.State == "retrying" {
			out.Failing++
		}
	}
	for _, l := range t.Links {
		if n := counted.Passed[l.Serial]; n > 0 {
			to, remote := LinkName(v, l)
			out.Links = append(out.Links, api.LinkTraffic{To: to, Remote: remote, Forwarded: n})
		}
	}
	return out
}
