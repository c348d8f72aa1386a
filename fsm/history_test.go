package fsm_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/raft"
	"pgregory.net/rapid"

	"floe/fsm"
	"floe/routing"
	"floe/routing/derive"
	"floe/topics"
)

// historyNode is a node of a cluster that remembers changes.
func historyNode() *node {
	n := emptyNode()
	n.op(fsm.Init{ClusterID: "c0", Instance: "IceStorm", Version: 3})
	return n
}

// last is the newest change of a node's history.
func (n *node) last() *fsm.Change {
	all, _ := n.View().History.After(0)
	return all[len(all)-1]
}

func TestEveryChangeThatWasAskedForIsRemembered(t *testing.T) {
	n := historyNode()
	n.do(fsm.Command{Op: fsm.CreateTopic{Name: "a"}, Time: 7, From: "http 127.0.0.1:5"})
	want := &fsm.Change{Index: 2, Time: 7, From: "http 127.0.0.1:5", Kind: fsm.KindCreateTopic, Topics: []fsm.TopicChange{{Name: "a", ID: 1, Made: true}}}
	if diff := cmp.Diff(n.last(), want); diff != "" {
		t.Error(diff)
	}
	steps := []struct {
		op   fsm.Op
		want fsm.Change
	}{
		{fsm.CreateTopic{Name: "b"}, fsm.Change{Topics: []fsm.TopicChange{{Name: "b", ID: 2, Made: true}}}},
		{fsm.Link{From: "a", To: "b", Cost: 5}, fsm.Change{Links: []fsm.LinkChange{{From: "a", To: "b", Is: &topics.Link{To: 2, Cost: 5, Serial: 3}}}}},
		{fsm.Link{From: "a", To: "b", Cost: 6, Replace: true}, fsm.Change{Links: []fsm.LinkChange{{From: "a", To: "b",
			Was: &topics.Link{To: 2, Cost: 5, Serial: 3}, Is: &topics.Link{To: 2, Cost: 6, Serial: 3}}}}},
		{fsm.Subscribe{Topic: "b", Subscription: topics.Subscription{Identity: topics.Identity{Name: "s"}, Proxy: []byte{1}}},
			fsm.Change{Subscriptions: []fsm.SubscriptionChange{{Topic: "b", Identity: topics.Identity{Name: "s"}, Made: true}}}},
		{fsm.DestroyTopic{Name: "b"}, fsm.Change{
			Topics: []fsm.TopicChange{{Name: "b", ID: 2}},
			Links:  []fsm.LinkChange{{From: "a", To: "b", Was: &topics.Link{To: 2, Cost: 6, Serial: 3}}},
			Subscriptions: []fsm.SubscriptionChange{{Topic: "b", Identity: topics.Identity{Name: "s"},
				Was: &topics.Subscription{Identity: topics.Identity{Name: "s"}, Proxy: []byte{1}, Serial: 4}}}}},
		{fsm.ChangeRoutes{Blocks: blocks("updatert|start\nmse|7|-1|x:1\nupdatert|end\nmeid_map|start\nmme_ar|o:1|m1\nmeid_map|end\n")}, fsm.Change{
			NRoutes: 1, NMEIDs: 1,
			Routes: []fsm.RouteChange{{MType: 7, SubID: -1, Is: []fsm.RouteRecord{{Verb: routing.Route, MType: 7, SubID: -1, Groups: [][]string{{"x:1"}}}}}},
			MEIDs:  []fsm.MEIDChange{{MEID: "m1", Is: "o:1"}}}},
		{fsm.SetRelay{On: true}, fsm.Change{Name: "on"}},
		{fsm.SetCluster{Cluster: fsm.Peer{Name: "east", ID: "c9"}}, fsm.Change{Name: "east"}},
		{fsm.SetToken{Token: fsm.Token{Name: "ci", Role: fsm.RoleRead, Hash: fsm.HashToken("x"), Made: 1}}, fsm.Change{Name: "ci"}},
	}
	for _, s := range steps {
		if r := n.op(s.op); r.Err() != nil {
			t.Fatalf("%+v: %v", s.op, r.Err())
		}
		s.want.Index, s.want.Kind = n.index, s.op.Kind()
		if diff := cmp.Diff(n.last(), &s.want, cmpopts.IgnoreUnexported(fsm.RouteRecord{})); diff != "" {
			t.Errorf("%+v (-got +want):\n%s", s.op, diff)
		}
	}
	before := n.View().History.Len()
	for _, op := range []fsm.Op{
		fsm.CreateTopic{Name: "a"}, fsm.Barrier{}, fsm.AckApps{}, fsm.Unsubscribe{Topic: "a", Identity: topics.Identity{Name: "no"}},
		fsm.ChangeRoutes{Blocks: blocks("updatert|start\nmse|7|-1|x:1\nupdatert|end\n")}, fsm.Reap{Verdicts: []fsm.Verdict{{Topic: 1, Serial: 99}}},
	} {
		n.op(op)
	}
	if got := n.View().History.Len(); got != before {
		t.Errorf("what changed nothing made %d changes; the last is %+v", got-before, n.last())
	}
}

// Members and what nodes remove are there, too, for those who watch.
func TestWhatNodesChangeIsMarked(t *testing.T) {
	n := historyNode()
	n.op(fsm.CreateTopic{Name: "a"})
	r := n.op(fsm.Subscribe{Topic: "a", Subscription: topics.Subscription{Identity: topics.Identity{Name: "s"}}})
	n.op(fsm.Reap{Verdicts: []fsm.Verdict{{Topic: 1, Identity: topics.Identity{Name: "s"}, Serial: r.Serial}}})
	if c := n.last(); !c.ByNode || c.Kind != fsm.KindReap || len(c.Subscriptions) != 1 || c.Subscriptions[0].Made {
		t.Errorf("got %+v", c)
	}
	n.index++
	n.StoreConfiguration(n.index, raft.Configuration{Servers: []raft.Server{{ID: "n1", Suffrage: raft.Voter}, {ID: "n2", Suffrage: raft.Nonvoter}}})
	n.index++
	n.StoreConfiguration(n.index, raft.Configuration{Servers: []raft.Server{{ID: "n2", Suffrage: raft.Voter}}})
	if diff := cmp.Diff(n.last(), &fsm.Change{Index: n.index, ByNode: true, Servers: []fsm.ServerChange{{ID: "n1", Was: "voter"}, {ID: "n2", Was: "non-voter", Is: "voter"}}}); diff != "" {
		t.Error(diff)
	}
	m := fsm.Member{ID: "n1", Incarnation: 1, Supports: 3}
	n.op(fsm.SetMember{Member: m})
	at := n.index
	n.op(fsm.SetMember{Member: m})
	if c := n.last(); c.Index != at || c.Name != "n1" {
		t.Errorf("got %+v, want one of n1 at %d", c, at)
	}
}

// Programs that know no history would write other snapshots.
func TestHistoryBeginsWithItsClusterVersion(t *testing.T) {
	n := newNode()
	n.op(fsm.CreateTopic{Name: "a"})
	if n.View().History.Len() != 0 {
		t.Error("a cluster of version 1 remembers changes")
	}
	n.op(fsm.RaiseVersion{Version: 3})
	h := n.View().History
	if _, whole := h.After(1); whole || h.Floor() != 2 || h.Len() != 1 {
		t.Errorf("the history begins after %d with %d changes, want 2 and 1", h.Floor(), h.Len())
	}
	if _, whole := h.After(2); !whole {
		t.Error("it is not whole from where it begins")
	}
}

func TestHistoryIsBounded(t *testing.T) {
	n := historyNode()
	for i := range fsm.MaxChanges + 10 {
		n.op(fsm.SetRelay{On: i%2 == 0})
	}
	h := n.View().History
	if h.Len() != fsm.MaxChanges || h.Floor() != n.index-fsm.MaxChanges {
		t.Errorf("%d changes after %d, want %d after %d", h.Len(), h.Floor(), fsm.MaxChanges, n.index-fsm.MaxChanges)
	}
	if all, whole := h.After(h.Floor()); !whole || all[0].Index != h.Floor()+1 {
		t.Errorf("whole %t, first %d", whole, all[0].Index)
	}
	if some, whole := h.After(n.index - 2); !whole || len(some) != 2 {
		t.Errorf("whole %t, %d changes, want 2", whole, len(some))
	}
	back := restored(t, snapshotOf(t, n.State))
	if got := back.View().History; got.Len() != h.Len() || got.Floor() != h.Floor() {
		t.Errorf("restored: %d changes after %d", got.Len(), got.Floor())
	}
}

// largeTable is a table of n routes.
func largeTable(n int, endpoint string) []fsm.RouteBlock {
	var b strings.Builder
	b.WriteString("newrt|start\n")
	for i := range n {
		fmt.Fprintf(&b, "mse|%d|-1|%s:1\n", 1000+i, endpoint)
	}
	b.WriteString("newrt|end\n")
	return blocks(b.String())
}

func TestBytesOfTheHistoryAreBounded(t *testing.T) {
	n := historyNode()
	long := strings.Repeat("h", 200)
	for i := range 30 {
		n.op(fsm.ChangeRoutes{Blocks: largeTable(500, fmt.Sprint(long, i))})
	}
	if h := n.View().History; h.Floor() == 0 || h.Len() < 20 || n.last().Cut || len(n.last().Routes) != 500 {
		t.Errorf("%d changes after %d; the last has %d routes, cut %t", h.Len(), h.Floor(), len(n.last().Routes), n.last().Cut)
	}
	if size := len(snapshotOf(t, n.State)); size > 9<<20 {
		t.Errorf("a snapshot of %d bytes", size)
	}
	n.op(fsm.ChangeRoutes{Blocks: largeTable(20_000, "x")})
	if c := n.last(); !c.Cut || c.NRoutes < 20_000 || !c.OfContent() {
		t.Errorf("a large load: cut %t, %d routes", c.Cut, c.NRoutes)
	}
	if _, err := n.View().RevertTo(n.index - 1); !errors.Is(err, fsm.ErrNoRevert) {
		t.Errorf("got %v, want %v", err, fsm.ErrNoRevert)
	}
}

func TestBackupHasNoHistory(t *testing.T) {
	n := historyNode()
	n.op(fsm.CreateTopic{Name: "a"})
	var b bytes.Buffer
	if err := n.View().WriteBackup(&b); err != nil {
		t.Fatal(err)
	}
	fresh := historyNode()
	fresh.op(fsm.StageRestore{Restore: 1, Data: b.Bytes()})
	if r := fresh.op(fsm.CommitRestore{Restore: 1, Parts: 1}); r.Err() != nil {
		t.Fatal(r.Err())
	}
	h := fresh.View().History
	if _, whole := h.After(fresh.index - 2); whole || h.Len() != 1 || !fresh.last().Cut {
		t.Errorf("%d changes after %d, want the restore alone", h.Len(), h.Floor())
	}
}

// revert brings a node back to an index.
func (n *node) revert(t interface{ Fatal(...any) }, to uint64) {
	b, err := n.View().RevertTo(to)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Ops) == 0 {
		return
	}
	if r := n.op(b); r.Err() != nil {
		t.Fatal(r.Err(), b)
	}
}

// content is what a revert brings back, by name.
func content(v *fsm.View) map[string]string {
	out := map[string]string{}
	for top := range v.Graph.All() {
		out["topic "+top.Name] = ""
		for _, l := range top.Links {
			out[fmt.Sprint("link ", top.Name, v.Graph.TargetIdentity(l))] = fmt.Sprint(l.Cost)
		}
	}
	for _, key := range v.Routes.Loaded.Table.Keys() {
		for _, e := range v.Routes.Loaded.Table.Entries(key) {
			out[fmt.Sprint("route ", key)] += e.String() + " "
		}
	}
	for meid, owner := range v.Routes.Loaded.MEIDs.All() {
		out["meid "+meid] = owner
	}
	return out
}

func TestRevert(t *testing.T) {
	n := historyNode()
	n.op(fsm.CreateTopic{Name: "a"})
	n.op(fsm.CreateTopic{Name: "b"})
	n.op(fsm.Link{From: "a", To: "b", Cost: 5})
	n.op(fsm.Subscribe{Topic: "b", Subscription: topics.Subscription{Identity: topics.Identity{Name: "s"}, Proxy: []byte{1}}})
	n.op(fsm.ChangeRoutes{Blocks: blocks("newrt|start\nmse|7|-1|x:1\nmse|7,d:1|-1|y:1\nmse|8|-1|z:1\nnewrt|end\nmeid_map|start\nmme_ar|o:1|m1 m2\nmeid_map|end\n")})
	good, want := n.index, content(n.View())
	n.op(fsm.DestroyTopic{Name: "b"})
	n.op(fsm.CreateTopic{Name: "c"})
	n.op(fsm.Link{From: "a", To: "c"})
	n.op(fsm.ChangeRoutes{Blocks: blocks("newrt|start\nmse|9|-1|topic:c\nnewrt|end\nmeid_map|start\nmme_ar|o:2|m1\nmme_del|m2\nmeid_map|end\n")})
	n.op(fsm.ChangeFacts{Changes: []derive.Change{{Kind: derive.Subscribe, SubID: 9, Endpoint: "xapp:4560"}}})
	n.revert(t, good)
	if diff := cmp.Diff(content(n.View()), want); diff != "" {
		t.Errorf("brought back (-got +want):\n%s", diff)
	}
	if s := n.View().Graph.Topic("b").Subscriptions; len(s) != 1 || s[0].Identity.Name != "s" {
		t.Errorf("the subscriptions of a topic that comes back are %v", s)
	}
	if n.View().Routes.Facts.Empty() {
		t.Error("facts are gone")
	}
	if c := n.last(); c.Was != good || c.Kind != fsm.KindBatch {
		t.Errorf("the history says %+v", c)
	}
	if b, err := n.View().RevertTo(good); err != nil || len(b.Ops) != 0 {
		t.Errorf("again: %v, %v", b, err)
	}
}

// A topic that one batch destroys and makes anew is another topic, and its
// links are others.
func TestRevertOfATopicMadeAnewInOneStep(t *testing.T) {
	n := historyNode()
	for _, op := range []fsm.Op{fsm.CreateTopic{Name: "a"}, fsm.CreateTopic{Name: "b"}, fsm.Link{From: "a", To: "b", Cost: 5}} {
		n.op(op)
	}
	good, want := n.index, content(n.View())
	n.op(fsm.Batch{Ops: []fsm.Op{fsm.DestroyTopic{Name: "b"}, fsm.CreateTopic{Name: "b"}, fsm.Link{From: "a", To: "b", Cost: 9}}})
	n.revert(t, good)
	if diff := cmp.Diff(content(n.View()), want); diff != "" {
		t.Errorf("brought back (-got +want):\n%s", diff)
	}
}

func TestRevertIsRefused(t *testing.T) {
	n := historyNode()
	n.op(fsm.CreateTopic{Name: "a"})
	b, err := n.View().RevertTo(1)
	if err != nil {
		t.Fatal(err)
	}
	n.op(fsm.CreateTopic{Name: "b"})
	if r := n.op(b); !errors.Is(r.Err(), fsm.ErrChanged) || n.View().Graph.Len() != 2 {
		t.Errorf("after a change: %v, want %v", r.Err(), fsm.ErrChanged)
	}
	if _, err := n.View().RevertTo(99); !errors.Is(err, fsm.ErrNoRevert) {
		t.Errorf("to the future: %v", err)
	}
	old := newNode()
	old.op(fsm.CreateTopic{Name: "a"})
	old.op(fsm.RaiseVersion{Version: 3})
	if _, err := old.View().RevertTo(1); !errors.Is(err, fsm.ErrNoRevert) {
		t.Errorf("before the history begins: %v", err)
	}
	n.op(fsm.SetCluster{Cluster: fsm.Peer{Name: "east", ID: "c9"}})
	n.op(fsm.Link{From: "a", Remote: &topics.Remote{Identity: topics.Identity{Name: "topic.x", Category: "east"}, Cluster: "c9", Topic: 4}})
	at := n.index
	n.op(fsm.Unlink{From: "a", Target: topics.Identity{Name: "topic.x", Category: "east"}})
	n.op(fsm.DropCluster{Name: "east"})
	if _, err := n.View().RevertTo(at); !errors.Is(err, fsm.ErrNoRevert) {
		t.Errorf("to a link into an unknown cluster: %v", err)
	}
}

// Whatever happened, every index that is remembered can be gone back to, and
// snapshots keep it so.
func TestRevertToAnyIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := historyNode()
		was := map[uint64]map[string]string{n.index: content(n.View())}
		name := rapid.SampledFrom([]string{"a", "b", "c"})
		steps := rapid.IntRange(1, 25).Draw(t, "steps")
		for range steps {
			switch rapid.IntRange(0, 7).Draw(t, "step") {
			case 0:
				n.op(fsm.CreateTopic{Name: name.Draw(t, "name")})
			case 1:
				n.op(fsm.DestroyTopic{Name: name.Draw(t, "name")})
			case 2:
				n.op(fsm.Link{From: name.Draw(t, "from"), To: name.Draw(t, "to"), Cost: rapid.Int32Range(0, 3).Draw(t, "cost"), Replace: true})
			case 3:
				n.op(fsm.Unlink{From: name.Draw(t, "from"), Target: topics.Identity{Name: "topic." + name.Draw(t, "to"), Category: "IceStorm"}})
			case 4:
				to := name.Draw(t, "to")
				n.op(fsm.Batch{Ops: []fsm.Op{fsm.DestroyTopic{Name: to}, fsm.CreateTopic{Name: to}, fsm.Link{From: name.Draw(t, "from"), To: to, Cost: 9}}})
			case 5:
				n.op(fsm.ChangeRoutes{Blocks: blocks(fmt.Sprintf("updatert|start\nmse|%d|-1|x:%d\nmse|%d,s:1|-1|y:1\ndel|%d,t:1|-1\nupdatert|end\n",
					rapid.IntRange(100, 102).Draw(t, "mtype"), rapid.IntRange(1, 3).Draw(t, "port"), rapid.IntRange(100, 102).Draw(t, "mtype"), rapid.IntRange(100, 102).Draw(t, "mtype")))})
			case 6:
				n.op(fsm.ChangeRoutes{Blocks: blocks(fmt.Sprintf("newrt|start\nmse|%d|-1|x:1\nnewrt|end\nmeid_map|start\nmme_ar|o:%d|m1\nmme_del|m2\nmeid_map|end\n",
					rapid.IntRange(100, 102).Draw(t, "mtype"), rapid.IntRange(1, 3).Draw(t, "port")))})
			case 7:
				n.op(fsm.ChangeRoutes{Blocks: blocks("meid_map|start\nmme_ar|o:9|m1 m2\nmeid_map|end\n")})
			}
			was[n.index] = content(n.View())
		}
		if rapid.Bool().Draw(t, "snapshot") {
			n = restored(t, snapshotOf(t, n.State))
		}
		for range 3 {
			to := rapid.Uint64Range(1, uint64(steps)).Draw(t, "to")
			n.revert(t, to)
			if diff := cmp.Diff(content(n.View()), was[to]); diff != "" {
				t.Fatalf("back at %d (-got +want):\n%s", to, diff)
			}
			if again := restored(t, snapshotOf(t, n.State)); !bytes.Equal(snapshotOf(t, again.State), snapshotOf(t, n.State)) {
				t.Fatal("restored, the snapshot is another one")
			}
		}
	})
}
