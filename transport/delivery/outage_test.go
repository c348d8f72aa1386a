package delivery

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestOutage(t *testing.T) {
	const s = time.Second
	type step struct {
		at      time.Duration
		success bool
		hard    bool
		removed bool
		next    time.Duration // when to try again
	}
	tests := []struct {
		name  string
		retry int
		steps []step
	}{
		{"no retries", 0, []step{{at: 0, removed: true}}},
		{"hard", -1, []step{{at: 0, hard: true, removed: true}}},
		{"back-off doubles up to its bound", -1, []step{
			{at: 0, next: 1 * s}, {at: 1 * s, next: 3 * s}, {at: 3 * s, next: 7 * s}, {at: 7 * s, next: 10 * s}, {at: 10 * s, next: 14 * s}, {at: 14 * s, next: 18 * s}, {at: 18 * s, next: 20 * s},
		}},
		{"one outage counts once in an interval", 1, []step{
			{at: 0, next: 1 * s}, {at: 1 * s, next: 3 * s}, {at: 9 * s, next: 10 * s}, {at: 10 * s, removed: true},
		}},
		{"two retries: removed after two intervals, as IceStorm", 2, []step{
			{at: 0, next: 1 * s}, {at: 10 * s, next: 12 * s}, {at: 19 * s, next: 20 * s}, {at: 20 * s, removed: true},
		}},
		{"a success resets the count", 1, []step{
			{at: 0, next: 1 * s}, {at: 1 * s, success: true}, {at: 20 * s, next: 21 * s}, {at: 30 * s, removed: true},
		}},
		{"retries for ever", -1, []step{
			{at: 0, next: 1 * s}, {at: 100 * s, next: 102 * s}, {at: 200 * s, next: 204 * s}, {at: 9999 * s, next: 10003 * s},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rules := Rules{Retry: test.retry, Interval: 10 * s, FirstDelay: s, MaxDelay: 4 * s}
			var o Outage
			start := time.Unix(1e9, 0)
			for i, step := range test.steps {
				if step.success {
					o.Success()
					continue
				}
				next, removed := o.Fail(start.Add(step.at), step.hard, rules)
				if removed != step.removed || !removed && next.Sub(start) != step.next {
					t.Errorf("step %d: got %v, removed %v, want %v, %v", i, next.Sub(start), removed, step.next, step.removed)
				}
			}
		})
	}
}

func TestPardonAsksAgainAfterOneInterval(t *testing.T) {
	rules := Rules{Retry: 2, Interval: 10 * time.Second, FirstDelay: time.Second, MaxDelay: time.Second}
	var o Outage
	now := time.Unix(1e9, 0)
	next := o.Pardon(now, rules)
	if got := next.Sub(now); got != time.Second {
		t.Errorf("got %v, want 1s", got)
	}
	if _, removed := o.Fail(now.Add(9*time.Second), false, rules); removed {
		t.Error("removed within the interval")
	}
	if _, removed := o.Fail(now.Add(10*time.Second), false, rules); !removed {
		t.Error("not removed after it")
	}
}

// TestOutageModel: however the tries of one lasting outage are spread, a
// receiver with n retries is removed at the first try after n intervals, and
// never sooner; and each next try comes soon, but not too soon.
func TestOutageModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := Rules{Retry: rapid.IntRange(-1, 4).Draw(t, "retry"), Interval: 10 * time.Second, FirstDelay: time.Second, MaxDelay: 4 * time.Second}
		var o Outage
		start := time.Unix(1e9, 0)
		now, counted, since := start, 0, time.Time{}
		for range rapid.IntRange(1, 50).Draw(t, "tries") {
			next, removed := o.Fail(now, false, rules)
			counts := counted == 0 || now.Sub(since) >= rules.Interval
			if want := counts && rules.Retry >= 0 && counted >= rules.Retry; removed != want {
				t.Fatalf("after %v: removed %v, want %v", now.Sub(start), removed, want)
			}
			if removed {
				return
			}
			if counts {
				counted, since = counted+1, now
			}
			if wait := next.Sub(now); wait <= 0 || wait > rules.MaxDelay {
				t.Fatalf("next try after %v", wait)
			}
			now = next.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "late")) * time.Millisecond)
			if rapid.IntRange(0, 9).Draw(t, "works") == 0 {
				o.Success()
				counted = 0
			}
		}
	})
}
