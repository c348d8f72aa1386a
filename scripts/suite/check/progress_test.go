package check_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

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
