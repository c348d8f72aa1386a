package cluster

import (
	"strconv"
	"strings"
	"time"

	"floe/cluster/logstore"
)

// Figures are what metrics show of a node's Raft half, its store and its
// gossip. What does not run has zeros.
type Figures struct {
	// State is follower, candidate, leader or stopped.
	State string
	// Term is the Raft term; the others are Raft indexes: of the last entry
	// in the log, the last known to be committed, the last one applied, and
	// the last one in a snapshot.
	Term, LastIndex, CommitIndex, AppliedIndex, SnapshotIndex uint64
	// Sizes are those of the log's database.
	logstore.Sizes
	// Stalled is for how long the oldest disk operation has been running.
	Stalled time.Duration
	// Failed tells that the storage is out of service for good.
	Failed bool
	// Free and Reserve are bytes of the file system of the data directory: how
	// many may still be written, and how many are kept for what has to be.
	Free, Reserve uint64
	// Full tells that changes are refused for want of space.
	Full bool
	// Differs tells that the state was found to differ from that of the others.
	Differs bool
	// Alive is how many nodes gossip holds to be alive, this one included.
	Alive int
	// Nodes tells of each node that made itself known, by id, whether gossip
	// holds it to be alive.
	Nodes map[string]bool
	// GossipHealth is 0 while this node hears the others in time, and grows to 8
	// the worse that goes.
	GossipHealth int
}

// Figures looks at this node alone. While Raft runs it waits for no disk.
func (n *Node) Figures() Figures {
	h := n.half.Load()
	if h == nil {
		f := Figures{State: "stopped", Nodes: n.aliveByID()}
		f.addStore(n, n.openedDisk())
		return f
	}
	r := h.raft
	f := Figures{State: strings.ToLower(r.State().String()), Term: r.CurrentTerm(), LastIndex: r.LastIndex(), CommitIndex: r.CommitIndex(), AppliedIndex: r.AppliedIndex()}
	f.SnapshotIndex, _ = strconv.ParseUint(r.Stats()["last_snapshot_index"], 10, 64) // Raft prints a number, and has no other way to ask
	f.addStore(n, h.disk)
	f.Nodes = n.aliveByID()
	if g := h.gossip.Load(); g != nil {
		f.Alive, f.GossipHealth = g.list.NumMembers(), g.list.GetHealthScore()
	}
	return f
}

func (n *Node) aliveByID() map[string]bool {
	alive := map[string]bool{}
	for _, m := range n.View().Members {
		alive[m.ID] = n.Alive(m.ID)
	}
	return alive
}

func (n *Node) openedDisk() *disk {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.disk
}

func (f *Figures) addStore(n *Node, d *disk) {
	f.Free, f.Reserve, f.Full, f.Differs = n.space.free.Load(), n.space.reserve.Load(), n.space.full.Load(), n.diverged.Load() != nil
	if d == nil {
		return // closed
	}
	f.Stalled, f.Failed = d.health.Stalled(), d.health.Err() != nil
	if sizes, err := d.store.Sizes(); err == nil { // the file is gone for a moment while the node joins
		f.Sizes = sizes
	}
}

// LeaderChanged returns a channel that is closed at the next change of
// LeaderID. Take it before looking at that.
func (n *Node) LeaderChanged() <-chan struct{} { return n.leaders.changed.next() }
