package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"floe/cluster/logstore"
)

// An older copy of a node's whole data directory looks like any other. Only
// the others can tell: each node notes what it knows for certain of each
// other one, and answers a hello with it. A node that is less than what
// somebody saw has forgotten votes or acknowledged entries. See DESIGN.md.

// witness is what this node noted of the others.
type witness struct {
	mu    sync.Mutex
	nodes map[string]logstore.Sight
	dirty bool
}

// witnessEvery is how often what was noted is written, where it changed.
const witnessEvery = 10 * time.Second

func (w *witness) of(id string) (logstore.Sight, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.nodes[id]
	return s, ok
}

// note takes in what was seen of a node. Of one that entered anew the former
// life counts no more.
func (w *witness) note(id string, s logstore.Sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.nodes[id]
	if s.Incarnation < old.Incarnation {
		return
	}
	if s.Incarnation == old.Incarnation {
		s.Index, s.VoteTerm = max(s.Index, old.Index), max(s.VoteTerm, old.VoteTerm)
	}
	if s != old {
		w.nodes[id], w.dirty = s, true
	}
}

// acked takes in what the leader saw a follower have.
func (w *witness) acked(id string, index uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, known := w.nodes[id]; known && index > s.Index {
		s.Index = index
		w.nodes[id], w.dirty = s, true
	}
}

// take returns all of it where it changed since the last time.
func (w *witness) take() (map[string]logstore.Sight, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	dirty := w.dirty
	w.dirty = false
	return maps.Clone(w.nodes), dirty
}

// loadWitness reads what was noted before the start. A damaged record is left
// out: it protects the others, who have others.
func (n *Node) loadWitness() {
	n.witness = &witness{nodes: map[string]logstore.Sight{}}
	stored, err := logstore.ReadWitness(n.cfg.DataDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.log.Warn("what this node knew of the others is lost, and will be noted anew", "error", err)
	}
	if err == nil && stored.ClusterID == n.clusterID() && stored.Nodes != nil {
		n.witness.nodes = stored.Nodes
	}
}

// keepWitness writes what was noted, now and then.
func (h *half) keepWitness(ctx context.Context) {
	for pause(ctx, witnessEvery) {
		h.n.writeWitness()
	}
}

func (n *Node) writeWitness() {
	nodes, dirty := n.witness.take()
	if !dirty || n.clusterID() == "" || n.diskErr() != nil || n.space.full.Load() {
		return
	}
	if err := logstore.WriteWitness(n.cfg.DataDir, logstore.Witness{ClusterID: n.clusterID(), Nodes: nodes}); err != nil {
		n.log.Warn("what this node knows of the others is not on disk", "error", err)
	}
}

// testify takes in a hello of a node of our cluster: what it says of itself,
// and what it has seen of us.
func (n *Node) testify(from nodeInfo) {
	if from.State == logstore.Member || from.State == logstore.Joining {
		n.witness.note(from.ID, logstore.Sight{Incarnation: from.Incarnation, Index: from.Applied, VoteTerm: from.VoteTerm})
	}
	id := n.Identity()
	if from.Seen == nil || from.Seen.Incarnation != incarnationOf(id) || id.State != logstore.Member && id.State != logstore.Joining {
		return
	}
	if h := n.half.Load(); h != nil && from.Seen.Index <= h.raft.LastIndex() && from.Seen.VoteTerm <= id.VoteTerm {
		return
	}
	// Ours is looked at after it was seen: it can only have grown.
	reach, err := n.reach()
	vote := n.Identity().VoteTerm
	if err == nil && (from.Seen.Index > reach || from.Seen.VoteTerm > vote) {
		n.end(&OlderData{ID: n.id, Dir: n.cfg.DataDir, Witness: from.ID, Seen: *from.Seen, Index: reach, VoteTerm: vote})
	}
}

// reach is how far log and snapshots on the disk go: Raft may be just
// starting, or have stopped.
func (n *Node) reach() (uint64, error) {
	d := n.openedDisk()
	if d == nil {
		return 0, errors.New("closed")
	}
	last, err := d.store.LastIndex()
	return max(last, d.snaps.Newest()), err
}

// mayVote says why this node does not vote yet, nil where it does.
func (n *Node) mayVote() error {
	if n.vouched.Load() {
		return nil
	}
	return fmt.Errorf("node %s has started and does not vote before others have told what they know of it", n.id)
}

// Bounds of the pauses before a node that nobody vouched for asks again.
const (
	vouchSoon  = 100 * time.Millisecond
	vouchLater = time.Second
)

// vouch asks the others until enough have answered. Who answers and does not
// contradict has vouched.
func (h *half) vouch(ctx context.Context) {
	for wait := vouchSoon; !h.n.vouched.Load() && ctx.Err() == nil; wait = min(2*wait, vouchLater) {
		changed := h.n.Changed()
		ids, need := h.n.vouchers()
		h.n.askVouchers(ctx, ids, need)
		if !h.n.vouched.Load() {
			waitFor(ctx, changed, wait)
		}
	}
}

// vouchers are the other voters, and how many of them have to answer: with
// this node they are a majority, so that its vote would count for something.
func (n *Node) vouchers() (ids []string, need int) {
	voters := n.voters()
	for _, id := range voters {
		if id != n.id {
			ids = append(ids, id)
		}
	}
	return ids, (len(ids) + 1) / 2
}

func (n *Node) askVouchers(ctx context.Context, ids []string, need int) {
	if len(ids) == 0 && !n.standsAlone() {
		return // knows nobody yet; its first entries tell
	}
	answered := len(n.askAround(ctx, ids))
	if answered < need || len(n.fatal) > 0 || ctx.Err() != nil {
		return
	}
	if !n.vouched.Swap(true) && need > 0 {
		n.log.Debug("others know this node as it is", "answered", answered)
	}
}

// standsAlone tells whether the node is the only one of its cluster.
func (n *Node) standsAlone() bool {
	return n.Identity().PromisedTo == founding || slices.Equal(n.voters(), []string{n.id})
}

// OlderData says that a node's data directory is an older copy: others have
// seen the node have more.
type OlderData struct {
	// ID is the node, Dir its data directory.
	ID, Dir string
	// Witness is the node that knows better, Seen what it knows.
	Witness string
	Seen    logstore.Sight
	// Index and VoteTerm are what there is in the directory.
	Index, VoteTerm uint64
}

// Error names node, path and remedy.
func (e *OlderData) Error() string {
	what := fmt.Sprintf("its log ends at index %d, but node %s knows that it had index %d", e.Index, e.Witness, e.Seen.Index)
	if e.Seen.Index <= e.Index {
		what = fmt.Sprintf("it knows of no vote after term %d, but node %s knows that it voted in term %d", e.VoteTerm, e.Witness, e.Seen.VoteTerm)
	}
	return fmt.Sprintf("node %q, data directory %s: is an older copy: %s; run `floe remove %s --force` on the other nodes, then start it with an empty directory and --join",
		e.ID, e.Dir, what, e.ID)
}
