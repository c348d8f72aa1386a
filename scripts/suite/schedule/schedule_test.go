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
	for _, c := range []struct {
		kinds  string
		length time.Duration
		golden string
	}{
		{"kill,pause,partition,oneway", 30 * time.Second, goldenFour},
		{"all", 2 * time.Minute, goldenAll},
	} {
		kinds, err := schedule.ParseKinds(c.kinds)
		if err != nil {
			t.Fatal(err)
		}
		first := schedule.Make(7, 3, kinds, c.length)
		if d := cmp.Diff(schedule.Make(7, 3, kinds, c.length), first); d != "" {
			t.Errorf("%s: a second draw differs (-got +want):\n%s", c.kinds, d)
		}
		var got []string
		for _, s := range first {
			got = append(got, s.String())
		}
		want := strings.Split(strings.Trim(c.golden, "\n"), "\n")
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("%s: seed 7 (-got +want):\n%s", c.kinds, d)
		}
		if cmp.Equal(schedule.Make(8, 3, kinds, c.length), first) {
			t.Errorf("%s: seeds 7 and 8 give one schedule", c.kinds)
		}
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
		if seen[k] < 300 {
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
	if (s.Kind == schedule.Bridge || s.Kind == schedule.Churn) && len(s.Victims) != 1 {
		t.Errorf("%s: more than one victim", where)
	}
	for _, v := range s.Victims {
		if v < schedule.Leader || v > nodes {
			t.Errorf("%s: no node n%d", where, v)
		}
	}
}

// What lasts strikes a minority of named nodes, so that others can be told to be
// the majority.
func TestLastingFaultLeavesAMajority(t *testing.T) {
	seen := map[schedule.Kind]int{}
	for seed := range uint64(1000) {
		for _, nodes := range []int{3, 5} {
			s, ok := schedule.Lasting(seed, nodes, schedule.Kinds)
			if again, _ := schedule.Lasting(seed, nodes, schedule.Kinds); !ok || !cmp.Equal(s, again) {
				t.Fatalf("seed %d: %v, then %v", seed, s, again)
			}
			seen[s.Kind]++
			s.At = time.Second
			checkStep(t, seed, nodes, s)
			if 2*len(s.Victims) >= nodes || slices.Contains(s.Victims, schedule.Leader) {
				t.Errorf("seed %d, %d nodes: victims %v", seed, nodes, s.Victims)
			}
		}
	}
	for _, k := range schedule.Kinds {
		if seen[k] == 0 {
			t.Errorf("%s never lasts", k)
		}
	}
	if _, ok := schedule.Lasting(1, 3, nil); ok {
		t.Error("a fault of no kind")
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

const goldenFour = `
 1     1.0s to    7.8s  partition n1
 2    11.6s to   15.6s  kill the leader
 3    17.6s to   22.5s  kill n2, n3
`

const goldenAll = `
 1     1.0s to    8.0s  loss n1: 39 % of what it hears
 2     9.8s to   14.5s  delay n1, n2, n3: hears others 500ms late
 3    16.5s to   22.4s  clock n1, n2, n3: -900 s
 4    26.0s to   30.9s  diskhang the leader
 5    28.4s to   34.0s  bridge n2: the only way between two halves
 6    31.2s to   36.9s  pause n1
 7    40.9s to   41.4s  kill n3
 8    43.8s to   51.6s  corrupt n1, n2, n3: 6 % of what it hears
 9    54.0s to   56.5s  diskfull the leader: 6 MiB left
10    59.1s to   64.8s  loss n3: 26 % of what it hears
11    66.8s to   70.2s  bridge the leader: the only way between two halves
12    72.2s to   76.0s  diskfull n1: 6 MiB left
13    79.8s to   85.0s  pause n3
14    88.5s to   92.0s  churn the leader: leave
15    95.5s to   97.7s  churn the leader: replace
16   101.2s to  106.5s  pause the leader
17   109.7s to  116.8s  partition the leader
`
