package check_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

// calmRun is a run over A>B (cost 5) and B>C (cost 0) in which one event of
// cost 3 was published on A and reached whom it had to reach.
func calmRun() check.EventRun {
	return check.EventRun{
		Links: map[string]int32{"A>B": 5, "B>C": 0},
		Subscribers: []check.Subscriber{
			{Name: "a", Topic: "A", Node: "n1", Ordered: true},
			{Name: "b", Topic: "B", Node: "n2", Ordered: true},
			{Name: "c", Topic: "C", Node: "n3"},
		},
		Sent: []check.Sent{
			sent(1, "A", 3), sent(2, "A", 9), sent(3, "B", 9),
		},
		Got: []check.Got{
			got("a", "A", 1, "A", 3), got("b", "B", 1, "A", 3),
			got("a", "A", 2, "A", 9),
			got("b", "B", 3, "B", 9), got("c", "C", 3, "B", 9),
		},
		QuietFrom: 1,
	}
}

func sent(seq uint64, topic string, cost int32) check.Sent {
	return check.Sent{Publisher: "p", Seq: seq, Topic: topic, Cost: cost, Node: "n1", Outcome: history.OK, Start: int64(seq), End: int64(seq)}
}

func got(subscriber, topic string, seq uint64, origin string, cost int32) check.Got {
	context := map[int32]string{3: "3", 9: "9"}[cost]
	return check.Got{Subscriber: subscriber, Topic: topic, Publisher: "p", Seq: seq, Origin: origin, Cost: cost, Context: context}
}

func TestEvents(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*check.EventRun)
		broken string // the promises that are, by their numbers
	}{
		"as it should be": {func(*check.EventRun) {}, ""},
		"duplicate": {func(r *check.EventRun) {
			r.Got = append(r.Got, r.Got[4])
		}, "E1"},
		"two hops": {func(r *check.EventRun) {
			r.Got = append(r.Got, got("c", "C", 1, "A", 3))
		}, "E7"},
		"over cost": {func(r *check.EventRun) {
			r.Got = append(r.Got, got("b", "B", 2, "A", 9))
		}, "E8"},
		"inversion": {func(r *check.EventRun) {
			r.Got[0], r.Got[2] = r.Got[2], r.Got[0]
		}, "E3"},
		"gap is no inversion": {func(r *check.EventRun) {
			r.Got = r.Got[1:]
			r.QuietFrom = 3
		}, ""},
		"lost in the calm": {func(r *check.EventRun) {
			r.Got = r.Got[:4]
		}, "E2"},
		"wrongly held by a link": {func(r *check.EventRun) {
			r.Got = append(r.Got[:1:1], r.Got[2:]...)
		}, "E2"},
		"lost during faults is only counted": {func(r *check.EventRun) {
			r.QuietFrom = 2
			r.Got = r.Got[2:]
		}, ""},
		"not taken for sure, so not lost": {func(r *check.EventRun) {
			r.Sent[0].Outcome = history.Info
			r.Got = r.Got[2:]
		}, ""},
		"nobody sent it": {func(r *check.EventRun) {
			r.Got = append(r.Got, got("a", "A", 77, "A", 3))
		}, "E4"},
		"context changed": {func(r *check.EventRun) {
			r.Got[0].Context = ""
		}, "E4"},
		"payload changed": {func(r *check.EventRun) {
			r.Got[0] = got("a", "A", 1, "A", 9)
		}, "E4"},
		"no calm": {func(r *check.EventRun) { r.QuietFrom = 0 }, "E2"},
	} {
		t.Run(name, func(t *testing.T) {
			run := calmRun()
			c.change(&run)
			var broken []string
			for _, v := range check.Events(run).Verdicts {
				if !v.Kept {
					broken = append(broken, strings.Fields(v.Promise)[0])
				}
			}
			if got := strings.Join(broken, " "); got != c.broken {
				t.Errorf("broken promises %q, want %q", got, c.broken)
			}
		})
	}
}

func TestLossIsLaidAtTheDoorOfAFault(t *testing.T) {
	second := int64(1_000_000_000)
	run := calmRun()
	run.QuietFrom = 100 * second
	run.Got = run.Got[:2] // lost: 2 for a, 3 for b and for c
	run.Sent[1].Start, run.Sent[1].End = 10*second, 10*second
	run.Sent[2].Start, run.Sent[2].End = 50*second, 50*second
	run.Faults = []check.Fault{
		{Kind: "kill", Nodes: []string{"n1"}, Start: 9 * second, End: 12 * second},
		{Kind: "pause", Nodes: []string{"n3"}, Start: 49 * second, End: 50 * second},
	}
	want := map[string]int{"kill": 1, "pause": 1, "none": 1}
	if d := cmp.Diff(check.Events(run).Lost, want); d != "" {
		t.Errorf("lost (-got +want):\n%s", d)
	}
	run.Faults = append(run.Faults, check.Fault{Kind: "kill", Nodes: []string{"n1"}, Start: 80 * second, End: 90 * second})
	want = map[string]int{"kill": 1, "pause": 1, "kill, later": 1}
	if d := cmp.Diff(check.Events(run).Lost, want); d != "" {
		t.Errorf("lost (-got +want):\n%s", d)
	}
}
