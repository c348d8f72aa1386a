package fsm_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"floe/fsm"
)

// appNode is a node of a cluster whose version knows apps.
func appNode() *node {
	n := newNode()
	n.op(fsm.RaiseVersion{Version: 3})
	return n
}

func anyAppOp(t *rapid.T) fsm.Op {
	name := rapid.SampledFrom([]string{"a:1", "b:1"}).Draw(t, "app")
	serial := rapid.Uint64Range(0, 40).Draw(t, "serial")
	nodes := rapid.SliceOfN(rapid.SampledFrom([]string{"n1", "n2", "n3"}), 0, 3)
	switch rapid.IntRange(0, 5).Draw(t, "app op") {
	case 0:
		return fsm.RegisterApp{Name: name, Control: []string{"h:1"}, Node: "n1", Time: 3}
	case 1:
		return fsm.ForgetApps{Apps: []fsm.AppRef{{Name: name, Serial: serial}}}
	case 2:
		return fsm.AckApps{Acks: []fsm.AppAck{{Name: name, Serial: serial, Version: serial + 3}}}
	case 3:
		return fsm.SetServing{Out: nodes.Draw(t, "out"), In: nodes.Draw(t, "in"), Assign: []fsm.Assignment{{Name: name, Serial: serial, Node: "n2"}}}
	case 4:
		mtype := rapid.Int32Range(0, 3).Draw(t, "mtype")
		return fsm.SetRelay{On: rapid.Bool().Draw(t, "on"), MType: rapid.SampledFrom([]*int32{nil, &mtype}).Draw(t, "which")}
	}
	return fsm.SetProbed{Dead: nodes.Draw(t, "dead"), Alive: nodes.Draw(t, "alive")}
}

func TestAppIsKnownByItsLatestRegistration(t *testing.T) {
	n := appNode()
	first := n.op(fsm.RegisterApp{Name: "a:1", Control: []string{"a:9"}, Node: "n1"})
	second := n.op(fsm.RegisterApp{Name: "a:1", Control: []string{"b:9"}, Node: "n2", Time: 7})
	want := fsm.App{Name: "a:1", Control: []string{"b:9"}, Node: "n2", Serial: second.Serial, Assigned: second.Serial, Asked: 7}
	stale := fsm.AppRef{Name: "a:1", Serial: first.Serial}
	n.op(fsm.AckApps{Acks: []fsm.AppAck{{Name: "a:1", Serial: first.Serial, Version: 9}}})
	n.op(fsm.SetServing{Assign: []fsm.Assignment{{Name: "a:1", Serial: first.Serial, Node: "n3"}}})
	n.op(fsm.ForgetApps{Apps: []fsm.AppRef{stale}})
	if got, _ := n.View().App("a:1"); !got.Equal(want) {
		t.Errorf("after words about an older incarnation: %+v, want %+v", got, want)
	}
	moved := n.op(fsm.SetServing{Out: []string{"n2"}, Assign: []fsm.Assignment{{Name: "a:1", Serial: second.Serial, Node: "n3"}}})
	n.op(fsm.AckApps{Acks: []fsm.AppAck{{Name: "a:1", Serial: second.Serial, Version: 9}, {Name: "a:1", Serial: second.Serial, Version: 8}}})
	want.Before, want.Node, want.Assigned, want.Acked = "n2", "n3", moved.Index, 9
	if got, _ := n.View().App("a:1"); !got.Equal(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if r := n.op(fsm.ForgetApps{Apps: []fsm.AppRef{{Name: "a:1", Serial: second.Serial}}}); r.Count != 1 || len(n.View().Apps) != 0 {
		t.Errorf("forgot %d, %d are left", r.Count, len(n.View().Apps))
	}
	if r := n.op(fsm.RegisterApp{}); !errors.Is(r.Err(), fsm.ErrApp) {
		t.Errorf("an app without a name: %v", r.Err())
	}
}

func TestDeletionsAreKeptUntilEveryAppWasTold(t *testing.T) {
	n := appNode()
	n.op(fsm.ChangeRoutes{Blocks: blocks("meid_map|start\nmme_ar|e:1|g1 g2\nmeid_map|end|1\n")})
	a := n.op(fsm.RegisterApp{Name: "a:1", Node: "n1"}).Serial
	b := n.op(fsm.RegisterApp{Name: "b:1", Node: "n1"}).Serial
	gone := n.op(fsm.ChangeRoutes{Blocks: blocks("meid_map|start\nmme_del|g1\nmeid_map|end|1\n")}).Version
	ack := func(name string, serial, version uint64) bool {
		n.op(fsm.AckApps{Acks: []fsm.AppAck{{Name: name, Serial: serial, Version: version}}})
		return n.View().Routes.Gone.Has("g1")
	}
	if !ack("a:1", a, gone) || !ack("b:1", b, gone-1) {
		t.Fatal("forgotten before b was told")
	}
	if !ack("b:1", b, gone) {
		t.Error("forgotten while a table from before may be on its way")
	}
	n.index += 20_000
	if ack("b:1", b, gone) {
		t.Error("remembered long after all were told")
	}
	again := n.op(fsm.ChangeRoutes{Blocks: blocks("meid_map|start\nmme_del|g2\nmeid_map|end|1\n")}).Version
	ack("a:1", a, again)
	n.index += 20_000
	n.op(fsm.ForgetApps{Apps: []fsm.AppRef{{Name: "b:1", Serial: b}}})
	if n.View().Routes.Gone.Len() != 0 {
		t.Error("remembered for an app that is forgotten")
	}
}

func TestRelay(t *testing.T) {
	n := appNode()
	five, six := int32(5), int32(6)
	state := func() string {
		r := n.View().Distribution.Relay
		return fmt.Sprint(r.On(five), r.On(six))
	}
	for _, step := range []struct {
		op   fsm.SetRelay
		want string
	}{
		{fsm.SetRelay{On: true, MType: &five}, "true false"},
		{fsm.SetRelay{On: true}, "true true"},
		{fsm.SetRelay{MType: &six}, "true false"},
		{fsm.SetRelay{On: true, MType: &six}, "true true"},
		{fsm.SetRelay{MType: &five}, "false true"},
		{fsm.SetRelay{}, "false false"},
	} {
		was := n.View().TableVersion()
		r := n.op(step.op)
		if got := state(); got != step.want || r.Version <= was {
			t.Errorf("%+v: %s, want %s; version %d after %d", step.op, got, step.want, r.Version, was)
		}
	}
	was := n.View().TableVersion()
	if n.op(fsm.SetRelay{}); n.View().TableVersion() != was {
		t.Error("a switch that changes nothing made a new version")
	}
}

func TestServingAndProbed(t *testing.T) {
	n := appNode()
	n.op(fsm.SetServing{Out: []string{"n2", "n1"}})
	n.op(fsm.SetProbed{Dead: []string{"b:1", "a:1"}})
	v := n.op(fsm.SetServing{In: []string{"n2"}}).Index
	n.op(fsm.SetProbed{Alive: []string{"c:1"}})
	want := fsm.Distribution{Version: v, Out: []string{"n1"}, Dead: []string{"a:1", "b:1"}}
	d := n.View().Distribution
	if diff := cmp.Diff(d, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if !d.IsOut("n1") || d.IsOut("n2") || !d.IsDead("a:1") || d.IsDead("c:1") {
		t.Error("looked up, they are not what they are")
	}
}

func TestRoutesThatCantBeDistributed(t *testing.T) {
	n := appNode()
	n.op(fsm.SetMember{Member: fsm.Member{ID: "n1", Incarnation: 1, Addresses: map[string][]string{"rmr": {"f1:4560"}, "rtg": {"f1:4561"}, "rmr-topics": {"f1:4563"}}}})
	for _, text := range []string{
		"mse|5|-1|a:1;f1:4560", "mse|5|-1|f1:4561", "mse|5|-1|a:1,f1:4563", "mme_ar|f1:4560|g",
	} {
		b := blocks("updatert|start\n" + text + "\nupdatert|end\n")
		for _, op := range []fsm.Op{fsm.ChangeRoutes{Blocks: b}, fsm.StageRoutes{Load: 1, Blocks: b}} {
			if r := n.op(op); !errors.Is(r.Err(), fsm.ErrRoutes) {
				t.Errorf("%s: %v", text, r.Err())
			}
		}
	}
}

func TestTopicOfARouteIsInUse(t *testing.T) {
	n := appNode()
	n.op(fsm.CreateTopic{Name: "a"})
	n.op(fsm.ChangeRoutes{Blocks: blocks("newrt|start\nmse|5|-1|x:1;topic:a\nnewrt|end|1\n")})
	if r := n.op(fsm.DestroyTopic{Name: "a"}); !errors.Is(r.Err(), fsm.ErrInUse) {
		t.Errorf("destroyed: %v", r.Err())
	}
	if r := n.op(fsm.DestroyTopic{Name: "a", Force: true}); r.Err() != nil {
		t.Errorf("forced: %v", r.Err())
	}
}
