package fsm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"floe/fsm"
	"floe/topics"
)

// refusal is what a view says to an op.
func refusal(v fsm.View, op fsm.Op) error {
	r, err := v.Try(op)
	if err != nil {
		return err
	}
	return r.Err()
}

func TestAppsAreBounded(t *testing.T) {
	v := *appNode().View()
	for i := range fsm.MaxApps {
		v.Apps = append(v.Apps, fsm.App{Name: fmt.Sprintf("h:%05d", i+1), Node: "n1", Serial: 1})
	}
	if err := refusal(v, fsm.RegisterApp{Name: "one:1", Node: "n1"}); !errors.Is(err, fsm.ErrApp) || !strings.Contains(err.Error(), "20000") {
		t.Errorf("one more: %v", err)
	}
	if err := refusal(v, fsm.RegisterApp{Name: "h:00007", Node: "n2"}); err != nil {
		t.Errorf("one that is known: %v", err)
	}
	v.Apps = v.Apps[1:]
	if err := refusal(v, fsm.RegisterApp{Name: "one:1", Node: "n1"}); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestWithdrawnEndpointsAreBounded(t *testing.T) {
	v := *appNode().View()
	for i := range fsm.MaxWithdrawn {
		v.Distribution.Dead = append(v.Distribution.Dead, fmt.Sprintf("h:%06d", i))
	}
	if err := refusal(v, fsm.SetProbed{Dead: []string{"one:1"}}); !errors.Is(err, fsm.ErrRoutes) {
		t.Errorf("one more: %v", err)
	}
	if err := refusal(v, fsm.SetProbed{Dead: []string{"one:1"}, Alive: []string{"h:000007"}}); err != nil {
		t.Errorf("one for another: %v", err)
	}
}

// A change larger than a log entry is refused before it gets there, and says what to do.
func TestLargestCommand(t *testing.T) {
	op := func(size int) fsm.Op { return fsm.StageRestore{Data: make([]byte, size)} }
	if _, err := (fsm.Command{Op: op(fsm.MaxCommand - 1<<10)}).Encode(); err != nil {
		t.Error(err)
	}
	if _, err := (fsm.Command{Op: op(fsm.MaxCommand)}).Encode(); err == nil || !strings.Contains(err.Error(), "split the change") {
		t.Errorf("one that is larger: %v", err)
	}
	if _, err := fsm.DecodeCommand(make([]byte, fsm.MaxCommand+1)); !errors.Is(err, fsm.ErrCommand) {
		t.Errorf("bytes that are more: %v", err)
	}
}

// A full graph refuses what would be too much by the kind that faces answer with, and a batch as a whole.
func TestFullTopicRefusesABatch(t *testing.T) {
	all := []topics.Topic{{ID: 1, Name: "A"}, {ID: 2, Name: "B"}}
	for i := range topics.MaxFanout - 1 {
		all[0].Subscriptions = append(all[0].Subscriptions, topics.Subscription{Identity: topics.Identity{Name: fmt.Sprint(i)}, Serial: uint64(i + 3)})
	}
	g, err := topics.Restore("IceStorm", topics.MaxFanout+3, all)
	if err != nil {
		t.Fatal(err)
	}
	v := *newNode().View()
	v.Graph = g
	subscribe := func(name string) fsm.Op {
		return fsm.Subscribe{Topic: "A", Subscription: topics.Subscription{Identity: topics.Identity{Name: name}}}
	}
	if err := refusal(v, subscribe("last")); err != nil {
		t.Error(err)
	}
	err = refusal(v, fsm.Batch{Ops: []fsm.Op{fsm.CreateTopic{Name: "C"}, subscribe("last"), subscribe("one more")}})
	var refused *fsm.Refusal
	if !errors.As(err, &refused) || refused.Kind != topics.ErrLimit || refused.Part != 3 {
		t.Errorf("got %v", err)
	}
}
