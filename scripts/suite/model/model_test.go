package model_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/raft"

	"floe/fsm"
	"floe/routing"
	"floe/scripts/suite/model"
	"floe/topics"
)

// Two programs that were written apart carry out the same logs and agree: random
// changes, refused ones, repeats and batches among them.
func TestModelAgreesWithTheState(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		state, m := fsm.New(fsm.Config{}), model.New()
		commands := []fsm.Command{{Op: fsm.Init{ClusterID: "c", Instance: "IceStorm", Version: fsm.ProgramVersion}}}
		for range 400 {
			commands = append(commands, draw(r, commands))
		}
		for i, c := range commands {
			data, err := c.Encode()
			if err != nil {
				t.Fatal(err)
			}
			index := uint64(i + 1)
			state.Apply(&raft.Log{Index: index, Data: data})
			if err := m.Apply(index, data); err != nil {
				t.Fatal(err)
			}
			want, err := model.From(state.View())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(m, want, cmpopts.IgnoreUnexported(model.Model{})); d != "" {
				t.Fatalf("seed %d, index %d, after %+v (-model +state):\n%s", seed, index, c, d)
			}
		}
	}
}

func draw(r *rand.Rand, past []fsm.Command) fsm.Command {
	if r.IntN(10) == 0 {
		again := past[r.IntN(len(past))]
		again.Repeat = true
		return again
	}
	c := fsm.Command{Op: op(r)}
	for i := range c.Request {
		c.Request[i] = byte(r.IntN(256))
	}
	if r.IntN(12) == 0 {
		c.Op = fsm.Batch{Ops: []fsm.Op{op(r), op(r)}}
	}
	return c
}

func op(r *rand.Rand) fsm.Op {
	name := func() string { return fmt.Sprintf("t%d", r.IntN(5)) }
	subscriber := topics.Identity{Name: fmt.Sprintf("s%d", r.IntN(3))}
	switch r.IntN(9) {
	case 0, 1:
		return fsm.CreateTopic{Name: name()}
	case 2:
		return fsm.DestroyTopic{Name: name()}
	case 3:
		return fsm.Link{From: name(), To: name(), Cost: int32(r.IntN(9) - 4), Replace: r.IntN(2) == 0}
	case 4:
		return fsm.Unlink{From: name(), Target: topics.Identity{Name: "topic." + name(), Category: "IceStorm"}}
	case 5:
		return fsm.Subscribe{Topic: name(), Subscription: topics.Subscription{Identity: subscriber}}
	case 6:
		return fsm.Reap{Verdicts: []fsm.Verdict{{Topic: topics.ID(r.IntN(40)), Identity: subscriber, Serial: uint64(r.IntN(60))}}}
	case 7:
		return fsm.ChangeRoutes{Blocks: []fsm.RouteBlock{{Kind: routing.Kind(1 + r.IntN(3)), Records: []fsm.RouteRecord{record(r)}}},
			If: fsm.Condition{Given: r.IntN(4) == 0, Version: uint64(r.IntN(30))}}
	}
	return fsm.Barrier{}
}

func record(r *rand.Rand) fsm.RouteRecord {
	meids := []string{fmt.Sprintf("m%d", r.IntN(4))}
	switch r.IntN(4) {
	case 0:
		return fsm.RouteRecord{Verb: routing.Assign, Owner: fmt.Sprintf("o%d:1", r.IntN(3)), MEIDs: meids}
	case 1:
		return fsm.RouteRecord{Verb: routing.Release, MEIDs: meids}
	}
	groups := [][]string{{fmt.Sprintf("a%d:1", r.IntN(3)), "b:1"}, {"c:1"}}
	return fsm.RouteRecord{Verb: routing.Route, MType: int32(1000 + r.IntN(3)), SubID: int32(r.IntN(2) - 1), Groups: groups}
}

// A large change, in parts, is the same as one in one piece; a part that is
// missing makes it void.
func TestLargeChange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	block := func() []fsm.RouteBlock {
		return []fsm.RouteBlock{{Kind: routing.TableDelta, Records: []fsm.RouteRecord{record(r)}}}
	}
	state, m := fsm.New(fsm.Config{}), model.New()
	for i, o := range []fsm.Op{
		fsm.Init{ClusterID: "c", Instance: "IceStorm", Version: fsm.ProgramVersion},
		fsm.StageRoutes{Load: 5, Part: 0, Blocks: block()}, fsm.StageRoutes{Load: 5, Part: 1, Blocks: block()},
		fsm.StageRoutes{Load: 6, Part: 0, Blocks: block()}, fsm.CommitRoutes{Load: 6, Parts: 2},
		fsm.CommitRoutes{Load: 5, Parts: 2}, fsm.CommitRoutes{Load: 6, Parts: 1},
	} {
		data, err := fsm.Command{Op: o}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		state.Apply(&raft.Log{Index: uint64(i + 1), Data: data})
		if err := m.Apply(uint64(i+1), data); err != nil {
			t.Fatal(err)
		}
		want, err := model.From(state.View())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, want, cmpopts.IgnoreUnexported(model.Model{})); d != "" {
			t.Errorf("after %T (-model +state):\n%s", o, d)
		}
	}
	if len(m.Lines())+len(m.Owners) == 0 {
		t.Error("nothing was changed")
	}
}
