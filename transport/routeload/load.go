package routeload

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"floe/fsm"
	"floe/routing"
)

// tries is how often a large load is begun anew because others changed the
// routes meanwhile.
const tries = 5

// Group is the replicated state; *cluster.Node is one.
type Group interface {
	Propose(ctx context.Context, op fsm.Op, from string) (fsm.Result, error)
	Read(ctx context.Context) (*fsm.View, error)
}

// Loader loads into one group. It is safe for concurrent use; large loads
// take turns.
type Loader struct {
	group Group
	turn  chan struct{}
}

// New returns a loader.
func New(group Group) *Loader { return &Loader{group: group, turn: make(chan struct{}, 1)} }

// Load carries out an update, whole or not at all, if the condition holds.
// from says who asked, for people. Errors are those of Propose and Read; a
// *fsm.Refusal of kind [fsm.ErrRoutesChanged] says that the condition does not
// hold, one of kind [fsm.ErrNoLoad] that others kept changing the routes.
func (l *Loader) Load(ctx context.Context, u routing.Update, c fsm.Condition, from string) (fsm.Result, error) {
	blocks := fsm.RouteBlocks(u)
	parts := fsm.RouteParts(blocks)
	if len(parts) == 1 {
		return l.group.Propose(ctx, fsm.ChangeRoutes{Blocks: parts[0], If: c}, from)
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return fsm.Result{}, ctx.Err()
	}
	stages := make([]fsm.StageRoutes, len(parts))
	for i, part := range parts {
		stages[i] = fsm.StageRoutes{Part: i, Blocks: part}
	}
	stages[0].MEIDs = fsm.MEIDsNamed(blocks)
	var err error
	for range tries {
		var r fsm.Result
		if r, err = l.once(ctx, stages, c, from); !errors.Is(err, fsm.ErrNoLoad) {
			return r, err
		}
	}
	return fsm.Result{}, err
}

func (l *Loader) once(ctx context.Context, stages []fsm.StageRoutes, c fsm.Condition, from string) (fsm.Result, error) {
	if err := l.holds(ctx, c); err != nil {
		return fsm.Result{}, err
	}
	id := newID()
	for _, stage := range stages {
		stage.Load = id
		if _, err := l.group.Propose(ctx, stage, from); err != nil {
			return fsm.Result{}, notMade(err)
		}
	}
	return l.group.Propose(ctx, fsm.CommitRoutes{Load: id, Parts: len(stages), If: c}, from)
}

// holds looks at the condition before all the work, as well as the commit
// does after it.
func (l *Loader) holds(ctx context.Context, c fsm.Condition) error {
	v, err := l.group.Read(ctx)
	if err != nil {
		return err
	}
	return v.Routes.Check(c)
}

// notMade is the error of a part. Whatever became of it, the routes are as
// they were: the load was not committed.
func notMade(err error) error {
	var refused *fsm.Refusal
	if errors.As(err, &refused) {
		return err
	}
	return &NotMade{Cause: err}
}

// NotMade says that a load was given up before its last command was sent: it
// changed nothing and never will.
type NotMade struct{ Cause error }

// Error says so, and why.
func (e *NotMade) Error() string { return fmt.Sprintf("nothing was changed: %v", e.Cause) }

// Unwrap returns the cause.
func (e *NotMade) Unwrap() error { return e.Cause }

func newID() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}
