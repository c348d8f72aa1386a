package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

// watched is what one watcher was told.
type watched struct {
	mu     sync.Mutex
	told   []api.Record
	events []uint64 // the indexes of all events
	gaps   int
	err    error
}

// follow notes what a watch tells until ctx ends.
func (w *watched) follow(ctx context.Context, watch *client.Watch) {
	defer watch.Close()
	for {
		ev, err := watch.Next()
		w.mu.Lock()
		if err != nil {
			if ctx.Err() == nil {
				w.err = err
			}
			w.mu.Unlock()
			return
		}
		w.events = append(w.events, ev.Index)
		if ev.Change != nil {
			w.told = append(w.told, *ev.Change)
		}
		if ev.Gap != nil {
			w.gaps++
		}
		w.mu.Unlock()
	}
}

// upTo tells whether a watcher came that far.
func (w *watched) upTo(index uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if n := len(w.events); n == 0 || w.events[n-1] < index {
		return fmt.Errorf("a watcher is not at %d: %d events", index, n)
	}
	return nil
}

// check holds what a watcher was told to the history: ordered, unique, whole, atomic.
func (w *watched) check(t *testing.T, from uint64, history []api.Record) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gaps > 0 || !slices.IsSorted(w.events) {
		t.Errorf("%d gaps; indexes in order: %t", w.gaps, slices.IsSorted(w.events))
	}
	var want, got []string
	for _, r := range history {
		if r.Index > from {
			want = append(want, fmt.Sprint(r.Index, r.Op, r.Graph, r.Removed, r.Added))
		}
	}
	for _, r := range w.told {
		got = append(got, fmt.Sprint(r.Index, r.Op, r.Graph, r.Removed, r.Added))
	}
	if n := min(len(got), len(want)); n == 0 || !slices.Equal(got[:n], want[:n]) || len(got) < len(want) {
		t.Errorf("told %d changes, the history has %d after %d; they are not the same:\n%s\n\n%s", len(got), len(want), from, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestWatchOverFailover: watchers are told every change once and in order, while the nodes that tell them are killed,
// leader included, and come back.
func TestWatchOverFailover(t *testing.T) {
	c := floetest.StartCluster(t, 3)
	var addresses []string
	for _, n := range c.Nodes {
		addresses = append(addresses, n.HTTP())
	}
	c.Nodes[0].Must("create", "A", "B")
	st, err := c.Nodes[0].Status()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*floetest.Patience)
	var all sync.WaitGroup
	defer func() { cancel(); all.Wait() }()
	watchers := make([]*watched, 3)
	for i := range watchers {
		watchers[i] = &watched{}
		at := client.New(client.Config{Addresses: append(slices.Clone(addresses[i:]), addresses[:i]...), Timeout: floetest.Patience})
		t.Cleanup(at.Close)
		all.Go(func() { watchers[i].follow(ctx, at.Watch(ctx, &st.AppliedIndex)) })
	}
	changes := client.New(client.Config{Addresses: addresses, Timeout: floetest.Patience})
	t.Cleanup(changes.Close)
	made := 0
	work := func(n int) {
		t.Helper()
		for range n {
			made++
			script := fmt.Sprintf("create T%d U%d; link A T%d %d; link A B %d", made, made, made, made, made)
			if _, err := changes.Apply(ctx, api.Apply{Script: script}); err != nil {
				t.Fatal(err)
			}
			routes := fmt.Sprintf("updatert|start\nmse|%d|-1|x:%d\nupdatert|end\nmeid_map|start\nmme_ar|o:1|m%d\nmeid_map|end\n", 1000+made%3, made, made)
			if _, err := changes.LoadRoutes(ctx, routes, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	work(5)
	for range 2 {
		victim := c.WaitLeader()
		victim.Kill()
		work(5)
		victim.Start("--join", c.Peers())
		victim.WaitReady()
		work(3)
	}
	index := uint64(0)
	for _, n := range c.Nodes {
		st, err := n.Status()
		if err != nil {
			t.Fatal(err)
		}
		index = max(index, st.AppliedIndex)
	}
	floetest.Eventually(t, floetest.Patience, func() error {
		for _, w := range watchers {
			if err := w.upTo(index); err != nil {
				return err
			}
		}
		return nil
	})
	h, err := changes.History(ctx, nil, 10_000, true)
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.DeleteFunc(h.Changes, func(r api.Record) bool { return r.Index > index })
	for _, w := range watchers {
		w.check(t, st.AppliedIndex, changed)
	}
}

// TestHistoryIsTheSameOnEveryNode: also on one that comes with a snapshot, and after all were killed.
func TestHistoryIsTheSameOnEveryNode(t *testing.T) {
	c := floetest.StartCluster(t, 2, "--snapshot-threshold", "20", "--snapshot-interval", "1s")
	n := c.Nodes[0]
	for i := range 40 {
		n.Must("create", fmt.Sprintf("T%d", i))
	}
	c.Add("n3")
	c.WaitVoters(3)
	c.Kill()
	c.Restart()
	n.Must("destroy", "T7")
	c.WaitSame()
	want := n.Must("history", "--all", "--limit", "1000", "--json")
	if got := strings.Count(want, `"text": "create T`); got != 40 {
		t.Errorf("%d topics were made by the history, want 40", got)
	}
	floetest.Eventually(t, floetest.Patience, func() error { // a node may say anew where it is at any time
		want = n.Must("history", "--all", "--limit", "1000", "--json")
		for _, other := range c.Nodes[1:] {
			if got := other.Must("history", "--all", "--limit", "1000", "--json"); got != want {
				return fmt.Errorf("node %s has another history:\n%s\nnot\n%s", other.ID, got, want)
			}
		}
		return nil
	})
	at := ""
	for _, line := range strings.Split(n.Must("history"), "\n") {
		if strings.HasSuffix(line, "create T39") {
			at, _, _ = strings.Cut(line, " ")
		}
	}
	c.Nodes[2].Must("revert", "--to", at, "--yes")
	if out := n.Must("topics"); !strings.Contains(out, "T7\n") {
		t.Errorf("after the revert the topics are %s", out)
	}
}

// TestStatusFromAnyNode: each node tells of all, also without a leader.
func TestStatusFromAnyNode(t *testing.T) {
	c := floetest.StartCluster(t, 3)
	for _, n := range c.Nodes {
		n.WaitStatus("told of by all", func(s api.Status) bool {
			return len(s.Nodes) == 3 && len(s.Problems) == 0 && !slices.ContainsFunc(s.Nodes, func(r api.NodeReport) bool {
				return !r.Answers || r.DiskFree == 0 || r.Version == "" || r.Role == "" || r.ContactAge < 0 || len(r.Connections) == 0
			})
		})
	}
	c.Nodes[0].Kill()
	c.Nodes[1].Kill()
	began := time.Now()
	st := c.Nodes[2].WaitStatus("without a leader", func(s api.Status) bool { return s.Leader == "" && len(s.Problems) >= 2 })
	for _, r := range st.Nodes {
		if r.Answers != (r.ID == c.Nodes[2].ID) {
			t.Errorf("node %s answers: %t", r.ID, r.Answers)
		}
	}
	out := c.Nodes[2].Must("status")
	for _, want := range []string{"unreachable", "node n1 can't be reached", "DISK FREE", "leader     none"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing %s after the loss of two nodes:\n%s", want, time.Since(began), out)
		}
	}
}
