package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"floe/topics"
)

// Config says what a [State] needs. The zero value works.
type Config struct {
	// Log gets what a person must know; nil is silence.
	Log hclog.Logger
	// OnHalt is called once, from Raft's goroutine, when the state halts.
	OnHalt func(*Halt)
}

// State is the replicated state machine: raft.BatchingFSM and
// raft.ConfigurationStore. Raft calls Apply, Snapshot and Restore from one
// goroutine; all other methods are safe to call from anywhere.
type State struct {
	config   Config
	log      hclog.Logger
	requests *requestLog
	view     atomic.Pointer[View]
	changed  atomic.Pointer[chan struct{}]
	halt     atomic.Pointer[Halt]
}

// Halt says where and why a state stopped applying. It is an error.
type Halt struct {
	// Index is the entry that could not be applied.
	Index uint64
	// Cause says why.
	Cause error
}

// Error names the index, the cause and the way out.
func (h *Halt) Error() string {
	return fmt.Sprintf("entry %d could not be applied: %v; this node serves the state before it. Run a program that can read it, or: floe recover --skip %d",
		h.Index, h.Cause, h.Index)
}

// Unwrap returns the cause.
func (h *Halt) Unwrap() error { return h.Cause }

// New returns an empty state.
func New(config Config) *State {
	log := config.Log
	if log == nil {
		log = hclog.NewNullLogger()
	}
	s := &State{config: config, log: log}
	s.reset()
	return s
}

func (s *State) reset() {
	s.requests = newRequestLog()
	s.publish(&View{Graph: topics.New("IceStorm")})
}

// Reset empties the state, for a node that enters another cluster. No Raft
// instance may be running on it.
func (s *State) Reset() {
	s.halt.Store(nil)
	s.reset()
}

// View returns the state as it stands.
func (s *State) View() *View { return s.view.Load() }

// Changed returns a channel that is closed at the next change of the view.
// Take it before looking at the view, so that no change is missed.
func (s *State) Changed() <-chan struct{} { return *s.changed.Load() }

// Halted says where applying stopped, nil if it did not.
func (s *State) Halted() *Halt { return s.halt.Load() }

// Wait returns the first view whose index is at least the given one, or the
// error of ctx or the [Halt] that keeps it from getting there.
func (s *State) Wait(ctx context.Context, index uint64) (*View, error) {
	for {
		changed := s.Changed()
		if v := s.View(); v.Index >= index {
			return v, nil
		}
		if h := s.Halted(); h != nil {
			return nil, h
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// publish makes a view the one to read and wakes who waits.
func (s *State) publish(v *View) {
	s.view.Store(v)
	next := make(chan struct{})
	if old := s.changed.Swap(&next); old != nil {
		close(*old)
	}
}

// Apply applies one entry; see [State.ApplyBatch].
func (s *State) Apply(l *raft.Log) any { return s.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch applies entries in order and publishes one view for all of
// them. Each answer is a [Result] or, once the state has halted, a *[Halt].
func (s *State) ApplyBatch(logs []*raft.Log) []any {
	answers := make([]any, len(logs))
	d := &draft{View: *s.View()}
	for i, l := range logs {
		answers[i] = s.applyEntry(d, l)
	}
	v := d.View
	s.publish(&v)
	return answers
}

func (s *State) applyEntry(d *draft, l *raft.Log) any {
	if h := s.Halted(); h != nil {
		return h
	}
	if l.Type == raft.LogConfiguration {
		d.View = d.regrouped(servers(raft.DecodeConfiguration(l.Data)), l.Index)
		return nil
	}
	c, err := DecodeCommand(l.Data)
	if err != nil {
		return s.stop(l.Index, err)
	}
	result, err := s.applyCommand(d, c, l.Index)
	if err != nil {
		return s.stop(l.Index, err)
	}
	d.Index = l.Index
	return result
}

// applyCommand applies one command to the draft. The error is for what must
// not happen: a panic in an op.
func (s *State) applyCommand(d *draft, c Command, index uint64) (result Result, err error) {
	if r, known := s.requests.answer(c); known {
		return r, nil
	}
	at := index + d.Shift
	d.Routes.loads, d.restore = pruned(d.Routes.loads, at), d.restore.kept(at)
	work := &draft{View: d.View, at: at}
	if halfTable {
		s.publishHalf(d, c.Op)
	}
	next, result, err := work.try(c.Op)
	if err != nil {
		return Result{}, err
	}
	result.Index = index
	if result.Refused == nil {
		next.UserChanges = d.UserChanges
		if !byNode(c.Op) {
			next.UserChanges++
		}
		d.View = next.recorded(&d.View, c, index, work.touched)
	}
	s.requests.remember(c.Request, result)
	return result, nil
}

// try applies an op to a draft. A refusal is a result and leaves the view as
// it was; a panic is the error.
func (d *draft) try(op Op) (next View, result Result, err error) {
	v := d.View
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kind %d: panic: %v", op.Kind(), p)
		}
	}()
	if need := opVersion(op); need > max(v.Version, 1) {
		return v, Result{Refused: &Refusal{Kind: ErrVersion, Detail: fmt.Sprintf("needs cluster version %d, the cluster is at %d; floe upgrade finalize raises it", need, v.Version)}}, nil
	}
	if v.ClusterID == "" && !byNode(op) { // Init starts the graph anew
		return v, Result{Refused: &Refusal{Kind: ErrUnnamed}}, nil
	}
	result, refused := op.apply(d)
	if refused != nil {
		return v, Result{Refused: refusal(refused)}, nil
	}
	return d.View, result, nil
}

// Try says what a command would come to on a view, without changing
// anything. The leader tries each command before it is logged, so that one
// that panics never reaches the log. Of a part of a load it only looks
// whether it fits.
func (v *View) Try(op Op) (Result, error) {
	_, result, err := (&draft{View: *v, at: v.Index + 1 + v.Shift, trial: true}).try(op)
	return result, err
}

// stop halts the state at an index.
func (s *State) stop(index uint64, cause error) *Halt {
	h := &Halt{Index: index, Cause: cause}
	s.halt.Store(h)
	s.log.Error("stopped applying", "index", index, "cause", cause)
	if s.config.OnHalt != nil {
		s.config.OnHalt(h)
	}
	return h
}

// StoreConfiguration notes the servers of the group. Raft calls it for
// entries that it does not hand to ApplyBatch.
func (s *State) StoreConfiguration(index uint64, c raft.Configuration) {
	v := s.View().regrouped(servers(c), index)
	s.publish(&v)
}

func servers(c raft.Configuration) []Server {
	out := make([]Server, 0, len(c.Servers))
	for _, srv := range c.Servers {
		out = append(out, Server{ID: string(srv.ID), Voter: srv.Suffrage == raft.Voter})
	}
	slices.SortFunc(out, func(a, b Server) int { return strings.Compare(a.ID, b.ID) })
	return out
}

var errHalted = errors.New("no snapshot of a state that stopped applying")
