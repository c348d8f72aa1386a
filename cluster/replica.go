package cluster

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"floe/fsm"
)

// replica is the state as one Raft instance sees it. Raft begins after the
// newest snapshot, the state has replayed more already: those entries come a
// second time and are left out.
type replica struct {
	*fsm.State
	marks    *marks
	replayed uint64 // the state's index when Raft started
	seen     uint64 // raft's goroutine only
	latest   atomic.Pointer[appliedEntry]
	nudge    chan struct{} // one pending, for hint
}

// appliedEntry is the last entry applied.
type appliedEntry struct {
	index, term uint64
	at          time.Time
}

func newReplica(state *fsm.State, marks *marks, snapshot uint64) *replica {
	return &replica{State: state, marks: marks, replayed: state.View().Index, seen: snapshot, nudge: make(chan struct{}, 1)}
}

// Apply applies one entry.
func (r *replica) Apply(l *raft.Log) any { return r.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch applies those entries that the state does not have yet.
func (r *replica) ApplyBatch(logs []*raft.Log) []any {
	old := 0
	for old < len(logs) && logs[old].Index <= r.replayed {
		old++
	}
	answers := make([]any, old, len(logs))
	for rest := logs[old:]; len(rest) > 0; {
		n := untilMark(rest)
		r.marks.pass(r.View(), rest[0].Index)
		answers = append(answers, r.State.ApplyBatch(rest[:n])...)
		rest = rest[n:]
	}
	r.marks.stand(r.View())
	last := logs[len(logs)-1]
	r.note(last.Index, last.Term)
	return answers
}

func (r *replica) note(index, term uint64) {
	r.seen = index
	r.latest.Store(&appliedEntry{index: index, term: term, at: time.Now()})
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}

// StoreConfiguration is for raft without batches; see ApplyBatch.
func (r *replica) StoreConfiguration(index uint64, c raft.Configuration) {
	if index > r.replayed {
		r.State.StoreConfiguration(index, c)
	}
}

var errReplaying = errors.New("no snapshot yet: entries known from before the start come again")

// Snapshot holds the state still, once Raft has come as far as the state.
func (r *replica) Snapshot() (raft.FSMSnapshot, error) {
	if r.seen < r.replayed {
		return nil, errReplaying
	}
	return r.State.Snapshot()
}

// Restore replaces the state.
func (r *replica) Restore(from io.ReadCloser) error {
	if err := r.State.Restore(from); err != nil {
		return err
	}
	r.replayed = 0
	r.seen = r.View().Index
	return nil
}
