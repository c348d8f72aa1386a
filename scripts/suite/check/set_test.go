package check_test

import (
	"testing"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

type ids = map[string]uint64
type costs = map[string]int32

func TestSet(t *testing.T) {
	for name, c := range map[string]struct {
		tell   func(*story)
		broken bool
		lost   int
	}{
		"all there": {tell: func(s *story) {
			s.created("a", 1)
			s.created("b", 2)
			s.linked("link", "a>b", 5, history.OK)
			s.final("n1", ids{"a": 1, "b": 2}, costs{"a>b": 5})
			s.final("n2", ids{"a": 1, "b": 2}, costs{"a>b": 5})
		}},
		"lost write": {broken: true, lost: 1, tell: func(s *story) {
			s.created("a", 1)
			s.created("b", 2)
			s.final("n1", ids{"b": 2}, nil)
		}},
		"lost on one node only, counted once": {broken: true, lost: 1, tell: func(s *story) {
			s.created("a", 1)
			s.final("n1", ids{"a": 1}, nil)
			s.final("n2", nil, nil)
			s.final("n3", nil, nil)
		}},
		"lost link": {broken: true, lost: 1, tell: func(s *story) {
			s.created("a", 1)
			s.created("b", 2)
			s.linked("link", "a>b", 5, history.OK)
			s.final("n1", ids{"a": 1, "b": 2}, nil)
		}},
		"link with another cost": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.linked("link", "a>a", 5, history.OK)
			s.final("n1", ids{"a": 1}, costs{"a>a": 6})
		}},
		"resurrected topic": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.did("destroy", "a", history.OK)
			s.final("n1", ids{"a": 1}, nil)
		}},
		"resurrected though its making was never answered": {broken: true, tell: func(s *story) {
			s.did("create", "a", history.Info)
			s.did("destroy", "a", history.OK)
			s.final("n1", ids{"a": 1}, nil)
		}},
		"resurrected link": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.linked("link", "a>a", 5, history.OK)
			s.did("unlink", "a>a", history.OK)
			s.final("n1", ids{"a": 1}, costs{"a>a": 5})
		}},
		"link outlives its topic": {broken: true, tell: func(s *story) {
			s.created("a", 1)
			s.created("b", 2)
			s.linked("link", "a>b", 5, history.OK)
			s.did("destroy", "b", history.OK)
			s.final("n1", ids{"a": 1}, costs{"a>b": 5})
		}},
		"link went with its topic": {tell: func(s *story) {
			s.created("a", 1)
			s.created("b", 2)
			s.linked("link", "a>b", 5, history.OK)
			s.did("destroy", "b", history.OK)
			s.final("n1", ids{"a": 1}, nil)
		}},
		"failed and took effect all the same": {broken: true, tell: func(s *story) {
			s.did("create", "a", history.Fail)
			s.final("n1", ids{"a": 1}, nil)
		}},
		"failed removal leaves the record": {tell: func(s *story) {
			s.created("a", 1)
			s.did("destroy", "a", history.Fail)
			s.final("n1", ids{"a": 1}, nil)
		}},
		"failed removal lost the record": {broken: true, lost: 1, tell: func(s *story) {
			s.created("a", 1)
			s.did("destroy", "a", history.Fail)
			s.final("n1", nil, nil)
		}},
		"unknown outcomes may go either way": {tell: func(s *story) {
			s.did("create", "a", history.Info)
			s.did("create", "b", history.Info)
			s.created("c", 3)
			s.did("destroy", "c", history.Info)
			s.final("n1", ids{"a": 1}, nil)
			s.final("n2", ids{"a": 1}, nil)
		}},
		"stranger": {broken: true, tell: func(s *story) {
			s.final("n1", ids{"zombie": 1}, nil)
		}},
		"no final read": {broken: true, tell: func(s *story) {
			s.created("a", 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			c.tell(s)
			got := check.Set(s.ops)
			judge(t, got.Verdict, c.broken)
			if got.Lost != c.lost {
				t.Errorf("lost = %d, want %d", got.Lost, c.lost)
			}
		})
	}
}

func TestSetCounts(t *testing.T) {
	s := &story{}
	s.created("a", 1)
	s.did("create", "b", history.Info)
	s.did("create", "c", history.Fail)
	s.refused("create", "a")
	s.exists("a", 1)
	s.final("n1", ids{"a": 1, "b": 2}, nil)
	got := check.Set(s.ops)
	asked, acknowledged := check.Changes(s.ops)
	if asked != 4 || acknowledged != 1 || got.Recovered != 1 {
		t.Errorf("operations, acknowledged, recovered = %d, %d, %d, want 4, 1, 1", asked, acknowledged, got.Recovered)
	}
}
