package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"floe/fsm"
)

const (
	// markEvery is the distance of the indexes at which all nodes note the
	// digest of their state, whatever batches they apply in.
	markEvery = 256
	// marksKept is how many of them a node keeps.
	marksKept = 16
	// compareEvery is how often a node compares.
	compareEvery = 5 * time.Second
)

// mark is the digest of a state at an index.
type mark struct {
	Index  uint64 `json:"i"`
	Digest string `json:"d"`
}

// marks are those of this node: the last at each markEvery-th index, and
// where it stands. When it is quiet that is the same index everywhere.
type marks struct {
	mu     sync.Mutex
	passed []mark
	last   mark
}

// untilMark returns how many entries may be applied before the next index at
// which all nodes note their digest: the entries up to it.
func untilMark(logs []*raft.Log) int {
	for i, l := range logs {
		if i > 0 && (l.Index-1)/markEvery != (logs[0].Index-1)/markEvery {
			return i
		}
	}
	return len(logs)
}

// pass notes the digest at the last markEvery-th index before next, if the
// state has come to it since the last entry. Not every index has an entry
// that the state sees.
func (m *marks) pass(v *fsm.View, next uint64) {
	at := (next - 1) / markEvery * markEvery
	if at == 0 || at < v.Index {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.passed = append(m.passed, mark{at, v.Digest().String()})
	if extra := len(m.passed) - marksKept; extra > 0 {
		m.passed = slices.Delete(m.passed, 0, extra)
	}
}

// stand notes where the state stands.
func (m *marks) stand(v *fsm.View) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = mark{v.Index, v.Digest().String()}
}

func (m *marks) list() []mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append(slices.Clone(m.passed), m.last)
}

// reset forgets, for a state that begins anew.
func (m *marks) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.passed, m.last = nil, mark{}
}

// compare looks, now and then, whether the others came to the same state at
// the same index, and whether all come along.
func (h *half) compare(ctx context.Context) {
	n := h.n
	var l laggards
	done := uint64(0) // all had this
	defer n.setProblem("behind", "")
	for pause(ctx, compareEvery) {
		view := n.View()
		if view.Index == done {
			continue
		}
		infos := n.askAround(ctx, serverNames(view))
		if h.compareAll(infos) {
			return
		}
		applied := map[string]uint64{}
		for id, info := range infos {
			applied[id] = info.Applied
		}
		behind, lag := l.see(time.Now(), applied)
		n.setProblem("behind", describeBehind(behind))
		if !lag && len(infos) == len(view.Servers) {
			done = view.Index
		}
	}
}

func describeBehind(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf("can't catch up, lacks changes of %v ago and more: node %s", behindAfter, strings.Join(ids, ", node "))
}

// compareAll compares the states, and tells whether this node has to stop. A
// node that differs stops its raft half: it must not lead, answer or make
// snapshots of a state that is wrong.
func (h *half) compareAll(infos map[string]nodeInfo) (stop bool) {
	n := h.n
	others := map[string][]mark{}
	for id, info := range infos {
		if id != n.id {
			others[id] = info.Marks
		}
	}
	d := differs(n.marks.list(), others, n.View().Voters(), n.LeaderID())
	if d == nil {
		n.setProblem("digest", "")
		return false
	}
	n.setProblem("digest", fmt.Sprintf("node %s, data directory %s: %s", n.id, n.cfg.DataDir, d))
	if d.wrong {
		n.diverged.Store(d)
		h.finish()
	}
	return d.wrong
}

// difference says that a node's state is not that of others.
type difference struct {
	index   uint64
	ours    string
	theirs  string
	nodes   []string
	wrong   bool // it is ours that is wrong
	forSure bool // since a majority says so
}

func (d *difference) Error() string {
	text := fmt.Sprintf("the state at index %d differs: digest %s here, %s on %s", d.index, d.ours, d.theirs, strings.Join(d.nodes, ", "))
	switch {
	case !d.wrong:
		return text + "; theirs is held to be wrong"
	case d.forSure:
		return text + ", which are the majority; this node stopped taking part and goes on delivering by what it has. Remove it, and start it with an empty directory and --join"
	}
	return text + ", where the leader is; this node stopped taking part and goes on delivering by what it has. Remove it, and start it with an empty directory and --join"
}

// differs compares our marks with those of the others. Where a majority of
// the voters agrees, it is right, else the leader.
func differs(own []mark, others map[string][]mark, voters int, leader string) *difference {
	for _, m := range slices.Backward(own) {
		by := map[string][]string{}
		for _, id := range slices.Sorted(maps.Keys(others)) {
			if i := slices.IndexFunc(others[id], func(o mark) bool { return o.Index == m.Index }); i >= 0 {
				by[others[id][i].Digest] = append(by[others[id][i].Digest], id)
			}
		}
		agree := by[m.Digest]
		delete(by, m.Digest)
		for digest, ids := range by {
			d := &difference{index: m.Index, ours: m.Digest, theirs: digest, nodes: ids}
			d.forSure = 2*len(ids) > voters
			d.wrong = d.forSure || slices.Contains(ids, leader) && 2*(1+len(agree)) <= voters
			if d.wrong || len(by) == 1 {
				return d
			}
		}
	}
	return nil
}
