package fsm_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"floe/fsm"
	"floe/routing"
	"floe/routing/derive"
)

func anyFacts(t *rapid.T) fsm.Op {
	e2t := rapid.SampledFrom([]string{"e:1", "f:1"}).Draw(t, "e2t")
	ran := rapid.SampledFrom([]string{"g1", "g2", "g3"}).Draw(t, "ran")
	change := derive.Change{E2T: e2t, RANs: []string{ran}}
	switch rapid.IntRange(0, 5).Draw(t, "fact") {
	case 0:
		change.Kind = derive.PutE2T
	case 1:
		change = derive.Change{Kind: derive.DropE2T, E2T: e2t}
	case 2:
		change.Kind = derive.Associate
	case 3:
		change.Kind = derive.Dissociate
	default:
		kind := rapid.SampledFrom([]derive.Kind{derive.AddRoute, derive.DeleteRoute}).Draw(t, "route")
		change = derive.Change{Kind: kind, Route: &derive.Route{MType: rapid.Int32Range(20, 22).Draw(t, "mtype"), SubID: -1, Groups: [][]string{{e2t}}}}
	}
	return fsm.ChangeFacts{Changes: []derive.Change{change}}
}

func facts(changes ...derive.Change) fsm.ChangeFacts { return fsm.ChangeFacts{Changes: changes} }

// Loaded and derived routes are kept apart: each is replaced alone, and what
// messages go by is their union.
func TestDerivedRoutesStandBesideLoadedOnes(t *testing.T) {
	n := appNode()
	route := func(mtype, sub int32) string {
		if e := n.View().Routes.State().Table.Lookup(mtype, sub, routing.Sender{}); e != nil && len(e.Groups) > 0 {
			return e.Groups[0][0]
		}
		return ""
	}
	owner := func(meid string) string { o, _ := n.View().Routes.State().MEIDs.Owner(meid); return o }
	load := func(text string) fsm.Result { return n.op(fsm.ChangeRoutes{Blocks: blocks(text)}) }
	load("newrt|start\nmse|5|-1|l:1\nmse|6|-1|l:1\nnewrt|end|2\nmeid_map|start\nmme_ar|l:1|g1 g2\nmeid_map|end|1\n")
	was := n.View().TableVersion()
	n.op(facts(
		derive.Change{Kind: derive.AddRoute, Route: &derive.Route{MType: 6, SubID: -1, Groups: [][]string{{"h:1"}}}},
		derive.Change{Kind: derive.PutE2T, E2T: "e:1", RANs: []string{"g2", "g3"}},
	))
	if route(5, -1) != "l:1" || route(6, -1) != "h:1" || owner("g1") != "l:1" || owner("g2") != "e:1" || owner("g3") != "e:1" || n.View().TableVersion() <= was {
		t.Errorf("the union is\n%s", n.View().Routes.State().AppendText(nil))
	}
	load("newrt|start\nmse|7|-1|m:1\nnewrt|end|1\n")
	if route(5, -1) != "" || route(6, -1) != "h:1" || route(7, -1) != "m:1" {
		t.Errorf("after another load\n%s", n.View().Routes.State().AppendText(nil))
	}
	n.op(facts(derive.Change{Kind: derive.DropE2T, E2T: "e:1"}))
	if v := n.View(); owner("g2") != "l:1" || owner("g3") != "" || !v.Routes.Gone.Has("g3") || v.Routes.Gone.Has("g2") {
		t.Errorf("g2 %q, g3 %q, gone %d", owner("g2"), owner("g3"), v.Routes.Gone.Len())
	}
}

func TestFactsThatCantBe(t *testing.T) {
	n := appNode()
	n.op(fsm.SetMember{Member: fsm.Member{ID: "n1", Incarnation: 1, Addresses: map[string][]string{"rmr": {"f1:4560"}}}})
	before := n.View().Digest()
	for name, test := range map[string]struct {
		change derive.Change
		want   error
	}{
		"no address":      {derive.Change{Kind: derive.PutE2T, E2T: "e"}, fsm.ErrRoutes},
		"own listener":    {derive.Change{Kind: derive.PutE2T, E2T: "f1:4560", RANs: []string{"g"}}, fsm.ErrRoutes},
		"moved meanwhile": {derive.Change{Kind: derive.SetE2Ts, Base: "x"}, fsm.ErrRoutesChanged},
	} {
		if r := n.op(facts(test.change)); !errors.Is(r.Err(), test.want) || n.View().Digest() != before {
			t.Errorf("%s: %v, want %v", name, r.Err(), test.want)
		}
	}
	if r := newNode().op(facts()); !errors.Is(r.Err(), fsm.ErrVersion) {
		t.Errorf("in an older cluster: %v", r.Err())
	}
}

// A seed is for a cluster into which nothing was loaded, whatever is derived.
func TestDerivedRoutesAreNoLoad(t *testing.T) {
	n := appNode()
	n.op(facts(derive.Change{Kind: derive.PutE2T, E2T: "e:1", RANs: []string{"g2"}}))
	late := restored(t, snapshotOf(t, n.State))
	for name, n := range map[string]*node{"as it was": n, "restored": late} {
		seed := fsm.ChangeRoutes{Blocks: blocks("newrt|start\nnewrt|end|0\n"), If: fsm.AtVersion(0)}
		if r := n.op(seed); r.Err() != nil || n.View().Routes.LoadedAt == 0 {
			t.Errorf("%s: %v", name, r.Err())
		}
		if r := n.op(seed); !errors.Is(r.Err(), fsm.ErrRoutesChanged) {
			t.Errorf("%s, again: %v", name, r.Err())
		}
	}
}
