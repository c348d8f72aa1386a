package cluster_test

import (
	"context"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/topics"
)

// watch holds what the nodes of a story do against what they never may.
type watch struct {
	t    *testing.T
	seed uint64
	ctx  context.Context
	quit context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	stood    int               // how often a node stood for election
	leaders  map[uint64]string // who was elected in a term
	digests  map[uint64]topics.Digest
	removals map[string]uint64 // the terms in which nodes were removed
}

func newWatch(t *testing.T, seed uint64) *watch {
	w := &watch{t: t, seed: seed, leaders: map[uint64]string{}, digests: map[uint64]topics.Digest{}, removals: map[string]uint64{}}
	w.ctx, w.quit = context.WithCancel(context.Background())
	t.Cleanup(func() { w.quit(); w.done.Wait() })
	return w
}

// follow compares all that a node's state goes through with what others had
// at the same index.
func (w *watch) follow(n *clustertest.Node) {
	node := n.Node // of this start
	w.done.Go(func() {
		for {
			changed := node.Changed()
			w.compare(node)
			select {
			case <-changed:
			case <-w.ctx.Done():
				return
			}
		}
	})
}

func (w *watch) compare(n *cluster.Node) {
	view := n.View()
	digest := view.Digest()
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := w.digests[view.Index]
	if ok && known != digest {
		w.t.Errorf("seed %d: at index %d %s has %v, another had %v", w.seed, view.Index, n.ID(), digest, known)
	}
	w.digests[view.Index] = digest
}

// out notes that a node was removed when the group had come to a term.
func (w *watch) out(name string, term uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removals[name] = term
}

// in takes out back.
func (w *watch) in(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.removals, name)
}

func (w *watch) elected(name string, term uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, ok := w.leaders[term]; ok && before != name {
		w.t.Errorf("seed %d: %s and %s were elected in term %d", w.seed, before, name, term)
	}
	w.leaders[term] = name
	if removed, ok := w.removals[name]; ok && term > removed {
		w.t.Errorf("seed %d: %s, removed in term %d, was elected in term %d", w.seed, name, removed, term)
	}
}

func (w *watch) elections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stood
}

// log returns the log of a node, whose lines tell of elections: Raft says
// nowhere else who won in which term.
func (w *watch) log(name string) hclog.Logger {
	return &electionLog{Logger: hclog.NewNullLogger(), watch: w, name: name}
}

type electionLog struct {
	hclog.Logger
	watch *watch
	name  string
}

// Named returns the log itself.
func (l *electionLog) Named(string) hclog.Logger { return l }

// Info notes a candidate and a winner.
func (l *electionLog) Info(message string, args ...any) {
	switch message {
	case "election won":
		l.watch.elected(l.name, args[1].(uint64))
	case "entering candidate state":
		l.watch.mu.Lock()
		defer l.watch.mu.Unlock()
		l.watch.stood++
	}
}
