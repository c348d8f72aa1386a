package http

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"floe/fsm"
	"floe/transport/delivery"
	"floe/transport/http/api"
)

// Cluster asks all nodes.
type Cluster interface {
	// Traffic returns what each node that answers counted, by node, and the
	// ids of those that do not. It takes a second at most.
	Traffic(ctx context.Context) (by map[string]NodeTraffic, missing []string)
}

// NodeTraffic is what one node counted.
type NodeTraffic struct {
	Events    api.Counts            `json:"events"`
	Messages  api.Counts            `json:"messages"`
	Topics    []api.TopicTraffic    `json:"topics"`
	Endpoints []api.EndpointTraffic `json:"endpoints"`
	Routes    []api.RouteTraffic    `json:"routes"`
}

// top adds up what all nodes counted. It needs no leader.
func (s *Server) top(ctx context.Context, _ *http.Request) (any, error) {
	out := api.Top{Node: s.config.Nodes.ID(), Nodes: []string{}, Missing: []string{}, Topics: []api.TopicTraffic{}, Endpoints: []api.EndpointTraffic{}, Routes: []api.RouteTraffic{}}
	if s.config.Cluster == nil {
		return out, nil
	}
	by, missing := s.config.Cluster.Traffic(ctx)
	topics, endpoints, routes := map[string]*api.TopicTraffic{}, map[string]*api.EndpointTraffic{}, map[[2]int32]uint64{}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		n := by[id]
		out.Nodes = append(out.Nodes, id)
		out.Events, out.Messages = sum(out.Events, n.Events), sum(out.Messages, n.Messages)
		for _, t := range n.Topics {
			addTopic(topics, t)
		}
		for _, e := range n.Endpoints {
			old, known := endpoints[e.Name]
			if !known {
				endpoints[e.Name] = &e
				continue
			}
			old.Counts, old.Dead = sum(old.Counts, e.Counts), old.Dead || e.Dead
		}
		for _, r := range n.Routes {
			routes[[2]int32{r.MType, r.SubID}] += r.Messages
		}
	}
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		out.Topics = append(out.Topics, *topics[name])
	}
	for _, name := range slices.Sorted(maps.Keys(endpoints)) {
		out.Endpoints = append(out.Endpoints, *endpoints[name])
	}
	for key, messages := range routes {
		out.Routes = append(out.Routes, api.RouteTraffic{MType: key[0], SubID: key[1], Messages: messages})
	}
	slices.SortFunc(out.Routes, func(a, b api.RouteTraffic) int {
		return cmp.Or(cmp.Compare(a.MType, b.MType), cmp.Compare(a.SubID, b.SubID))
	})
	out.Missing = append(out.Missing, missing...)
	return out, nil
}

func sum(a, b api.Counts) api.Counts {
	return api.Counts{Offered: a.Offered + b.Offered, Delivered: a.Delivered + b.Delivered, Dropped: a.Dropped + b.Dropped, Queued: a.Queued + b.Queued}
}

func addTopic(all map[string]*api.TopicTraffic, t api.TopicTraffic) {
	old, known := all[t.Name]
	if !known {
		t.Links = slices.Clone(t.Links)
		all[t.Name] = &t
		return
	}
	old.Published += t.Published
	old.Arrived += t.Arrived
	old.Offered += t.Offered
	old.Delivered += t.Delivered
	old.Dropped += t.Dropped
	old.Queued += t.Queued
	old.Failing += t.Failing
	for _, l := range t.Links {
		i := slices.IndexFunc(old.Links, func(o api.LinkTraffic) bool { return o.To == l.To && o.Remote == l.Remote })
		if i < 0 {
			old.Links = append(old.Links, l)
			continue
		}
		old.Links[i].Forwarded += l.Forwarded
	}
}

// TopicFigures are a node's figures of its busiest topics, so many at most.
func TopicFigures(v *fsm.View, stats delivery.Stats, most int) []api.TopicTraffic {
	var out []api.TopicTraffic
	for _, counted := range stats.Topics {
		if t := v.Graph.ByID(counted.ID); t != nil {
			out = append(out, topicTraffic(v, t, counted))
		}
	}
	slices.SortStableFunc(out, func(a, b api.TopicTraffic) int {
		return cmp.Compare(b.Published+b.Arrived+b.Offered, a.Published+a.Arrived+a.Offered)
	})
	return out[:min(len(out), most)]
}
