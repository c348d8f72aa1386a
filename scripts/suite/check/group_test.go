package check_test

import (
	"testing"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

func (s *story) says(node, leader string, term uint64) {
	s.add(history.Op{Func: "digest", Node: node, Outcome: history.OK, Out: &history.Value{Term: term, Owner: leader}})
}

func TestTerms(t *testing.T) {
	for name, c := range map[string]struct {
		broken, replaced bool
		faults           []check.Fault
		tell             func(*story)
	}{
		"kept": {tell: func(s *story) { s.says("n1", "n1", 2); s.says("n2", "n1", 2); s.says("n1", "n3", 4) }},
		"two leaders": {broken: true, tell: func(s *story) {
			for _, n := range []string{"n1", "n2"} {
				s.says(n, n, 2)
				s.says(n, n, 2)
			}
		}},
		"a leader of the term before": {tell: func(s *story) {
			s.says("n1", "n1", 2)
			s.says("n3", "n1", 3)
			s.says("n3", "n2", 3)
			s.says("n3", "n2", 3)
		}},
		"falling term": {broken: true, tell: func(s *story) { s.says("n1", "n1", 5); s.says("n1", "", 1) }},
		"a leader that leads on after its end": {broken: true, faults: []check.Fault{{Kind: "kill", Nodes: []string{"n1"}, Start: 55, Held: check.Span{Start: 56}}}, tell: func(s *story) {
			for range 5 {
				s.says("n1", "n1", 2)
			}
		}},
		"a leader that another's end is nothing to": {faults: []check.Fault{{Kind: "kill", Nodes: []string{"n2"}, Start: 55, Held: check.Span{Start: 56}}}, tell: func(s *story) {
			for range 5 {
				s.says("n1", "n1", 2)
			}
		}},
		"emptied node": {replaced: true, tell: func(s *story) { s.says("n1", "n2", 5); s.says("n1", "", 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			c.tell(s)
			judge(t, check.Terms(s.ops, c.faults, c.replaced), c.broken)
		})
	}
}

func TestNoQuorum(t *testing.T) {
	const patience = 5 * time.Second
	down := check.Fault{Kind: "kill", Nodes: []string{"n2", "n3"}, Start: 90, End: int64(time.Minute), Held: check.Span{Start: 100, End: int64(50 * time.Second)}}
	apart := check.Fault{Kind: "partition", Apart: true, Nodes: []string{"n1", "n2", "n3"}, Held: down.Held}
	op := func(node string, outcome history.Type, took time.Duration) history.Op {
		o := history.Op{Func: "create", Node: node, Outcome: outcome, In: &history.Value{}, Out: &history.Value{}, Start: 200, End: 200 + int64(took), Ended: 200 + int64(took)}
		if outcome == history.Info {
			o.End = history.Never
		}
		return o
	}
	later := func(function string, o history.Op) history.Op { // of a time when echoes have died away
		o.Func, o.Start, o.Ended = function, o.Start+int64(20*time.Second), o.Ended+int64(20*time.Second)
		if o.End != history.Never {
			o.End += int64(20 * time.Second)
		}
		return o
	}
	early := op("n1", history.OK, time.Millisecond)
	early.Func = "exists"
	came := check.Fault{Kind: "diskfull", Nodes: []string{"n1"}, Start: 90, End: int64(10 * time.Second), Held: check.Span{Start: 95, End: int64(10 * time.Second)}}
	long := came
	long.End, long.Held.End = int64(time.Second), int64(time.Second)
	for name, c := range map[string]struct {
		broken             bool
		asked, read, stale int
		fault              check.Fault
		more               []check.Fault
		op                 history.Op
	}{
		"a read that fails":                     {read: 1, fault: down, op: later("exists", op("n1", history.Fail, 2*time.Second))},
		"a read that is answered":               {broken: true, read: 1, fault: down, op: later("exists", op("n1", history.OK, time.Second))},
		"a read of all that is answered, apart": {broken: true, read: 1, fault: apart, op: later("topics", op("n1", history.OK, time.Second))},
		"a read that hangs":                     {broken: true, read: 1, fault: apart, op: later("cost", op("n2", history.Fail, 4800*time.Millisecond))},
		"a read at the very beginning":          {fault: down, op: early},
		"a stale read":                          {stale: 1, fault: down, op: later("stale", op("n1", history.OK, time.Second))},
		"a stale read, apart":                   {stale: 1, fault: apart, op: later("stale", op("n2", history.OK, time.Second))},
		"a stale read that fails":               {broken: true, stale: 1, fault: apart, op: later("stale", op("n2", history.Fail, time.Second))},
		"a stale read that hangs":               {broken: true, stale: 1, fault: down, op: later("stale", op("n1", history.OK, 4800*time.Millisecond))},
		"a stale read of a dead node":           {fault: down, op: later("stale", op("n2", history.Fail, time.Second))},
		"a stale read of a node that just came": {more: []check.Fault{came}, fault: down, op: later("stale", op("n1", history.Fail, time.Second))},
		"a stale read of one long back":         {broken: true, stale: 1, more: []check.Fault{long}, fault: down, op: later("stale", op("n1", history.Fail, time.Second))},
		"refused in time":                       {asked: 1, fault: down, op: op("n1", history.Fail, 2*time.Second)},
		"unknown in time":                       {asked: 1, fault: apart, op: op("n2", history.Info, 2*time.Second)},
		"acknowledged":                          {broken: true, asked: 1, fault: down, op: op("n1", history.OK, time.Second)},
		"acknowledged, apart":                   {broken: true, asked: 1, fault: apart, op: op("n1", history.OK, time.Second)},
		"hangs":                                 {broken: true, asked: 1, fault: down, op: op("n1", history.Info, 5*time.Second)},
		"never ended":                           {broken: true, asked: 1, fault: down, op: op("n1", history.Info, time.Duration(history.Never-200))},
		"of a dead node":                        {fault: down, op: op("n2", history.Info, 5*time.Second)},
		"with a majority":                       {fault: check.Fault{Kind: "kill", Nodes: []string{"n3"}, Held: down.Held}, op: op("n1", history.OK, time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			r := check.NoQuorum([]history.Op{c.op}, append(c.more, c.fault), []string{"n1", "n2", "n3"}, patience)
			judge(t, r.Verdict, c.broken)
			if r.Asked != c.asked || r.Reads != c.read || r.Stale != c.stale {
				t.Errorf("%d changes, %d reads and %d stale reads, want %d, %d and %d", r.Asked, r.Reads, r.Stale, c.asked, c.read, c.stale)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	stay := []string{"n1", "n2", "n3"}
	member := func(s *story, function string, outcome history.Type) {
		s.add(history.Op{Func: function, Key: "n4", Outcome: outcome})
	}
	final := func(s *story, voters ...string) {
		s.add(history.Op{Func: "final", Outcome: history.OK, Out: &history.Value{Voters: voters}})
	}
	for name, c := range map[string]struct {
		broken bool
		tell   func(*story)
		log    []check.Configuration
	}{
		"kept": {tell: func(s *story) { member(s, "join", history.OK); final(s, "n1", "n2", "n3", "n4") }},
		"gone": {tell: func(s *story) { member(s, "leave", history.OK); final(s, stay...) }},
		"refused": {tell: func(s *story) {
			member(s, "join", history.OK)
			member(s, "leave", history.Fail)
			final(s, "n1", "n2", "n3", "n4")
		}},
		"unknown":         {tell: func(s *story) { member(s, "remove", history.Info); final(s, "n1", "n2", "n3", "n4") }},
		"join is lost":    {broken: true, tell: func(s *story) { member(s, "join", history.OK); final(s, stay...) }},
		"removal is lost": {broken: true, tell: func(s *story) { member(s, "remove", history.OK); final(s, "n1", "n2", "n3", "n4") }},
		"a voter is gone": {broken: true, tell: func(s *story) { final(s, "n1", "n2") }},
		"a stranger":      {broken: true, tell: func(s *story) { final(s, "n1", "n2", "n3", "n9") }},
		"service stops": {broken: true, tell: func(s *story) {
			member(s, "remove", history.OK)
			s.did("create", "a", history.Info)
			final(s, stay...)
		}},
		"two at a time": {broken: true, tell: func(s *story) { final(s, stay...) },
			log: []check.Configuration{{Index: 1, Voters: []string{"n1"}}, {Index: 2, Voters: stay}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			c.tell(s)
			judge(t, check.Members(check.MembersRun{Ops: s.ops, Stay: stay, Configurations: c.log}), c.broken)
		})
	}
}
