package fsm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
	"pgregory.net/rapid"

	"floe/fsm"
	"floe/topics"
)

// node is a state with a log of its own making.
type node struct {
	*fsm.State
	index uint64
}

func emptyNode() *node { return &node{State: fsm.New(fsm.Config{})} }

// newNode is a node of a cluster that has its name.
func newNode() *node {
	n := emptyNode()
	n.op(fsm.Init{ClusterID: "c0", Instance: "IceStorm", Version: 1})
	return n
}

func entry(index uint64, c fsm.Command) *raft.Log {
	b, err := c.Encode()
	if err != nil {
		panic(err)
	}
	return &raft.Log{Index: index, Term: 1, Type: raft.LogCommand, Data: b}
}

func (n *node) do(c fsm.Command) fsm.Result {
	n.index++
	return n.Apply(entry(n.index, c)).(fsm.Result)
}

func (n *node) op(op fsm.Op) fsm.Result { return n.do(fsm.Command{Op: op}) }

type memorySink struct{ bytes.Buffer }

func (*memorySink) Close() error  { return nil }
func (*memorySink) Cancel() error { return nil }
func (*memorySink) ID() string    { return "test" }

func snapshotOf(t interface{ Fatal(...any) }, s *fsm.State) []byte {
	snap, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var sink memorySink
	if err := snap.Persist(&sink); err != nil {
		t.Fatal(err)
	}
	return sink.Bytes()
}

func restored(t interface{ Fatal(...any) }, b []byte) *node {
	n := emptyNode()
	if err := n.Restore(io.NopCloser(bytes.NewReader(b))); err != nil {
		t.Fatal(err)
	}
	n.index = n.View().Index
	return n
}

func TestRepeatedCommandTakesEffectOnce(t *testing.T) {
	n := newNode()
	c := fsm.Command{Request: fsm.RequestID{1}, Op: fsm.CreateTopic{Name: "a"}}
	first := n.do(c)
	c.Repeat = true
	if again := n.do(c); !again.Equal(first) || first.Refused != nil {
		t.Errorf("repeated: %+v, want the first result %+v", again, first)
	}
	if r := n.do(fsm.Command{Request: fsm.RequestID{2}, Op: fsm.CreateTopic{Name: "a"}}); !errors.Is(r.Err(), topics.ErrExists) {
		t.Errorf("another request: %v, want %v", r.Err(), topics.ErrExists)
	}
}

func TestRepeatOfAForgottenRequestIsNotApplied(t *testing.T) {
	n := newNode()
	late := fsm.Command{Request: fsm.RequestID{0xff}, Base: n.View().Index, Op: fsm.CreateTopic{Name: "late"}}
	for i := range 10_000 {
		n.do(fsm.Command{Request: fsm.RequestID{1, byte(i), byte(i >> 8)}, Op: fsm.Barrier{}})
	}
	late.Repeat = true
	if r := n.do(late); !errors.Is(r.Err(), fsm.ErrForgotten) || n.View().Graph.Topic("late") != nil {
		t.Errorf("late repeat: %v, want %v and no topic", r.Err(), fsm.ErrForgotten)
	}
	late.Repeat = false
	if r := n.do(late); r.Err() != nil {
		t.Errorf("a first attempt is applied however old its base is: %v", r.Err())
	}
}

func TestBatchIsAllOrNothing(t *testing.T) {
	n := newNode()
	n.op(fsm.CreateTopic{Name: "a"})
	before := n.View()
	r := n.op(fsm.Batch{Ops: []fsm.Op{fsm.CreateTopic{Name: "b"}, fsm.Link{From: "a", To: "b", Cost: 3}, fsm.CreateTopic{Name: "a"}}})
	if !errors.Is(r.Err(), topics.ErrExists) || r.Refused.Part != 3 {
		t.Errorf("batch: %v, want part 3 refused as %v", r.Err(), topics.ErrExists)
	}
	if v := n.View(); v.Digest() != before.Digest() || v.Graph.Len() != 1 {
		t.Error("a refused batch changed the state")
	}
	r = n.op(fsm.Batch{Ops: []fsm.Op{fsm.CreateTopic{Name: "b"}, fsm.Link{From: "a", To: "b", Cost: 3}}})
	if r.Err() != nil || len(r.Parts) != 2 || r.Parts[0].Topic == 0 || r.Parts[1].Serial == 0 {
		t.Errorf("batch: %+v", r)
	}
}

func TestReapHitsOnlyTheIncarnationItNames(t *testing.T) {
	n := newNode()
	n.op(fsm.CreateTopic{Name: "a"})
	sub := fsm.Subscribe{Topic: "a", Subscription: topics.Subscription{Identity: topics.Identity{Name: "s"}}}
	topic := n.View().Graph.Topic("a").ID
	old := fsm.Verdict{Topic: topic, Identity: topics.Identity{Name: "s"}, Serial: n.op(sub).Serial}
	n.op(fsm.Unsubscribe{Topic: "a", Identity: topics.Identity{Name: "s"}})
	current := old
	current.Serial = n.op(sub).Serial
	if r := n.op(fsm.Reap{Verdicts: []fsm.Verdict{old}}); r.Count != 0 {
		t.Error("an old verdict removed the new subscription")
	}
	if r := n.op(fsm.Reap{Verdicts: []fsm.Verdict{current, current}}); r.Count != 1 {
		t.Errorf("removed %d, want 1", r.Count)
	}
}

func TestReapRemovesARemoteLink(t *testing.T) {
	n := newNode()
	n.op(fsm.CreateTopic{Name: "a"})
	remote := topics.Remote{Identity: topics.Identity{Name: "topic.x", Category: "Other"}, Proxy: []byte{1}}
	r := n.op(fsm.Link{From: "a", Remote: &remote, Cost: 2})
	topic := n.View().Graph.Topic("a").ID
	if got := n.op(fsm.Reap{Verdicts: []fsm.Verdict{{Topic: topic, Identity: remote.Identity, Serial: r.Serial}}}); got.Count != 1 {
		t.Errorf("removed %d, want 1", got.Count)
	}
}

func TestMembersAndClusters(t *testing.T) {
	n := emptyNode()
	if r := n.op(fsm.CreateTopic{Name: "early"}); !errors.Is(r.Err(), fsm.ErrUnnamed) {
		t.Errorf("a change before the cluster has its name: %v, want %v", r.Err(), fsm.ErrUnnamed)
	}
	n.op(fsm.Init{ClusterID: "c1", Instance: "Storm", Version: 1})
	if r := n.op(fsm.Init{ClusterID: "c2"}); !errors.Is(r.Err(), fsm.ErrInitialised) {
		t.Errorf("second init: %v", r.Err())
	}
	n.op(fsm.SetMember{Member: fsm.Member{ID: "n2", Incarnation: 2, Addresses: map[string][]string{"peer": {"127.0.0.2:7400"}}}})
	n.op(fsm.SetMember{Member: fsm.Member{ID: "n1", Incarnation: 1}})
	if r := n.op(fsm.SetMember{Member: fsm.Member{ID: "n2", Incarnation: 1}}); !errors.Is(r.Err(), fsm.ErrStale) {
		t.Errorf("old incarnation: %v", r.Err())
	}
	v := n.View()
	if m, _ := v.Member("n2"); m.Address("peer") != "127.0.0.2:7400" || v.Members[0].ID != "n1" || v.Graph.Instance() != "Storm" {
		t.Errorf("members %+v, instance %s", v.Members, v.Graph.Instance())
	}
	if r := n.op(fsm.DropMember{ID: "n1"}); r.Count != 1 || len(n.View().Members) != 1 {
		t.Error("n1 was not dropped")
	}
	if n.View().UserChanges != 0 {
		t.Error("node-made changes count as a user's")
	}
	n.op(fsm.CreateTopic{Name: "a"})
	n.op(fsm.SetCluster{Cluster: fsm.Peer{Name: "east", ID: "c9", Addresses: []string{"h:1"}}})
	for name, c := range map[string]struct {
		op   fsm.Op
		kind topics.Kind
	}{
		"own cluster":     {fsm.SetCluster{Cluster: fsm.Peer{Name: "me", ID: "c1"}}, fsm.ErrCluster},
		"name taken":      {fsm.SetCluster{Cluster: fsm.Peer{Name: "east", ID: "c8"}}, fsm.ErrCluster},
		"unknown cluster": {fsm.DropCluster{Name: "west"}, fsm.ErrNoCluster},
		"lower version":   {fsm.RaiseVersion{Version: 0}, fsm.ErrVersion},
	} {
		if r := n.op(c.op); !errors.Is(r.Err(), c.kind) {
			t.Errorf("%s: %v, want %v", name, r.Err(), c.kind)
		}
	}
	n.op(fsm.Link{From: "a", Remote: &topics.Remote{Identity: topics.Identity{Name: "topic.b", Category: "east"}, Cluster: "c9", Topic: 4}})
	if r := n.op(fsm.DropCluster{Name: "east"}); !errors.Is(r.Err(), fsm.ErrInUse) {
		t.Errorf("drop a cluster in use: %v", r.Err())
	}
	if n.View().UserChanges != 3 {
		t.Errorf("user changes = %d, want 3", n.View().UserChanges)
	}
}

func TestUnreadableEntryHaltsAndKeepsServing(t *testing.T) {
	var halted *fsm.Halt
	s := fsm.New(fsm.Config{OnHalt: func(h *fsm.Halt) { halted = h }})
	s.Apply(entry(1, fsm.Command{Op: fsm.Init{ClusterID: "c0", Instance: "IceStorm", Version: 1}}))
	good := entry(2, fsm.Command{Op: fsm.CreateTopic{Name: "a"}})
	bad := &raft.Log{Index: 3, Type: raft.LogCommand, Data: []byte{1, 0x80, 0xcd, 0x7f, 0xff, 0x80}}
	after := entry(4, fsm.Command{Op: fsm.CreateTopic{Name: "b"}})
	answers := s.ApplyBatch([]*raft.Log{good, bad, after})
	for i, a := range answers[1:] {
		if h, ok := a.(*fsm.Halt); !ok || h.Index != 3 || !errors.Is(h, fsm.ErrCommand) {
			t.Errorf("answer %d: %v, want a halt at entry 3", i+1, a)
		}
	}
	if v := s.View(); v.Index != 2 || v.Graph.Topic("a") == nil || v.Graph.Topic("b") != nil {
		t.Errorf("view at %d with %d topics", v.Index, v.Graph.Len())
	}
	if halted == nil || halted != s.Halted() || !strings.Contains(halted.Error(), "entry 3") {
		t.Errorf("halted: %v", halted)
	}
	if _, err := s.Snapshot(); err == nil {
		t.Error("a halted state made a snapshot")
	}
	if _, err := s.Wait(context.Background(), 4); !errors.As(err, &halted) {
		t.Errorf("wait: %v, want the halt", err)
	}
}

func TestNewerOpIsRefused(t *testing.T) {
	if r, err := (&fsm.View{ClusterID: "c0", Version: 1, Graph: topics.New("x")}).Try(fsm.CreateTopic{Name: "a"}); err != nil || r.Err() != nil {
		t.Errorf("try: %v, %v", r.Err(), err)
	}
}

func TestWait(t *testing.T) {
	n := newNode()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	got := make(chan uint64, 1)
	go func() {
		v, err := n.Wait(ctx, 3)
		if err != nil {
			t.Error(err)
		}
		got <- v.Index
	}()
	for range 3 {
		n.op(fsm.Barrier{})
	}
	if index := <-got; index < 3 {
		t.Errorf("woke at %d, want 3", index)
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := n.Wait(ended, 99); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v, want canceled", err)
	}
}

func TestConfigurationEntries(t *testing.T) {
	n := emptyNode()
	c := raft.Configuration{Servers: []raft.Server{{ID: "n2", Suffrage: raft.Nonvoter}, {ID: "n1", Suffrage: raft.Voter}}}
	n.Apply(&raft.Log{Index: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(c)})
	want := []fsm.Server{{ID: "n1", Voter: true}, {ID: "n2"}}
	if diff := cmp.Diff(n.View().Servers, want); diff != "" || n.View().Voters() != 1 || n.View().Index != 1 {
		t.Errorf("servers (-got +want):\n%s", diff)
	}
	n.StoreConfiguration(2, c)
	if n.View().Index != 2 {
		t.Error("StoreConfiguration did not move the index")
	}
}

// anyOp draws an op over few names, so that ops meet.
func anyOp() *rapid.Generator[fsm.Op] {
	name := rapid.SampledFrom([]string{"a", "b", "c", ""})
	sub := rapid.SampledFrom([]string{"s", "t"})
	single := rapid.Custom(func(t *rapid.T) fsm.Op {
		switch rapid.IntRange(0, 23).Draw(t, "kind") {
		case 10, 11, 12:
			return fsm.ChangeRoutes{Blocks: someBlocks(t), If: fsm.Condition{Given: rapid.IntRange(0, 9).Draw(t, "if") == 0, Version: 5}}
		case 13:
			return fsm.StageRoutes{Load: rapid.Uint64Range(1, 6).Draw(t, "load"), Part: rapid.IntRange(0, 1).Draw(t, "part"), Blocks: someBlocks(t)}
		case 14:
			return fsm.CommitRoutes{Load: rapid.Uint64Range(1, 6).Draw(t, "load"), Parts: rapid.IntRange(1, 2).Draw(t, "parts")}
		case 15, 16, 17, 18, 19, 20:
			return anyAppOp(t)
		case 21, 22, 23:
			return anyFacts(t)
		case 0, 1:
			return fsm.CreateTopic{Name: name.Draw(t, "name")}
		case 2:
			return fsm.DestroyTopic{Name: name.Draw(t, "name"), Force: rapid.Bool().Draw(t, "force")}
		case 3, 4:
			return fsm.Link{From: name.Draw(t, "from"), To: name.Draw(t, "to"), Cost: rapid.Int32Range(-2, 2).Draw(t, "cost"), Replace: rapid.Bool().Draw(t, "replace")}
		case 5:
			return fsm.Unlink{From: name.Draw(t, "from"), Target: topics.Identity{Name: "topic." + name.Draw(t, "to"), Category: "IceStorm"}}
		case 6:
			return fsm.Subscribe{Topic: name.Draw(t, "topic"), Subscription: topics.Subscription{Identity: topics.Identity{Name: sub.Draw(t, "sub")}, Proxy: []byte{7}, QoS: []topics.Setting{{Key: "k", Value: "v"}}}}
		case 7:
			return fsm.Unsubscribe{Topic: name.Draw(t, "topic"), Identity: topics.Identity{Name: sub.Draw(t, "sub")}}
		case 8:
			return fsm.SetMember{Member: fsm.Member{ID: sub.Draw(t, "id"), Incarnation: rapid.Uint64Range(0, 2).Draw(t, "inc"), Addresses: map[string][]string{"b": {"2"}, "a": {"1"}}}}
		}
		return fsm.DropMember{ID: sub.Draw(t, "id")}
	})
	return rapid.Custom(func(t *rapid.T) fsm.Op {
		if rapid.IntRange(0, 9).Draw(t, "batch") > 0 {
			return single.Draw(t, "op")
		}
		return fsm.Batch{Ops: rapid.SliceOfN(single, 1, 4).Draw(t, "ops")}
	})
}

// TestSnapshotAtAnyPointChangesNothing runs one log on three nodes: one that
// runs through, one that is restored from a snapshot somewhere on the way,
// and one that gets the entries in batches.
func TestSnapshotAtAnyPointChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := rapid.SliceOfN(anyOp(), 1, 40).Draw(t, "ops")
		cut := rapid.IntRange(0, len(ops)-1).Draw(t, "cut")
		through, late, batched := routeNode(), routeNode(), routeNode()
		var logs []*raft.Log
		for i, op := range ops {
			c := fsm.Command{Request: fsm.RequestID{byte(i % 7), 1}, Op: op}
			if i == cut {
				late = restored(t, snapshotOf(t, late.State))
				late.index = uint64(i + 1)
			}
			a, b := through.do(c), late.do(c)
			if !a.Equal(b) {
				t.Fatalf("op %d: %+v and after a restore %+v", i, a, b)
			}
			logs = append(logs, entry(uint64(i+2), c))
		}
		batched.ApplyBatch(logs)
		want := snapshotOf(t, through.State)
		for name, n := range map[string]*node{"restored": late, "batched": batched} {
			if n.View().Digest() != through.View().Digest() || !bytes.Equal(snapshotOf(t, n.State), want) {
				t.Fatalf("%s node differs", name)
			}
		}
	})
}

func TestDamagedSnapshotIsRefusedAndChangesNothing(t *testing.T) {
	n := newNode()
	for i := range 50 {
		n.op(fsm.CreateTopic{Name: fmt.Sprint("t", i)})
	}
	good := snapshotOf(t, n.State)
	rapid.Check(t, func(t *rapid.T) {
		bad := bytes.Clone(good)
		if rapid.Bool().Draw(t, "cut") {
			bad = bad[:rapid.IntRange(0, len(bad)-1).Draw(t, "at")]
		} else {
			bad[rapid.IntRange(0, len(bad)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		}
		m := newNode()
		m.op(fsm.CreateTopic{Name: "kept"})
		if err := m.Restore(io.NopCloser(bytes.NewReader(bad))); !errors.Is(err, fsm.ErrSnapshot) {
			t.Fatalf("got %v, want %v", err, fsm.ErrSnapshot)
		}
		if m.View().Graph.Topic("kept") == nil {
			t.Fatal("the state is gone")
		}
	})
}

func BenchmarkApply(b *testing.B) {
	n := newNode()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n.do(fsm.Command{Request: fsm.RequestID{byte(i), byte(i >> 8), byte(i >> 16)}, Op: fsm.CreateTopic{Name: fmt.Sprint(i % 90_000)}})
	}
}
