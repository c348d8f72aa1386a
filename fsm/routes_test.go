package fsm_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"floe/fsm"
	"floe/routing"
	"floe/topics"
)

// routeNode is a node of a cluster that may have routes.
func routeNode() *node {
	n := emptyNode()
	n.op(fsm.Init{ClusterID: "c0", Instance: "IceStorm", Version: 3})
	return n
}

// text is the node's routes as people see them.
func (n *node) text() string { return string(n.View().Routes.State().AppendText(nil)) }

// someBlocks draws blocks over few keys and MEIDs, some of them wrong.
func someBlocks(t *rapid.T) []fsm.RouteBlock {
	endpoint := rapid.SampledFrom([]string{"a:1", "b:1", "c:1"})
	list := func(label string, least int) []string {
		return rapid.SliceOfNDistinct(endpoint, least, 2, rapid.ID).Draw(t, label)
	}
	meid := rapid.SampledFrom([]string{"g1", "g2", "g3", "g4"})
	record := rapid.Custom(func(t *rapid.T) fsm.RouteRecord {
		r := fsm.RouteRecord{Verb: routing.Verb(rapid.IntRange(1, 4).Draw(t, "verb"))}
		switch r.Verb {
		case routing.Route, routing.Unroute:
			r.MType, r.SubID = rapid.Int32Range(1, 2).Draw(t, "type"), rapid.Int32Range(-1, 0).Draw(t, "sub")
			r.Senders = list("senders", 0)
			if r.Verb == routing.Route {
				r.Groups = [][]string{list("group", 1)}
			}
		case routing.Assign:
			r.Owner = endpoint.Draw(t, "owner")
			r.MEIDs = rapid.SliceOfN(meid, 1, 3).Draw(t, "meids")
		case routing.Release:
			r.MEIDs = rapid.SliceOfN(meid, 0, 2).Draw(t, "meids") // none is refused
		}
		return r
	})
	return []fsm.RouteBlock{{Kind: routing.Kind(rapid.IntRange(1, 3).Draw(t, "block")), Records: rapid.SliceOfN(record, 0, 4).Draw(t, "records")}}
}

const twoRoutes = "newrt|start\nmse|20|-1|a:1\nmse|21|-1|b:1\nnewrt|end|2\nmeid_map|start\nmme_ar|e1:1|g1 g2\nmeid_map|end|1\n"

func TestChangeRoutes(t *testing.T) {
	n := routeNode()
	r := n.op(fsm.ChangeRoutes{Blocks: blocks(twoRoutes)})
	want := fsm.Result{Index: 2, Version: 2, Routes: 2, MEIDs: 2, Count: 4}
	if diff := cmp.Diff(r, want); diff != "" || n.text() != twoRoutes {
		t.Fatalf("load (-got +want):\n%s\n%s", diff, n.text())
	}
	digest := n.View().Digest()
	for name, step := range map[string]struct {
		op   fsm.ChangeRoutes
		kind topics.Kind
	}{
		"other version": {fsm.ChangeRoutes{Blocks: blocks(twoRoutes), If: fsm.AtVersion(1)}, fsm.ErrRoutesChanged},
		"seed":          {fsm.ChangeRoutes{Blocks: blocks(twoRoutes), If: fsm.AtVersion(0)}, fsm.ErrRoutesChanged},
		"bad record": {fsm.ChangeRoutes{Blocks: append(blocks("newrt|start\nnewrt|end\n"),
			fsm.RouteBlock{Kind: routing.MapUpdate, Records: []fsm.RouteRecord{{Verb: routing.Assign, Owner: "e1", MEIDs: []string{"x"}}}})}, fsm.ErrRoutes},
	} {
		if r := n.op(step.op); !errors.Is(r.Err(), step.kind) || n.View().Digest() != digest || n.View().Routes.Version != 2 {
			t.Errorf("%s: %v, want %v and no change", name, r.Err(), step.kind)
		}
	}
	if r := n.op(fsm.ChangeRoutes{Blocks: blocks(twoRoutes)}); r.Version != 2 || r.Count != 0 {
		t.Errorf("the same again: version %d with %d changes, want no change", r.Version, r.Count)
	}
	if r := n.op(fsm.ChangeRoutes{If: fsm.AtVersion(2), Blocks: blocks("updatert|start\ndel|20|-1\nupdatert|end|1\n")}); r.Version != r.Index || r.Routes != 1 || r.Count != 1 {
		t.Errorf("delta: %+v", r)
	}
	if n.View().Digest() == digest {
		t.Error("the digest does not cover routes")
	}
}

// A whole table that says nothing is a table all the same: a seed does not
// come after it.
func TestEmptyTableIsATable(t *testing.T) {
	n := routeNode()
	n.op(fsm.ChangeRoutes{Blocks: blocks("newrt|start\nnewrt|end|0\n")})
	if r := n.op(fsm.ChangeRoutes{Blocks: blocks(twoRoutes), If: fsm.AtVersion(0)}); !errors.Is(r.Err(), fsm.ErrRoutesChanged) {
		t.Errorf("seed: %v", r.Err())
	}
}

// M02: an MEID has one owner, the later.
func TestMEIDHasOneOwner(t *testing.T) {
	n := routeNode()
	for _, owner := range []string{"e1:1", "e2:1"} {
		n.op(fsm.ChangeRoutes{Blocks: blocks("meid_map|start\nmme_ar|" + owner + "|g1\nmeid_map|end\n")})
	}
	if got, want := n.text(), "newrt|start\nnewrt|end|0\nmeid_map|start\nmme_ar|e2:1|g1\nmeid_map|end|1\n"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestDeletedMEIDsAreRemembered(t *testing.T) {
	n := routeNode()
	n.op(fsm.ChangeRoutes{Blocks: blocks(twoRoutes)})
	r := n.op(fsm.ChangeRoutes{Blocks: blocks("meid_map|start\nmme_del|g1 g9\nmeid_map|end\n")})
	if r.Count != 1 || !slices.Equal(n.View().Routes.Gone.Since(2), []string{"g1"}) {
		t.Errorf("%d deleted, remembered %q", r.Count, n.View().Routes.Gone.Since(2))
	}
	n = restored(t, snapshotOf(t, n.State))
	if got := n.View().Routes.Gone.Since(2); !slices.Equal(got, []string{"g1"}) || n.View().Routes.Gone.Since(3) != nil {
		t.Errorf("restored: remembered %q", got)
	}
	n.op(fsm.ChangeRoutes{Blocks: blocks("meid_map|start\nmme_ar|e1:1|g1\nmeid_map|end\n")})
	if n.View().Routes.Gone.Len() != 0 {
		t.Error("an MEID that is back counts as deleted")
	}
}

// stage proposes all parts of a load.
func (n *node) stage(id uint64, parts [][]fsm.RouteBlock) {
	for i, p := range parts {
		if r := n.op(fsm.StageRoutes{Load: id, Part: i, Blocks: p}); r.Err() != nil {
			panic(r.Err())
		}
	}
}

// manyRoutes is a text that takes several parts.
func manyRoutes(entries, meids int) string {
	var b strings.Builder
	b.WriteString("newrt|start\n")
	for i := range entries {
		fmt.Fprintf(&b, "mse|%d|%d|10.1.%d.%d:4560\n", 100+i%30_000, i/30_000, i/250%250, i%250)
	}
	fmt.Fprintf(&b, "newrt|end|%d\nmeid_map|start\n", entries)
	for i := 0; i < meids; i += 100 {
		fmt.Fprintf(&b, "mme_ar|10.2.0.%d:38000|", 1+i/100%200)
		for j := range min(100, meids-i) {
			fmt.Fprintf(&b, "gnb_001_001_%08x ", i+j)
		}
		b.WriteString("\n")
	}
	b.WriteString("meid_map|end\n")
	return b.String()
}

func warnless(text string) []fsm.RouteBlock { return blocks(strings.ReplaceAll(text, " \n", "\n")) }

func TestLargeLoadIsSeenAtOnce(t *testing.T) {
	whole := warnless(manyRoutes(9000, 25_000))
	parts := fsm.RouteParts(whole)
	if len(parts) < 3 {
		t.Fatalf("%d parts", len(parts))
	}
	for i, p := range parts {
		if b, err := (fsm.Command{Op: fsm.StageRoutes{Blocks: p}}).Encode(); err != nil || len(b) > 1<<20 {
			t.Errorf("part %d has %d bytes, %v", i, len(b), err)
		}
	}
	n, once := routeNode(), routeNode()
	for _, m := range []*node{n, once} {
		m.op(fsm.ChangeRoutes{Blocks: blocks(twoRoutes)})
	}
	n.stage(1, parts)
	if n.text() != twoRoutes || n.View().Digest() != once.View().Digest() {
		t.Fatal("a load shows before it is committed")
	}
	n = restored(t, snapshotOf(t, n.State)) // in the midst of it
	r := n.op(fsm.CommitRoutes{Load: 1, Parts: len(parts), If: fsm.AtVersion(2)})
	if r.Err() != nil || r.Version != r.Index || r.Routes != 9000 || r.MEIDs != 25_002 {
		t.Fatalf("commit: %+v, %v", r, r.Err())
	}
	once.op(fsm.ChangeRoutes{Blocks: whole})
	if n.text() != once.text() || n.View().Digest() != once.View().Digest() {
		t.Error("a load in parts gives other routes than one in one piece")
	}
	n.stage(2, parts)
	if again := n.op(fsm.CommitRoutes{Load: 2, Parts: len(parts)}); again.Version != r.Version {
		t.Errorf("the same again is version %d, want still %d", again.Version, r.Version)
	}
}

func TestLoadsThatCantBeCommitted(t *testing.T) {
	part := []fsm.RouteBlock{{Kind: routing.TableDelta, Records: []fsm.RouteRecord{{Verb: routing.Route, MType: 1, SubID: -1, Groups: [][]string{{"a:1"}}}}}}
	bad := []fsm.RouteBlock{{Kind: routing.TableDelta, Records: []fsm.RouteRecord{{Verb: 9}}}}
	tests := []struct {
		name  string
		do    func(n *node)
		parts int
		kind  topics.Kind
	}{
		{"nothing staged", func(*node) {}, 1, fsm.ErrNoLoad},
		{"a part is missing", func(n *node) { n.stage(1, [][]fsm.RouteBlock{part}) }, 2, fsm.ErrNoLoad},
		{"a bad record", func(n *node) { n.stage(1, [][]fsm.RouteBlock{bad}) }, 1, fsm.ErrRoutes},
		{"others changed the routes", func(n *node) {
			n.stage(1, [][]fsm.RouteBlock{part})
			n.op(fsm.ChangeRoutes{Blocks: blocks(twoRoutes)})
		}, 1, fsm.ErrNoLoad},
		{"too many others", func(n *node) {
			for id := range uint64(5) {
				n.stage(1+id, [][]fsm.RouteBlock{part})
			}
		}, 1, fsm.ErrNoLoad},
		{"too late", func(n *node) {
			n.stage(1, [][]fsm.RouteBlock{part})
			n.index += 4096
		}, 1, fsm.ErrNoLoad},
	}
	for _, tt := range tests {
		n := routeNode()
		tt.do(n)
		before := n.text()
		if r := n.op(fsm.CommitRoutes{Load: 1, Parts: tt.parts}); !errors.Is(r.Err(), tt.kind) || n.text() != before {
			t.Errorf("%s: %v, want %v", tt.name, r.Err(), tt.kind)
		}
	}
	n := routeNode()
	n.stage(1, [][]fsm.RouteBlock{part})
	if r := n.op(fsm.StageRoutes{Load: 1, Part: 2, Blocks: part}); !errors.Is(r.Err(), fsm.ErrNoLoad) {
		t.Errorf("a part out of turn: %v", r.Err())
	}
	n.index += 5000
	n.op(fsm.Barrier{})
	if n.View().Routes.Version != 0 || bytes.Contains(snapshotOf(t, n.State), []byte("a:1")) {
		t.Error("a load nobody commits is kept")
	}
}

func TestRoutesNeedTheirClusterVersion(t *testing.T) {
	n := newNode()
	if r := n.op(fsm.ChangeRoutes{Blocks: blocks(twoRoutes)}); !errors.Is(r.Err(), fsm.ErrVersion) {
		t.Errorf("at version 1: %v, want %v", r.Err(), fsm.ErrVersion)
	}
	n.op(fsm.RaiseVersion{Version: 2})
	if r, err := n.View().Try(fsm.ChangeRoutes{Blocks: blocks(twoRoutes)}); err != nil || r.Err() != nil || n.View().Routes.Version != 0 {
		t.Errorf("try: %v, %v", err, r.Err())
	}
	if r := n.op(fsm.ChangeRoutes{Blocks: blocks(twoRoutes)}); r.Err() != nil {
		t.Errorf("at version 2: %v", r.Err())
	}
}
