package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"floe/cluster"
	"floe/transport/delivery"
	"floe/transport/http"
	"floe/transport/http/api"
	"floe/transport/native"
	"floe/transport/rmr/relay"
)

// What nodes ask each other for a look at the whole cluster.
const (
	reportMethod  = "node.report"
	trafficMethod = "node.traffic"
	// askTime is how long the others have to answer.
	askTime = time.Second
)

// serveReports answers other nodes.
func (n *node) serveReports() {
	n.cluster.Handle(reportMethod, func(context.Context, string, []byte) ([]byte, error) { return json.Marshal(n.report()) })
	n.cluster.Handle(trafficMethod, func(context.Context, string, []byte) ([]byte, error) { return json.Marshal(n.nodeTraffic()) })
}

// report is what this node says of itself. What the group knows of it is
// filled in by who asks.
func (n *node) report() api.NodeReport {
	r := api.NodeReport{ID: n.cluster.ID(), Answers: true, AppliedIndex: n.cluster.View().Index, ContactAge: -1, Connections: map[string]int{},
		UptimeSeconds: time.Since(n.started).Seconds(), Problems: append(append(n.cluster.Problems(), n.hub.Problems()...), n.problems()...)}
	if age, ever := n.cluster.LastContact(); ever {
		r.ContactAge = age.Seconds()
	}
	figures := n.cluster.Figures()
	r.DiskFree, r.DiskReserve = figures.Free, figures.Reserve
	for _, l := range n.listenerFigures() {
		r.Connections[l.name] = l.connections
	}
	r.Events, r.Messages = eventCounts(n.hub.Stats(), n.native.Stats()), messageCounts(n.messageFigures())
	return r
}

// eventCounts sums up the receivers of both kinds; see samples.native for
// what is queued there.
func eventCounts(ice delivery.Stats, own native.Stats) api.Counts {
	past := own.Delivered + own.Dropped
	offered := max(own.Offered, past)
	return api.Counts{Offered: ice.Total.Offered + offered, Delivered: ice.Total.Delivered + own.Delivered,
		Dropped: ice.Total.Lost() + own.Dropped, Queued: ice.Total.Queued + offered - past}
}

func messageCounts(f messageFigures) api.Counts {
	lost := f.noTopic + f.tooLarge
	return api.Counts{Offered: f.Total.Offered, Delivered: f.Total.Delivered - lost, Dropped: f.Total.Lost() + lost, Queued: f.Total.Queued}
}

// nodeTraffic is what this node counted of its busiest topics, endpoints and routes.
func (n *node) nodeTraffic() http.NodeTraffic {
	events, messages := n.hub.Stats(), n.messageFigures()
	t := http.NodeTraffic{Events: eventCounts(events, n.native.Stats()), Messages: messageCounts(messages),
		Topics: http.TopicFigures(n.cluster.View(), events, mostTopics)}
	links := 0
	for i := range t.Topics {
		of := &t.Topics[i]
		of.Links = of.Links[:min(len(of.Links), max(0, mostLinks-links))]
		links += len(of.Links)
	}
	slices.SortStableFunc(messages.Endpoints, func(a, b relay.EndpointStats) int { return cmp.Compare(b.Offered, a.Offered) })
	for _, e := range messages.Endpoints[:min(len(messages.Endpoints), mostEndpoints)] {
		t.Endpoints = append(t.Endpoints, api.EndpointTraffic{Name: e.Name, Dead: e.Dead,
			Counts: api.Counts{Offered: e.Offered, Delivered: e.Delivered, Dropped: e.Lost(), Queued: e.Queued}})
	}
	slices.SortStableFunc(messages.Routes, func(a, b relay.RouteStats) int { return cmp.Compare(b.Messages, a.Messages) })
	for _, r := range messages.Routes[:min(len(messages.Routes), mostRoutes)] {
		t.Routes = append(t.Routes, api.RouteTraffic{MType: r.MType, SubID: r.SubID, Messages: r.Messages})
	}
	return t
}

// clusterFace asks all nodes, as the HTTP face wants it.
type clusterFace struct{ *node }

// Traffic returns what each node counted.
func (f clusterFace) Traffic(ctx context.Context) (by map[string]http.NodeTraffic, missing []string) {
	by, failed := askOthers[http.NodeTraffic](ctx, f.node, trafficMethod)
	by[f.cluster.ID()] = f.nodeTraffic()
	for id := range failed {
		missing = append(missing, id)
	}
	slices.Sort(missing)
	return by, missing
}

// askOthers asks all other nodes at once.
func askOthers[Reply any](ctx context.Context, n *node, method string) (by map[string]Reply, failed map[string]error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	by, failed = map[string]Reply{}, map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, id := range n.others() {
		all.Go(func() {
			var reply Reply
			b, err := n.cluster.Call(ctx, id, method, nil)
			if err == nil {
				err = json.Unmarshal(b, &reply)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[id] = err
				return
			}
			by[id] = reply
		})
	}
	all.Wait()
	return by, failed
}

// others are the ids of the other nodes that are known.
func (n *node) others() []string {
	var ids []string
	v := n.cluster.View()
	for _, m := range v.Members {
		ids = append(ids, m.ID)
	}
	for _, s := range v.Servers {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == n.cluster.ID() })
}

// addReports fills in what each node says of itself, and adds the problems of
// the others to those of the one that answers.
func (f nodesFace) addReports(out *api.Status, members []cluster.MemberInfo, by map[string]api.NodeReport, failed map[string]error) {
	by[out.Node] = f.report()
	foremost := uint64(0)
	for _, r := range by {
		foremost = max(foremost, r.AppliedIndex)
	}
	for _, m := range members {
		r, answers := by[m.ID]
		if !answers {
			r = api.NodeReport{ContactAge: -1, Connections: map[string]int{}, Problems: []string{}, AppliedIndex: m.Applied}
		}
		r.ID, r.Role, r.Address, r.Version, r.Draining = m.ID, m.Role, m.Address, m.Version, m.Draining
		if answers {
			r.Lag = foremost - r.AppliedIndex
		}
		out.Nodes = append(out.Nodes, r)
		if m.ID == out.Node {
			continue
		}
		for _, p := range r.Problems {
			if !slices.Contains(out.Problems, p) {
				out.Problems = append(out.Problems, "node "+m.ID+": "+p)
			}
		}
		if err := failed[m.ID]; !answers && err != nil && m.Role != "unreachable" && m.Applied > 0 {
			out.Problems = append(out.Problems, fmt.Sprintf("node %s does not say how it is: %s", m.ID, whySilent(err)))
		}
	}
}

// whySilent says in words why a node that is there gave no report.
func whySilent(err error) string {
	var refused *cluster.Refused
	if errors.As(err, &refused) && refused.Code == cluster.CodeUnknownMethod {
		return "it runs an older program"
	}
	return err.Error()
}
