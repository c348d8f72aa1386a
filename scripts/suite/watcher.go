package main

import (
	"context"
	"sync"
	"time"

	"floe/scripts/suite/history"
	"floe/scripts/suite/workload"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

// watcher asks every node for its status all the time: who leads, and which
// digest it has at which index.
type watcher struct {
	log   *history.Log
	nodes []workload.Node

	mu      sync.Mutex
	term    uint64
	current string
	leads   int // terms in which somebody led
	at      map[string]uint64
}

// watchPace is how often each node is asked.
const watchPace = 250 * time.Millisecond

func (w *watcher) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, n := range w.nodes {
		all.Go(func() { w.follow(ctx, n) })
	}
}

func (w *watcher) follow(ctx context.Context, n workload.Node) {
	c := client.New(client.Config{Addresses: []string{n.HTTP}, Timeout: time.Second, Stale: true})
	defer c.Close()
	tick := time.NewTicker(watchPace)
	defer tick.Stop()
	for {
		if s, err := w.look(ctx, c, n); err == nil {
			w.saw(s)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look asks a node for its status and records its digest. Index and digest come from
// one copy.
func (w *watcher) look(ctx context.Context, c *client.Client, n workload.Node) (api.Status, error) {
	p := w.log.Invoke("watch-"+n.Name, n.Name, "digest", "", nil)
	s, err := c.Status(ctx)
	switch {
	case err != nil:
		p.Fail(err.Error())
		return s, err
	case s.Digest == "":
		p.Fail("it has no digest")
	default:
		p.OK(&history.Value{Index: s.AppliedIndex, Text: s.Digest, Term: s.Term, Owner: s.Leader})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at == nil {
		w.at = map[string]uint64{}
	}
	w.at[n.Name] = s.AppliedIndex
	return s, nil
}

// saw notes a new leader.
func (w *watcher) saw(s api.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Leader == "" || s.Term <= w.term {
		return
	}
	w.term, w.current = s.Term, s.Leader
	w.leads++
	w.log.Note("leader", s.Leader, "leads", &history.Value{Index: s.Term})
}

// applied returns the index that a node said it had applied, when it was asked
// last.
func (w *watcher) applied(node string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at[node]
}

// leader returns who led last.
func (w *watcher) leader() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current
}

// changes returns how often the leader changed.
func (w *watcher) changes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(0, w.leads-1)
}

// digests waits until all nodes have been seen at one index, or ctx ends, and
// records what they say.
func (w *watcher) digests(ctx context.Context) {
	_ = poll(ctx, "one index", func() error { // a checker says where there is none
		seen := map[uint64]int{}
		for _, n := range w.nodes {
			c := client.New(client.Config{Addresses: []string{n.HTTP}, Timeout: time.Second, Stale: true})
			s, err := w.look(ctx, c, n)
			c.Close()
			if err != nil {
				return err
			}
			seen[s.AppliedIndex]++
		}
		if len(seen) > 1 {
			return errApart
		}
		return nil
	})
}
