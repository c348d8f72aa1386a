package fsm_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"floe/fsm"
	"floe/routing"
	"floe/routing/derive"
)

// Whatever is derived meanwhile, and wherever a snapshot was taken, a load in
// parts leads to what the same load in one piece leads to.
func TestLoadBesideFactsInParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inParts, whole := appNode(), appNode()
		both := func(op fsm.Op) { inParts.op(op); whole.op(op) }
		both(fsm.ChangeRoutes{Blocks: someBlocks(t)})
		for range rapid.IntRange(0, 3).Draw(t, "facts before") {
			both(anyFacts(t))
		}
		var all []fsm.RouteBlock
		parts := rapid.IntRange(1, 5).Draw(t, "parts")
		hint := rapid.SampledFrom([]int{0, 3, 100_000}).Draw(t, "hint")
		for i := range parts {
			part := someBlocks(t)
			all = append(all, part...)
			stage := fsm.StageRoutes{Load: 1, Part: i, Blocks: part}
			if i == 0 {
				stage.MEIDs = hint
			}
			inParts.op(stage)
			whole.op(fsm.Barrier{}) // so that versions are equal
			for range rapid.IntRange(0, 2).Draw(t, "facts between") {
				both(anyFacts(t))
			}
			if rapid.IntRange(0, 4).Draw(t, "restore") == 0 {
				inParts = restored(t, snapshotOf(t, inParts.State))
			}
		}
		before := inParts.View().Digest()
		got, want := inParts.op(fsm.CommitRoutes{Load: 1, Parts: parts}), whole.op(fsm.ChangeRoutes{Blocks: all})
		if got.Version != want.Version || !sameRoutes(inParts, whole) {
			t.Fatalf("in parts: %v\n%s\nwhole: %v\n%s", got.Err(), inParts.text(), want.Err(), whole.text())
		}
		if want.Err() != nil && (got.Err() == nil || inParts.View().Digest() != before) {
			t.Fatalf("refused whole (%v), in parts %v", want.Err(), got.Err())
		}
		both(anyFacts(t)) // the union is one to go on from
		if !sameRoutes(inParts, whole) {
			t.Fatalf("after more facts, in parts:\n%s\nwhole:\n%s", inParts.text(), whole.text())
		}
	})
}

// sameRoutes compares what messages go by, with its digest, and what was
// loaded.
func sameRoutes(a, b *node) bool {
	x, y := a.View().Routes, b.View().Routes
	return a.text() == b.text() && x.State().Digest() == y.State().Digest() && x.Loaded.Digest() == y.Loaded.Digest()
}

// Who reads while a load is on its way has the routes as they were, and a
// View kept from before it for good.
func TestReadersSeeALoadWholeOrNotAtAll(t *testing.T) {
	n := appNode()
	n.op(facts(derive.Change{Kind: derive.PutE2T, E2T: "e:1", RANs: []string{"gnb_001_001_00000007"}}))
	n.op(fsm.ChangeRoutes{Blocks: blocks(twoRoutes)})
	kept, before := n.View(), n.text()
	parts := fsm.RouteParts(warnless(manyRoutes(9000, 25_000)))
	over, mixed := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(mixed)
		for {
			s := n.View().Routes.State()
			if routes, meids := s.Table.Len(), s.MEIDs.Len(); !(routes == 2 && meids == 3) && !(routes == 9000 && meids == 25_002) {
				mixed <- fmt.Sprintf("%d routes and %d MEIDs", routes, meids)
				return
			}
			if o, _ := s.MEIDs.Owner("gnb_001_001_00000007"); o != "e:1" {
				mixed <- "the derived owner is " + o
				return
			}
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	n.stage(1, parts)
	r := n.op(fsm.CommitRoutes{Load: 1, Parts: len(parts)})
	close(over)
	if seen, bad := <-mixed; bad || r.Err() != nil {
		t.Errorf("a reader saw %s; %v", seen, r.Err())
	}
	if got := string(kept.Routes.State().AppendText(nil)); got != before {
		t.Errorf("a View from before the load has changed to\n%s", got)
	}
}

// A part that can't be carried out is found out of turn, and refuses all that
// comes after it.
func TestBadPartRefusesTheRest(t *testing.T) {
	n := routeNode()
	good := []fsm.RouteBlock{{Kind: routing.MapUpdate, Records: []fsm.RouteRecord{{Verb: routing.Assign, Owner: "e1:1", MEIDs: []string{"g1"}}}}}
	bad := []fsm.RouteBlock{{Kind: routing.TableDelta, Records: []fsm.RouteRecord{{Verb: 9}}}}
	n.stage(1, [][]fsm.RouteBlock{good, bad})
	n = restored(t, snapshotOf(t, n.State))
	if r, err := n.View().Try(fsm.StageRoutes{Load: 1, Part: 2, Blocks: good}); err != nil || r.Err() != nil {
		t.Errorf("a trial waits for a part: %v, %v", r.Err(), err)
	}
	for _, op := range []fsm.Op{fsm.StageRoutes{Load: 1, Part: 2, Blocks: good}, fsm.CommitRoutes{Load: 1, Parts: 2}} {
		if r := n.op(op); !errors.Is(r.Err(), fsm.ErrRoutes) {
			t.Errorf("%T: %v", op, r.Err())
		}
	}
}
