package cluster

import (
	"context"
	"sync"
	"time"
)

// leaderWatch knows the leader and since when there is none.
type leaderWatch struct {
	changed *broadcast
	mu      sync.Mutex
	now     string
	last    string
	lost    time.Time
	reign   context.Context // ends with the present leader's
	end     context.CancelFunc
}

func newLeaderWatch() *leaderWatch {
	w := &leaderWatch{changed: newBroadcast(), lost: time.Now()}
	w.reign, w.end = context.WithCancel(context.Background())
	return w
}

// set notes the leader; "" says that there is none.
func (w *leaderWatch) set(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id == w.now {
		return
	}
	if id == "" {
		w.lost = time.Now()
	} else {
		w.last = id
	}
	w.now = id
	w.end()
	w.reign, w.end = context.WithCancel(context.Background())
	w.changed.fire()
}

// during returns a context that ends with ctx, or when this node no longer
// takes id for the leader: a leader that hangs, or whose cable is cut, would
// not answer before the deadline.
func (w *leaderWatch) during(ctx context.Context, id string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now != id {
		cancel()
		return ctx, cancel
	}
	stop := context.AfterFunc(w.reign, cancel)
	return ctx, func() { stop(); cancel() }
}

// get returns the leader, the last one known, and, where there is none,
// since when.
func (w *leaderWatch) get() (now, last string, lost time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.last, w.lost
}

// LeaderID returns the id of the leader as this node knows it, "" for none.
func (n *Node) LeaderID() string {
	now, _, _ := n.leaders.get()
	return now
}

// IsLeader tells whether this node is the leader. By the time it returns it
// may be no longer.
func (n *Node) IsLeader() bool {
	h := n.half.Load()
	return h != nil && h.leads()
}
