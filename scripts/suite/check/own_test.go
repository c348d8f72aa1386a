package check_test

import (
	"testing"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

func TestOwnWrites(t *testing.T) {
	made := func(s *story, index uint64) {
		s.add(history.Op{Func: "create", Process: "p", Key: "a", Outcome: history.OK, Out: &history.Value{ID: 4, Index: index}})
	}
	removed := func(s *story, index uint64) {
		s.add(history.Op{Func: "destroy", Process: "p", Key: "a", Outcome: history.OK, Out: &history.Value{Index: index}})
	}
	after := func(s *story, process, node string, asked, index, id uint64) {
		s.add(history.Op{Func: "after", Process: process, Node: node, Key: "a", Outcome: history.OK,
			In: &history.Value{Index: asked}, Out: &history.Value{ID: id, Absent: id == 0, Index: index}})
	}
	for name, c := range map[string]struct {
		broken  bool
		checked string
		tell    func(*story)
	}{
		"kept": {checked: "1 reads at the node that was asked for the change, 1 at others, 0 without an answer", tell: func(s *story) {
			made(s, 5)
			after(s, "p", "n2", 5, 6, 4)
			removed(s, 7)
			after(s, "p", "n1", 7, 7, 0)
		}},
		"behind, and says so": {checked: "0 reads at the node that was asked for the change, 0 at others, 1 without an answer", tell: func(s *story) {
			made(s, 5)
			s.add(history.Op{Func: "after", Process: "p", Node: "n2", Key: "a", Outcome: history.Fail, In: &history.Value{Index: 5}})
		}},
		"another client": {tell: func(s *story) {
			made(s, 5)
			after(s, "q", "n2", 5, 6, 0)
		}},
		"an index from before": {tell: func(s *story) {
			made(s, 5)
			after(s, "p", "n2", 4, 4, 0)
		}},
		"a removal of which nobody knows": {tell: func(s *story) {
			made(s, 5)
			s.add(history.Op{Func: "destroy", Process: "p", Key: "a", Outcome: history.Info})
			after(s, "p", "n2", 5, 6, 0)
		}},
		"a removal that failed": {broken: true, tell: func(s *story) {
			made(s, 5)
			s.add(history.Op{Func: "destroy", Process: "p", Key: "a", Outcome: history.Fail})
			after(s, "p", "n2", 5, 6, 0)
		}},
		"not there": {broken: true, tell: func(s *story) {
			made(s, 5)
			after(s, "p", "n2", 5, 5, 0)
		}},
		"another topic": {broken: true, tell: func(s *story) {
			made(s, 5)
			after(s, "p", "n2", 5, 5, 3)
		}},
		"there still": {broken: true, tell: func(s *story) {
			made(s, 5)
			removed(s, 6)
			after(s, "p", "n2", 6, 6, 4)
		}},
		"an older copy": {broken: true, tell: func(s *story) {
			made(s, 5)
			after(s, "p", "n2", 5, 4, 4)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			c.tell(s)
			v := check.OwnWrites(s.ops)
			judge(t, v, c.broken)
			if c.checked != "" && v.Checked != c.checked {
				t.Errorf("looked at %q, want %q", v.Checked, c.checked)
			}
		})
	}
}
