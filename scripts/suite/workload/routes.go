package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

// Routes is the workload that swaps whole route tables of two sides, and has
// messages sent by them.
type Routes struct {
	Log   *history.Log
	Nodes []Node
	Seed  uint64
	// Apps are the applications; they are there before Setup.
	Apps *Apps

	last atomic.Uint64 // number of the newest table
}

const (
	writerPace = 350 * time.Millisecond
	readerPace = 450 * time.Millisecond
)

// Setup loads the first table. The cluster is whole.
func (r *Routes) Setup(ctx context.Context) error {
	c := newClient(r.Nodes[0])
	defer c.Close()
	number := r.last.Add(1)
	p := r.Log.Invoke("setup", r.Nodes[0].Name, "load", "routes", &history.Value{Table: number})
	loaded, err := c.LoadRoutes(ctx, r.Apps.table(number), nil)
	if !end(p, "load", &history.Value{Version: loaded.Version}, err) {
		return fmt.Errorf("load the first table: %w", err)
	}
	return nil
}

// Run works until ctx ends and every operation under way is over.
func (r *Routes) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for i := range 2 {
		w := r.newWriter(i)
		all.Go(func() {
			pace(ctx, writerPace, w.step)
			w.close()
		})
	}
	for _, n := range r.Nodes {
		reader := newReader(n)
		all.Go(func() {
			pace(ctx, readerPace, func() { reader.routes(r.Log, "routes-"+n.Name, r.Apps.Sinks(), false) })
			reader.close()
		})
	}
}

// tableWriter changes the table through any node.
type tableWriter struct {
	routes  *Routes
	process string
	random  *rand.Rand
	clients []*client.Client
	readers []*reader
}

func (r *Routes) newWriter(number int) *tableWriter {
	w := &tableWriter{routes: r, process: fmt.Sprintf("table-%d", number+1), random: stream(r.Seed, 4000+number)}
	for _, n := range r.Nodes {
		w.clients = append(w.clients, newClient(n))
		w.readers = append(w.readers, newReader(n))
	}
	return w
}

func (w *tableWriter) close() {
	for i := range w.clients {
		w.clients[i].Close()
		w.readers[i].close()
	}
}

// step loads a whole table of the other side, or changes the marks of the one
// there is, if nobody else changes it meanwhile.
func (w *tableWriter) step() {
	i := w.random.IntN(len(w.clients))
	if w.random.IntN(100) < 65 {
		w.load(i)
		return
	}
	w.conditional(i)
}

func (w *tableWriter) load(i int) {
	number := w.routes.last.Add(1)
	p := w.invoke(i, "load", &history.Value{Table: number})
	loaded, err := w.clients[i].LoadRoutes(always, w.routes.Apps.table(number), nil)
	end(p, "load", &history.Value{Version: loaded.Version}, err)
}

func (w *tableWriter) invoke(i int, function string, v *history.Value) *history.Pending {
	return w.routes.Log.Invoke(w.process, w.routes.Nodes[i].Name, function, "routes", v)
}

// conditional reads the table and changes its marks at that very version. The
// number keeps the side.
func (w *tableWriter) conditional(i int) {
	now, ok := w.readers[i].routes(w.routes.Log, w.process, w.routes.Apps.Sinks(), false)
	if !ok || now.Table == 0 {
		return
	}
	number := w.routes.last.Add(1)
	if check.Side(number) != check.Side(now.Table) {
		number = w.routes.last.Add(1)
	}
	if check.Side(number) != check.Side(now.Table) {
		return // somebody else took a number in between
	}
	p := w.invoke(i, "swap", &history.Value{Table: number, Was: now.Table, Version: now.Version})
	loaded, err := w.clients[i].LoadRoutes(always, marks(number), &now.Version)
	var refused *api.Error
	if errors.As(err, &refused) && refused.Kind == api.Changed {
		p.OK(&history.Value{Refused: true})
		return
	}
	end(p, "swap", &history.Value{Version: loaded.Version}, err)
}

// table is the text of a whole table.
func (a *Apps) table(number uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "newrt|start\nmse|%d|-1|%s\n", check.FirstMark, check.Mark(number))
	for i := range check.RouteCount {
		fmt.Fprintf(&b, "mse|%d|-1|%s\n", check.FirstRoute+i, strings.Join(a.endpoints(check.Side(number)), ";"))
	}
	fmt.Fprintf(&b, "mse|%d|-1|%%meid\nmse|%d|-1|%s\nnewrt|end|%d\n", check.ByMEID, check.LastMark, check.Mark(number), check.RouteCount+3)
	return b.String()
}

// marks is the text that makes a table another one of its side.
func marks(number uint64) string {
	return fmt.Sprintf("updatert|start\nmse|%d|-1|%s\nmse|%d|-1|%s\nupdatert|end|2\n",
		check.FirstMark, check.Mark(number), check.LastMark, check.Mark(number))
}
