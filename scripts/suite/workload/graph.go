package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"floe/scripts/suite/history"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

// Graph is the workload that changes the topic graph.
type Graph struct {
	Log   *history.Log
	Nodes []Node
	Seed  uint64
	// Admin is the stock icestormadmin; empty: it takes no part.
	Admin string

	pool *pool
}

const (
	// perNode is how many clients there are for each node.
	perNode = 3
	// clientPace is how often a client does something, at most.
	clientPace = 90 * time.Millisecond
)

// Setup makes the topics whose links are contended. The cluster is whole.
func (g *Graph) Setup(ctx context.Context) error {
	g.pool = newPool()
	c := newClient(g.Nodes[0])
	defer c.Close()
	for i := range stable {
		name := stableTopic(i)
		p := g.Log.Invoke("setup", g.Nodes[0].Name, "create", name, nil)
		t, err := c.Create(ctx, name)
		if !end(p, "create", &history.Value{ID: t.ID}, err) {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	return nil
}

// Run works until ctx ends and every operation under way is over.
func (g *Graph) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for i := range perNode * len(g.Nodes) {
		w := newWorker(g, i)
		all.Go(func() {
			pace(ctx, clientPace, w.step)
			w.close()
		})
	}
	for i, n := range g.Nodes {
		all.Go(func() { g.watchProxies(ctx, n, stream(g.Seed, 1000+i)) })
		if g.Admin != "" {
			a := &adminWorker{graph: g, node: n, process: "admin-" + n.Name, random: stream(g.Seed, 2000+i)}
			all.Go(func() { pace(ctx, adminPace, a.step) })
		}
	}
}

// worker is one client that uses any node.
type worker struct {
	graph   *Graph
	process string
	random  *rand.Rand
	clients []*client.Client
}

func newWorker(g *Graph, number int) *worker {
	w := &worker{graph: g, process: fmt.Sprintf("c%d", number+1), random: stream(g.Seed, number)}
	for _, n := range g.Nodes {
		w.clients = append(w.clients, newClient(n))
	}
	return w
}

func (w *worker) close() {
	for _, c := range w.clients {
		c.Close()
	}
}

// always bounds nothing: an operation ends by its client's own limit and not
// with the run, since one cut short would be of unknown outcome.
var always = context.Background()

// step does one operation at a random node.
func (w *worker) step() {
	i := w.random.IntN(len(w.clients))
	c, node := w.clients[i], w.graph.Nodes[i].Name
	switch roll := w.random.IntN(100); {
	case roll < 25:
		w.create(c, node)
	case roll < 32:
		w.destroy(c, node)
	case roll < 50:
		w.link(c, node)
	case roll < 54:
		w.unlink(c, node)
	case roll < 72:
		w.contendTopic(c, node)
	case roll < 86:
		w.contendLink(c, node)
	case roll < 97:
		w.exists(c, node)
	default:
		w.topics(c, node)
	}
}

func (w *worker) create(c *client.Client, node string) {
	name := w.graph.pool.fresh("t")
	p := w.invoke(node, "create", name, nil)
	t, err := c.Create(always, name)
	if end(p, "create", &history.Value{ID: t.ID}, err) {
		w.graph.pool.addTopic(name)
	}
}

func (w *worker) destroy(c *client.Client, node string) {
	if name, ok := w.graph.pool.takeTopic(w.random); ok {
		end(w.invoke(node, "destroy", name, nil), "destroy", nil, c.Destroy(always, name, false))
	}
}

func (w *worker) link(c *client.Client, node string) {
	from, to, ok := w.graph.pool.newPair(w.random)
	if !ok {
		return
	}
	cost := int32(w.random.IntN(20) - 5)
	p := w.invoke(node, "link", from+">"+to, &history.Value{Cost: cost})
	_, err := c.Link(always, api.NewLink{From: from, To: to, Cost: cost})
	if end(p, "link", nil, err) {
		w.graph.pool.addLink(from + ">" + to)
	}
}

func (w *worker) unlink(c *client.Client, node string) {
	if key, ok := w.graph.pool.takeLink(w.random); ok {
		w.removeLink(c, node, key)
	}
}

// contendTopic makes, destroys or looks at a topic that others work on too.
func (w *worker) contendTopic(c *client.Client, node string) {
	name := w.graph.pool.contended(w.random)
	switch w.random.IntN(3) {
	case 0:
		p := w.invoke(node, "create", name, nil)
		t, err := c.Create(always, name)
		end(p, "create", &history.Value{ID: t.ID}, err)
	case 1:
		end(w.invoke(node, "destroy", name, nil), "destroy", nil, c.Destroy(always, name, false))
	default:
		w.lookUp(c, node, name)
	}
}

// contendLink works on a link between topics that stay.
func (w *worker) contendLink(c *client.Client, node string) {
	from, to := stableTopic(w.random.IntN(stable)), stableTopic(w.random.IntN(stable))
	key, cost := from+">"+to, int32(w.random.IntN(1000))
	switch w.random.IntN(4) {
	case 0:
		p := w.invoke(node, "link", key, &history.Value{Cost: cost})
		_, err := c.Link(always, api.NewLink{From: from, To: to, Cost: cost})
		end(p, "link", nil, err)
	case 1:
		p := w.invoke(node, "relink", key, &history.Value{Cost: cost})
		_, err := c.Link(always, api.NewLink{From: from, To: to, Cost: cost, Replace: true})
		end(p, "relink", nil, err)
	case 2:
		w.removeLink(c, node, key)
	default:
		w.cost(c, node, from, to)
	}
}
