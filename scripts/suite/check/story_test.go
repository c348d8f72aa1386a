package check_test

import (
	"testing"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

// story builds histories by hand. Each operation takes ten nanoseconds and
// follows the one before, unless it is told otherwise.
type story struct {
	now int64
	ops []history.Op
}

func (s *story) add(o history.Op) *history.Op {
	o.ID = uint64(len(s.ops) + 1)
	o.Start, o.End = s.now, s.now+10
	if o.Node == "" {
		o.Node = "n1"
	}
	for _, v := range []**history.Value{&o.In, &o.Out} {
		if *v == nil {
			*v = &history.Value{}
		}
	}
	if o.Outcome == history.Info {
		o.End = history.Never
	}
	s.now += 20
	s.ops = append(s.ops, o)
	return &s.ops[len(s.ops)-1]
}

func (s *story) did(function, key string, outcome history.Type) *history.Op {
	return s.add(history.Op{Func: function, Key: key, Outcome: outcome})
}

func (s *story) created(name string, id uint64) {
	s.add(history.Op{Func: "create", Key: name, Outcome: history.OK, Out: &history.Value{ID: id}})
}

func (s *story) refused(function, key string) {
	s.add(history.Op{Func: function, Key: key, Outcome: history.OK, Out: &history.Value{Refused: true}})
}

func (s *story) linked(function, key string, cost int32, outcome history.Type) {
	s.add(history.Op{Func: function, Key: key, Outcome: outcome, In: &history.Value{Cost: cost}})
}

func (s *story) exists(name string, id uint64) {
	s.add(history.Op{Func: "exists", Key: name, Outcome: history.OK, Out: &history.Value{ID: id, Absent: id == 0}})
}

func (s *story) cost(key string, cost int32) {
	s.add(history.Op{Func: "cost", Key: key, Outcome: history.OK, Out: &history.Value{Cost: cost}})
}

func (s *story) final(node string, topics map[string]uint64, links map[string]int32) {
	s.add(history.Op{Func: "final", Node: node, Outcome: history.OK, Out: &history.Value{Topics: topics, Links: links}})
}

// judge compares a verdict with what it has to be.
func judge(t *testing.T, v check.Verdict, broken bool) {
	t.Helper()
	if v.Kept == broken {
		t.Errorf("kept is %v, want %v: %s", v.Kept, !broken, v)
	}
}
