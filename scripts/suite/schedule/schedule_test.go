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
		if seen[k] < 250 {
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
	if slices.Contains([]schedule.Kind{schedule.Bridge, schedule.Churn, schedule.Damage}, s.Kind) && len(s.Victims) != 1 {
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
 1     1.0s to    5.1s  power n1
 2     8.9s to   15.7s  partition the leader
 3    17.7s to   21.3s  damage the leader: a bit of its identity, at 35.4 %
 4    23.5s to   30.6s  corrupt n2: 5 % of what it hears
 5    32.3s to   39.1s  delay the leader: hears others 500ms late
 6    40.6s to   42.7s  diskfull n1, n2, n3: 0 MiB left
 7    44.6s to   49.5s  loss n1, n2, n3: 27 % of what it hears
 8    51.6s to   52.1s  move n1
 9    53.7s to   57.1s  pause the leader
10    59.4s to   62.5s  power n2, n3
11    64.6s to   71.2s  loss the leader: 40 % of what it hears
12    67.9s to   73.8s  clock n3: +10 s
13    75.3s to   79.8s  churn n3: replace
14    83.1s to   88.0s  power n1, n2, n3
15    85.5s to   89.5s  diskhang the leader
16    92.5s to   99.5s  corrupt the leader: 6 % of what it hears
17    96.0s to   98.8s  pause n2, n3
18   102.3s to  104.8s  kill n3
19   107.8s to  115.3s  oneway the leader: hears nobody
`
