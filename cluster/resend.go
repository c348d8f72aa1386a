package cluster

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// A leader's Raft waits after a failed request to a follower before it sends
// entries again, twice as long each time, up to 10 s, and counts on while the
// follower is away. One that comes back would so be without changes for up to
// 10 s while heartbeats, which have a pause of their own, say that all is
// well. So the gate sends again itself, and Raft hears of no failure.

// Bounds of the pauses between two tries to send entries. The pause ends at
// once when the follower answers heartbeats again.
const (
	resendSoon  = 10 * time.Millisecond
	resendLater = time.Second
)

// reach is whether a node answers this leader's heartbeats.
type reach struct {
	lost    bool
	resumed *broadcast
}

// reachOf returns what is known of a node. The caller holds g.mu.
func (g *gate) reachOf(id string) *reach {
	r := g.reached[id]
	if r == nil {
		r = &reach{resumed: newBroadcast()}
		g.reached[id] = r
	}
	return r
}

// noteHeartbeat takes in whether a heartbeat was answered.
func (g *gate) noteHeartbeat(id string, answered bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.reachOf(id)
	if answered && r.lost {
		r.resumed.fire()
	}
	r.lost = !answered
}

// resumes returns a channel that is closed once the node answers heartbeats
// again, and whether it did not answer the last one.
func (g *gate) resumes(id string) (resumed <-chan struct{}, lost bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.reachOf(id)
	return r.resumed.next(), r.lost
}

// persist sends entries until a try succeeds, or they need not be sent any
// more: the term is over, the node is no member, Raft stops.
func (g *gate) persist(id string, term uint64, send func() error) error {
	for wait := resendSoon; ; wait = min(2*wait, resendLater) {
		resumed, _ := g.resumes(id)
		err := send()
		if err == nil || !g.waitToSend(id, term, resumed, wait) {
			return err
		}
	}
}

// awaitReach waits while the node answers no heartbeats. A snapshot is not
// sent before: what has begun to be sent can't be sent again from here.
func (g *gate) awaitReach(id string, term uint64) {
	for {
		resumed, lost := g.resumes(id)
		if !lost || !g.waitToSend(id, term, resumed, resendLater) {
			return
		}
	}
}

// waitToSend waits, and tells whether to try again.
func (g *gate) waitToSend(id string, term uint64, resumed <-chan struct{}, wait time.Duration) bool {
	// Looked at this often, as nothing says when a term is over.
	look := time.NewTicker(resendLater / 10)
	defer look.Stop()
	over := time.NewTimer(wait)
	defer over.Stop()
	for g.leadsTo(id, term) {
		select {
		case <-over.C:
			return g.leadsTo(id, term)
		case <-resumed:
			return true
		case <-look.C:
		case <-g.closed:
			return false
		}
	}
	return false
}

// leadsTo tells whether this node leads in that term, and another is a member.
func (n *Node) leadsTo(id string, term uint64) bool {
	h := n.half.Load()
	if h == nil || h.raft.State() != raft.Leader || h.raft.CurrentTerm() != term {
		return false
	}
	return slices.ContainsFunc(h.servers(), func(s raft.Server) bool { return string(s.ID) == id })
}
