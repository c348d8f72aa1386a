package routeload_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/raft"

	"floe/fsm"
	"floe/routing"
	"floe/transport/routeload"
)

// group is a state without Raft that notes what it is sent.
type group struct {
	*fsm.State
	mu     sync.Mutex
	index  uint64
	ops    []fsm.Op
	before func(op fsm.Op) error // runs before each op
}

func newGroup() *group {
	g := &group{State: fsm.New(fsm.Config{})}
	_, _ = g.Propose(context.Background(), fsm.Init{ClusterID: "c", Version: 2}, "")
	return g
}

func (g *group) Propose(ctx context.Context, op fsm.Op, _ string) (fsm.Result, error) {
	if g.before != nil {
		if err := g.before(op); err != nil {
			return fsm.Result{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return fsm.Result{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	b, err := fsm.Command{Op: op}.Encode()
	if err != nil {
		return fsm.Result{}, err
	}
	g.index++
	g.ops = append(g.ops, op)
	r := g.Apply(&raft.Log{Index: g.index, Data: b}).(fsm.Result)
	return r, r.Err()
}

func (g *group) Read(context.Context) (*fsm.View, error) { return g.View(), nil }

func update(t *testing.T, text string) routing.Update {
	t.Helper()
	p := routing.Parse(text, routing.Options{})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return p.Update
}

func table(entries int) string {
	var b strings.Builder
	b.WriteString("newrt|start\n")
	for i := range entries {
		fmt.Fprintf(&b, "mse|%d|-1|10.0.0.%d:4560\n", 1000+i, i%250)
	}
	fmt.Fprintf(&b, "newrt|end|%d\n", entries)
	return b.String()
}

var setOne = fsm.ChangeRoutes{Blocks: []fsm.RouteBlock{{Kind: routing.MapUpdate, Records: []fsm.RouteRecord{{Verb: routing.Assign, Owner: "e1:1", MEIDs: []string{"g1"}}}}}}

func TestSmallAndLarge(t *testing.T) {
	g := newGroup()
	l := routeload.New(g)
	for _, entries := range []int{3, 30_000} {
		r, err := l.Load(t.Context(), update(t, table(entries)), fsm.Condition{}, "")
		if err != nil || r.Routes != entries || g.View().Routes.Loaded.Table.Len() != entries {
			t.Errorf("%d entries: %+v, %v", entries, r, err)
		}
	}
	if n := len(g.ops); n < 5 {
		t.Errorf("%d commands, want the large one in parts", n)
	}
	_, err := l.Load(t.Context(), update(t, table(30_000)), fsm.AtVersion(1), "")
	if !errors.Is(err, fsm.ErrRoutesChanged) {
		t.Errorf("at another version: %v", err)
	}
}

// Others may change the routes while a large load is under way: it begins anew.
func TestLargeLoadBeginsAnew(t *testing.T) {
	g := newGroup()
	once := sync.Once{}
	g.before = func(op fsm.Op) error {
		if s, ok := op.(fsm.StageRoutes); ok && s.Part == 1 {
			once.Do(func() { _, _ = g.Propose(t.Context(), setOne, "") })
		}
		return nil
	}
	r, err := routeload.New(g).Load(t.Context(), update(t, table(30_000)), fsm.Condition{}, "")
	if err != nil || r.Routes != 30_000 || r.MEIDs != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestLargeLoadIsGivenUp(t *testing.T) {
	g := newGroup()
	n := 0
	g.before = func(op fsm.Op) error { // somebody is quicker, again and again
		if s, ok := op.(fsm.StageRoutes); ok && s.Part == 1 {
			n++
			other := setOne
			other.Blocks = []fsm.RouteBlock{{Kind: routing.MapUpdate, Records: []fsm.RouteRecord{{Verb: routing.Assign, Owner: fmt.Sprintf("e%d:1", n), MEIDs: []string{"g1"}}}}}
			_, err := g.Propose(t.Context(), other, "")
			return err
		}
		return nil
	}
	_, err := routeload.New(g).Load(t.Context(), update(t, table(30_000)), fsm.Condition{}, "")
	if !errors.Is(err, fsm.ErrNoLoad) || n != 5 || g.View().Routes.Loaded.Table.Len() != 0 {
		t.Errorf("after %d tries: %v", n, err)
	}

	down := errors.New("no quorum")
	g.before = func(op fsm.Op) error {
		if s, ok := op.(fsm.StageRoutes); ok && s.Part == 1 {
			return down
		}
		return nil
	}
	var notMade *routeload.NotMade
	_, err = routeload.New(g).Load(t.Context(), update(t, table(30_000)), fsm.Condition{}, "")
	if !errors.As(err, &notMade) || !errors.Is(err, down) || g.View().Routes.Loaded.Table.Len() != 0 {
		t.Errorf("given up: %v", err)
	}
}
