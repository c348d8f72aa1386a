package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/suite/schedule"
)

// A seed means the same schedule on every machine and for ever: old reports
// can be repeated.
func TestScheduleIsAFunctionOfTheSeed(t *testing.T) {
	first := schedule.Make(7, 3, schedule.Kinds, 30*time.Second)
	if d := cmp.Diff(schedule.Make(7, 3, schedule.Kinds, 30*time.Second), first); d != "" {
		t.Errorf("a second draw differs (-got +want):\n%s", d)
	}
	var got []string
	for _, s := range first {
		got = append(got, s.String())
	}
	want := strings.Split(strings.Trim(goldenSeven, "\n"), "\n")
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("seed 7 (-got +want):\n%s", d)
	}
	if cmp.Equal(schedule.Make(8, 3, schedule.Kinds, 30*time.Second), first) {
		t.Error("seeds 7 and 8 give one schedule")
	}
}

func TestEveryScheduleKeepsItsBounds(t *testing.T) {
	seen := map[schedule.Kind]int{}
	for seed := range uint64(500) {
		for _, nodes := range []int{3, 5} {
			steps := schedule.Make(seed, nodes, schedule.Kinds, time.Minute)
			if len(steps) < 4 {
				t.Errorf("seed %d: only %d steps in a minute", seed, len(steps))
			}
			for _, s := range steps {
				seen[s.Kind]++
				checkStep(t, seed, nodes, s)
			}
		}
	}
	for _, k := range schedule.Kinds {
		if seen[k] < 100 {
			t.Errorf("%s came %d times in 1000 schedules", k, seen[k])
		}
	}
}

func checkStep(t *testing.T, seed uint64, nodes int, s schedule.Step) {
	t.Helper()
	where := fmt.Sprintf("seed %d, %d nodes: %s", seed, nodes, s)
	if s.At < time.Second || s.End() > time.Minute || s.Length <= 0 {
		t.Errorf("%s: out of the time given", where)
	}
	if len(s.Victims) == 0 || len(s.Victims) > nodes {
		t.Errorf("%s: %d victims", where, len(s.Victims))
	}
	if !slices.IsSorted(s.Victims) || len(slices.Compact(slices.Clone(s.Victims))) != len(s.Victims) {
		t.Errorf("%s: the victims are no set", where)
	}
	for _, v := range s.Victims {
		if v < schedule.Leader || v > nodes {
			t.Errorf("%s: no node n%d", where, v)
		}
	}
}

func TestParseKinds(t *testing.T) {
	for text, want := range map[string][]schedule.Kind{
		"all":        schedule.Kinds,
		"kill":       {schedule.Kill},
		"pause,kill": {schedule.Pause, schedule.Kill},
		"kill,kill":  {schedule.Kill},
		"":           nil,
		"kill,":      nil,
		"murder":     nil,
	} {
		got, err := schedule.ParseKinds(text)
		if (err != nil) != (want == nil) || !slices.Equal(got, want) {
			t.Errorf("ParseKinds(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

const goldenSeven = `
 1     1.0s to    7.8s  partition n1
 2    11.6s to   15.6s  kill the leader
 3    17.6s to   22.5s  kill n2, n3
`
