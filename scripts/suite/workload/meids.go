package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

// MEIDs is the workload that moves MEIDs from owner to owner while messages
// are sent to them.
type MEIDs struct {
	Log   *history.Log
	Nodes []Node
	Seed  uint64
	Apps  *Apps

	pool *pool
}

const (
	// moved is how many MEIDs have messages sent to them.
	moved     = 4
	moverPace = 300 * time.Millisecond
	ownerPace = 200 * time.Millisecond
)

// Setup gives the moved MEIDs their first owners, and loads a table that leads
// to owners. The cluster is whole.
func (m *MEIDs) Setup(ctx context.Context) error {
	m.pool = newPool()
	c := newClient(m.Nodes[0])
	defer c.Close()
	text := fmt.Sprintf("updatert|start\nmse|%d|-1|%%meid\nupdatert|end|1\n", check.ByMEID)
	if _, err := c.LoadRoutes(ctx, text, nil); err != nil {
		return fmt.Errorf("load the route by MEID: %w", err)
	}
	for i := range moved {
		if !m.own(c, m.Nodes[0], "setup", movedMEID(i), m.Apps.owners()[i%len(m.Nodes)]) {
			return fmt.Errorf("give %s its owner: it was not acknowledged", movedMEID(i))
		}
	}
	return nil
}

func movedMEID(i int) string { return fmt.Sprintf("moved-%d", i) }

// Run works until ctx ends and every operation under way is over.
func (m *MEIDs) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for i := range 4 {
		w := m.newWorker(i)
		every := ownerPace
		step := w.contend
		if i == 0 {
			every, step = moverPace, w.move
		}
		all.Go(func() {
			pace(ctx, every, step)
			for _, c := range w.clients {
				c.Close()
			}
		})
	}
}

// meidWorker works on the map through any node.
type meidWorker struct {
	meids   *MEIDs
	process string
	random  *rand.Rand
	clients []*client.Client
	count   int
}

func (m *MEIDs) newWorker(number int) *meidWorker {
	w := &meidWorker{meids: m, process: fmt.Sprintf("meid-%d", number+1), random: stream(m.Seed, 5000+number)}
	for _, n := range m.Nodes {
		w.clients = append(w.clients, newClient(n))
	}
	return w
}

// move gives an MEID with messages to another sink.
func (w *meidWorker) move() {
	i := w.random.IntN(len(w.clients))
	owners := w.meids.Apps.owners()
	w.meids.own(w.clients[i], w.meids.Nodes[i], w.process, movedMEID(w.random.IntN(moved)), owners[w.random.IntN(len(owners))])
}

// contend sets, deletes or reads the owner of an MEID that others work on too.
// Each owner is named once only.
func (w *meidWorker) contend() {
	i := w.random.IntN(len(w.clients))
	c, n, meid := w.clients[i], w.meids.Nodes[i], w.meids.pool.contended(w.random)
	switch roll := w.random.IntN(10); {
	case roll < 4:
		w.count++
		w.meids.own(c, n, w.process, meid, fmt.Sprintf("owner-%s-%d:1", w.process, w.count))
	case roll < 5:
		p := w.meids.Log.Invoke(w.process, n.Name, "disown", meid, nil)
		done, err := c.DeleteMEIDs(always, []string{meid})
		end(p, "disown", &history.Value{Version: done.Version}, err)
	default:
		w.read(c, n, meid)
	}
}

func (m *MEIDs) own(c *client.Client, n Node, process, meid, owner string) bool {
	p := m.Log.Invoke(process, n.Name, "own", meid, &history.Value{Owner: owner})
	done, err := c.SetMEIDs(always, owner, []string{meid})
	return end(p, "own", &history.Value{Version: done.Version}, err)
}

func (w *meidWorker) read(c *client.Client, n Node, meid string) {
	p := w.meids.Log.Invoke(w.process, n.Name, "owner", meid, nil)
	found, err := c.MEID(always, meid)
	switch {
	case err == nil:
		p.OK(&history.Value{Owner: found.Owner})
	case kindOf(err) == api.NoSuchMEID:
		p.OK(&history.Value{Absent: true})
	default:
		p.Fail(err.Error())
	}
}
