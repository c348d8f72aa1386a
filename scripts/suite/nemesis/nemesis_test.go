package nemesis_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/suite/history"
	"floe/scripts/suite/nemesis"
	"floe/scripts/suite/schedule"
)

// recorder is a lab that writes down what is done to it, and when.
type recorder struct {
	start time.Time
	done  []string
}

func (r *recorder) note(format string, args ...any) error {
	r.done = append(r.done, fmt.Sprintf("%v ", time.Since(r.start))+fmt.Sprintf(format, args...))
	return nil
}

func (r *recorder) Names() []string          { return []string{"n1", "n2", "n3"} }
func (r *recorder) Kill(node string) error   { return r.note("kill %s", node) }
func (r *recorder) Start(node string) error  { return r.note("start %s", node) }
func (r *recorder) Pause(node string) error  { return r.note("pause %s", node) }
func (r *recorder) Resume(node string) error { return r.note("resume %s", node) }
func (r *recorder) Heal(name string) error   { return r.note("heal %s", name) }
func (r *recorder) Partition(name string, victims []string, apart bool) error {
	return r.note("partition %s %v %v", name, victims, apart)
}
func (r *recorder) Oneway(name string, from, to []string) error {
	return r.note("oneway %s %v>%v", name, from, to)
}

// story runs steps in a bubble of time and returns what was done, without the
// healing of everything at the end.
func story(t *testing.T, limit time.Duration, steps ...schedule.Step) (done []string, faults int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log, err := history.Create(filepath.Join(t.TempDir(), "h"), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		r := &recorder{start: time.Now()}
		n := nemesis.Nemesis{Lab: r, Log: log, Leader: func() string { return "n2" }}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		all, err := n.Run(ctx, steps)
		if err != nil {
			t.Error(err)
		}
		end := strings.Join(r.done[len(r.done)-7:], "\n")
		for _, want := range []string{"heal \n", "resume n1", "start n1", "resume n3", "start n3"} {
			if !strings.Contains(end, want) {
				t.Errorf("the end lacks %q:\n%s", want, end)
			}
		}
		for _, f := range all {
			if f.End == history.Never {
				t.Errorf("fault %v has no end", f)
			}
		}
		done, faults = r.done[:len(r.done)-7], len(all)
	})
	return done, faults
}

const second = time.Second

func TestOverlappingKillsKeepANodeDown(t *testing.T) {
	got, _ := story(t, time.Minute,
		schedule.Step{Number: 1, At: second, Length: 3 * second, Kind: schedule.Kill, Victims: []int{schedule.Leader}},
		schedule.Step{Number: 2, At: 2 * second, Length: 5 * second, Kind: schedule.Kill, Victims: []int{2, 3}},
		schedule.Step{Number: 3, At: 3 * second, Length: 2 * second, Kind: schedule.Pause, Victims: []int{schedule.Leader, 2}},
	)
	want := []string{
		"1s kill n2",
		"2s kill n2", "2s kill n3",
		"3s pause n2",
		"5s resume n2",
		"7s start n2", "7s start n3",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("done (-got +want):\n%s", d)
	}
}

func TestOverlappingPausesKeepANodePaused(t *testing.T) {
	got, _ := story(t, time.Minute,
		schedule.Step{Number: 1, At: second, Length: 3 * second, Kind: schedule.Pause, Victims: []int{1}},
		schedule.Step{Number: 2, At: 2 * second, Length: 4 * second, Kind: schedule.Pause, Victims: []int{1}},
	)
	if d := cmp.Diff(got, []string{"1s pause n1", "2s pause n1", "6s resume n1"}); d != "" {
		t.Errorf("done (-got +want):\n%s", d)
	}
}

func TestCuts(t *testing.T) {
	got, _ := story(t, time.Minute,
		schedule.Step{Number: 1, At: second, Length: second, Kind: schedule.Partition, Victims: []int{1, 2, 3}, Apart: true},
		schedule.Step{Number: 2, At: 3 * second, Length: second, Kind: schedule.Oneway, Victims: []int{1}},
		schedule.Step{Number: 3, At: 5 * second, Length: second, Kind: schedule.Oneway, Victims: []int{1}, Incoming: true},
	)
	want := []string{
		"1s partition step-1 [n1 n2 n3] true", "2s heal step-1",
		"3s oneway step-2 [n1]>[n2 n3]", "4s heal step-2",
		"5s oneway step-3 [n2 n3]>[n1]", "6s heal step-3",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("done (-got +want):\n%s", d)
	}
}

// A run that is interrupted begins nothing more and heals what it began.
func TestInterrupted(t *testing.T) {
	got, faults := story(t, 2*second,
		schedule.Step{Number: 1, At: second, Length: 10 * second, Kind: schedule.Pause, Victims: []int{1}},
		schedule.Step{Number: 2, At: 3 * second, Length: second, Kind: schedule.Kill, Victims: []int{1}},
	)
	if d := cmp.Diff(got, []string{"1s pause n1"}); d != "" || faults != 1 {
		t.Errorf("%d faults, want 1; done (-got +want):\n%s", faults, d)
	}
}
