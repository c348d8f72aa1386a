package workload

import (
	"context"
	"slices"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

func (w *worker) invoke(node, function, key string, v *history.Value) *history.Pending {
	return w.graph.Log.Invoke(w.process, node, function, key, v)
}

func (w *worker) removeLink(c *client.Client, node, key string) {
	from, to := check.Ends(key)
	end(w.invoke(node, "unlink", key, nil), "unlink", nil, c.Unlink(always, from, to))
}

// exists looks at a topic of the pool, which another client may just destroy.
func (w *worker) exists(c *client.Client, node string) {
	if name, ok := w.graph.pool.topic(w.random); ok {
		w.lookUp(c, node, name)
	}
}

func (w *worker) lookUp(c *client.Client, node, name string) {
	p := w.invoke(node, "exists", name, nil)
	t, err := c.Topic(always, name)
	switch {
	case err == nil:
		p.OK(&history.Value{ID: t.ID})
	case kindOf(err) == api.NoSuchTopic:
		p.OK(&history.Value{Absent: true})
	default:
		p.Fail(err.Error())
	}
}

func (w *worker) cost(c *client.Client, node, from, to string) {
	p := w.invoke(node, "cost", from+">"+to, nil)
	links, err := c.TopicLinks(always, from)
	if err != nil {
		p.Fail(err.Error())
		return
	}
	for _, l := range links {
		if l.To == to {
			p.OK(&history.Value{Cost: l.Cost})
			return
		}
	}
	p.OK(&history.Value{Absent: true})
}

func (w *worker) topics(c *client.Client, node string) {
	p := w.invoke(node, "topics", "", nil)
	all, err := c.Topics(always)
	if err != nil {
		p.Fail(err.Error())
		return
	}
	p.OK(&history.Value{Topics: topicIDs(all)})
}

func topicIDs(all []api.Topic) map[string]uint64 {
	out := make(map[string]uint64, len(all))
	for _, t := range all {
		out[t.Name] = t.ID
	}
	return out
}

// Final reads the whole graph from each node, linearizably, and each node's
// digest. It asks once more where a node does not answer.
func Final(ctx context.Context, log *history.Log, nodes []Node) {
	for _, n := range nodes {
		c := newClient(n)
		for range 3 {
			if readAll(ctx, c, log, n.Name) {
				break
			}
		}
		c.Close()
	}
}

func readAll(ctx context.Context, c *client.Client, log *history.Log, node string) bool {
	p := log.Invoke("final", node, "final", "", nil)
	g, err := c.Graph(ctx)
	if err != nil {
		p.Fail(err.Error())
		return false
	}
	links := map[string]int32{}
	for _, l := range g.Links {
		links[l.From+">"+l.To] = l.Cost
	}
	v := &history.Value{Topics: topicIDs(g.Topics), Links: links}
	if err := readRest(ctx, c, v); err != nil {
		p.Fail(err.Error())
		return false
	}
	p.OK(v)
	return true
}

// readRest adds routes and members to a final read.
func readRest(ctx context.Context, c *client.Client, v *history.Value) error {
	text, err := c.Routes(ctx)
	if err != nil {
		return err
	}
	routes, owners := check.TableLines(string(text))
	v.Text, v.Owners = check.Sum(routes, owners), owners
	members, err := c.Members(ctx)
	for _, m := range members {
		if m.Voter {
			v.Voters = append(v.Voters, m.ID)
		}
	}
	slices.Sort(v.Voters)
	return err
}
