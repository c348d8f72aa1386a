package check_test

import (
	"strings"
	"testing"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

func TestConverge(t *testing.T) {
	const second = int64(time.Second)
	at := func(node string, seconds float64, index uint64) history.Op {
		end := int64(seconds * float64(second))
		return history.Op{Func: "digest", Node: node, Outcome: history.OK, Start: end - 1, End: end, In: &history.Value{}, Out: &history.Value{Index: index}}
	}
	moved := func(seconds float64, index uint64) history.Op {
		end := int64(seconds * float64(second))
		return history.Op{Func: "own", Node: "n1", Outcome: history.OK, Start: end - second/10, End: end, In: &history.Value{}, Out: &history.Value{Version: index}}
	}
	fault := func(kind string, from, to int64) check.Fault {
		return check.Fault{Kind: kind, Nodes: []string{"n2"}, Start: from * second, End: to * second}
	}
	cut := fault("partition", 1, 5)
	calm := check.Span{Start: 20 * second, End: 30 * second}
	// Index 7 is where n1 is at the heal in second 5, index 9 at the last one.
	whole := []history.Op{at("n1", 4, 7), at("n2", 4, 3), at("n1", 6, 8), at("n2", 6, 7), at("n1", 19, 9), at("n2", 19, 9), at("n1", 21, 9), at("n2", 21, 9)}
	without := func(i int) []history.Op { return append(append([]history.Op{}, whole[:i]...), whole[i+1:]...) }
	for name, c := range map[string]struct {
		ops    []history.Op
		faults []check.Fault
		calm   check.Span
		broken bool
		heals  int
	}{
		"kept":                                       {ops: whole, faults: []check.Fault{cut}, calm: calm, heals: 2},
		"behind after a heal":                        {ops: without(3), faults: []check.Fault{cut}, calm: calm, broken: true, heals: 2},
		"behind, and another fault about":            {ops: append(without(3), at("n1", 10, 8), at("n2", 10, 8)), faults: []check.Fault{cut, fault("kill", 6, 9)}, calm: calm, heals: 2}, // that of the kill, and the last
		"behind, and perhaps no member":              {ops: without(3), faults: []check.Fault{fault("churn", 0, 1), cut}, calm: calm, heals: 1},
		"a node that starts late":                    {ops: append(without(3), at("n2", 9, 5), at("n2", 10.5, 7)), faults: []check.Fault{fault("kill", 1, 5)}, calm: calm, heals: 2},
		"a node that starts late and is behind then": {ops: append(without(3), at("n2", 6, 5), at("n2", 8.5, 7)), faults: []check.Fault{fault("kill", 1, 5)}, calm: calm, broken: true, heals: 2},
		"behind after the last heal":                 {ops: append(without(7), at("n2", 20.2, 8), at("n2", 22.5, 9)), faults: []check.Fault{cut}, calm: calm, broken: true, heals: 2},
		"for ever behind after the last heal":        {ops: without(7), faults: []check.Fault{cut}, calm: calm, broken: true, heals: 2},
		"behind after churn, at the last heal":       {ops: without(7), faults: []check.Fault{fault("churn", 1, 5)}, calm: calm, broken: true, heals: 1},
		"a run that did not come to its end":         {ops: whole, faults: []check.Fault{cut}, broken: true, heals: 1},
		"a node that said so before, and went":       {ops: append(without(7), at("n2", 21, 8)), faults: nil, calm: calm, broken: true, heals: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := check.Converge(c.ops, c.faults, c.calm, []string{"n1", "n2"}, check.ConvergeWithin)
			judge(t, r.Verdict, c.broken)
			if r.Heal.Count != c.heals {
				t.Errorf("%d heals, want %d", r.Heal.Count, c.heals)
			}
		})
	}

	// Of changes those count that no fault was near until the last node had them.
	ops := append(append([]history.Op{}, whole...), moved(3, 7), moved(18, 9), moved(18.5, 9), moved(21.5, 10))
	r := check.Converge(ops, []check.Fault{cut}, calm, []string{"n1", "n2"}, check.ConvergeWithin)
	judge(t, r.Verdict, false)
	if r.Spread != (check.Spread{Count: 2, P50: time.Second, Max: time.Second}) || r.P99 != time.Second {
		t.Errorf("spread %+v, 99 of 100 within %s", r.Spread, r.P99)
	}
	if !strings.Contains(r.Verdict.Checked, "2 heals, the slowest 1s after; 2 changes") {
		t.Errorf("looked at %s", r.Verdict.Checked)
	}
}
