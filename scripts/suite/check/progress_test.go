package check_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

// Changes that other nodes served, that were asked for before or that are not
// known to have succeeded do not count.
func TestSteady(t *testing.T) {
	change := func(node string, start, end int64, outcome history.Type) history.Op {
		return history.Op{Func: "create", Node: node, Start: start, End: end, Ended: end, Outcome: outcome, In: &history.Value{}, Out: &history.Value{}}
	}
	ops := []history.Op{
		change("n1", 0, 12, history.OK),
		change("n3", 12, 13, history.OK),
		change("n1", 13, history.Never, history.Info),
		change("n2", 14, 15, history.Fail),
		change("n2", 19, 25, history.OK),
	}
	span := check.Span{Start: 10, End: 20}
	judge(t, check.Steady(ops, span, []string{"n1", "n2"}), true)
	judge(t, check.Steady(append(ops, change("n2", 16, 17, history.OK)), span, []string{"n1", "n2"}), false)
}

func TestProgress(t *testing.T) {
	second := int64(time.Second)
	change := func(node string, start, end int64, outcome history.Type) history.Op {
		return history.Op{Func: "create", Node: node, Start: start * second, End: end * second, Ended: end * second, Outcome: outcome, In: &history.Value{}, Out: &history.Value{}}
	}
	ops := []history.Op{
		change("n1", 0, 0, history.OK),
		change("n1", 1, 4, history.Fail),
		change("n2", 2, 6, history.OK), // asked before the fault's end
		change("n2", 7, 8, history.OK),
		change("n1", 8, 9, history.OK),
	}
	faults := []check.Fault{{Kind: "kill", Start: 1 * second, End: 5 * second}}
	calm := check.Span{Start: 7 * second, End: 20 * second}

	got := check.MakeProgress(ops, faults, calm, []string{"n1", "n2"}, 3*time.Second)
	judge(t, got.Verdict, false)
	if d := cmp.Diff(got.Recovery["kill"], check.Spread{Count: 1, P50: 3 * time.Second, Max: 3 * time.Second}); d != "" {
		t.Errorf("recovery (-got +want):\n%s", d)
	}
	if d := cmp.Diff(got.Gap["kill"], check.Spread{Count: 1, P50: 5 * time.Second, Max: 5 * time.Second}); d != "" {
		t.Errorf("gap (-got +want):\n%s", d)
	}
	if got.Availability != 0.4 { // of seconds 0, 1, 2, 7, 8: in 0 and 8
		t.Errorf("availability %v, want 0.4", got.Availability)
	}

	judge(t, check.MakeProgress(ops, faults, calm, []string{"n1", "n2"}, time.Second).Verdict, true)
	judge(t, check.MakeProgress(ops, faults, check.Span{}, []string{"n1", "n2"}, time.Minute).Verdict, true)
	judge(t, check.MakeProgress(ops, faults, calm, []string{"n1", "n2", "n3"}, time.Minute).Verdict, true)
}
