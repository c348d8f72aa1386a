package nemesis_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/suite/history"
	"floe/scripts/suite/lab"
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

func (r *recorder) Names() []string            { return []string{"n1", "n2", "n3"} }
func (r *recorder) Kill(node string) error     { return r.note("kill %s", node) }
func (r *recorder) Start(node string) error    { return r.note("start %s", node) }
func (r *recorder) Pause(node string) error    { return r.note("pause %s", node) }
func (r *recorder) Resume(node string) error   { return r.note("resume %s", node) }
func (r *recorder) Heal(name string) error     { return r.note("heal %s", name) }
func (r *recorder) PowerCut(node string) error { return r.note("power %s", node) }
func (r *recorder) Fill(node string, leave int64) error {
	return r.note("fill %s %d", node, leave)
}
func (r *recorder) Empty(node string) error   { return r.note("empty %s", node) }
func (r *recorder) Freeze(node string) error  { return r.note("freeze %s", node) }
func (r *recorder) Thaw(node string) error    { return r.note("thaw %s", node) }
func (r *recorder) Relieve(node string) error { return r.note("relieve %s", node) }
func (r *recorder) Afflict(node string, t lab.Trouble) error {
	return r.note("afflict %s %s", node, t)
}
func (r *recorder) Move(nodes ...string) error { return r.note("move %v", nodes) }
func (r *recorder) Damage(node, file string, place int) (string, error) {
	return "byte 5 of /" + node + "/" + file, r.note("damage %s %s %d", node, file, place)
}
func (r *recorder) Comes(ctx context.Context, node string) error {
	err := r.note("comes %s", node)
	switch node {
	case "n1": // the one that refuses damaged files
		err = &lab.Refusal{Node: node, Words: "damaged"}
	case "n3": // the one that hangs
		<-ctx.Done()
		err = ctx.Err()
	}
	return err
}
func (r *recorder) SetClock(node string, offset time.Duration) error {
	return r.note("clock %s %s", node, offset)
}
func (r *recorder) Bridge(name, over string) error { return r.note("bridge %s %s", name, over) }
func (r *recorder) Spoil(name string, from, to []string, q lab.Quality) error {
	return r.note("spoil %s %v>%v %+v", name, from, to, q)
}
func (r *recorder) Go(_ context.Context, node string, exit schedule.Exit) error {
	err := r.note("go %s %s", node, exit)
	if node == "n2" { // the one of which nobody knows
		err = errors.New("outcome unknown")
	}
	return err
}
func (r *recorder) Return(ctx context.Context, node string) error {
	if node == "n3" { // the one that does not come back
		<-ctx.Done()
		return ctx.Err()
	}
	return r.note("return %s", node)
}
func (r *recorder) Partition(name string, victims []string, apart bool) error {
	return r.note("partition %s %v %v", name, victims, apart)
}
func (r *recorder) Oneway(name string, from, to []string) error {
	return r.note("oneway %s %v>%v", name, from, to)
}

// story runs steps in a bubble of time and returns what was done, before and for
// the healing of everything at the end.
func story(t *testing.T, limit time.Duration, steps ...schedule.Step) (done []string, faults int, healed []string) {
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
		healing := slices.IndexFunc(r.done, func(text string) bool { return strings.HasSuffix(text, " heal ") })
		end := strings.Join(r.done[healing:], "\n")
		for _, node := range r.Names() {
			for _, want := range []string{"thaw " + node, "resume " + node, "clock " + node + " 0s", "start " + node} {
				if !strings.Contains(end, want) {
					t.Errorf("the end lacks %q:\n%s", want, end)
				}
			}
		}
		for _, f := range all {
			if f.End == history.Never {
				t.Errorf("fault %v has no end", f)
			}
		}
		done, faults, healed = r.done[:healing], len(all), r.done[healing:]
	})
	return done, faults, healed
}

const second = time.Second

func TestOverlappingKillsKeepANodeDown(t *testing.T) {
	got, _, _ := story(t, time.Minute,
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
	got, _, _ := story(t, time.Minute,
		schedule.Step{Number: 1, At: second, Length: 3 * second, Kind: schedule.Pause, Victims: []int{1}},
		schedule.Step{Number: 2, At: 2 * second, Length: 4 * second, Kind: schedule.Pause, Victims: []int{1}},
	)
	if d := cmp.Diff(got, []string{"1s pause n1", "2s pause n1", "6s resume n1"}); d != "" {
		t.Errorf("done (-got +want):\n%s", d)
	}
}

func TestCuts(t *testing.T) {
	got, _, _ := story(t, time.Minute,
		schedule.Step{Number: 1, At: second, Length: second, Kind: schedule.Partition, Victims: []int{1, 2, 3}, Apart: true},
		schedule.Step{Number: 2, At: 3 * second, Length: second, Kind: schedule.Oneway, Victims: []int{1}},
		schedule.Step{Number: 3, At: 5 * second, Length: second, Kind: schedule.Oneway, Victims: []int{1}, Incoming: true},
		schedule.Step{Number: 4, At: 7 * second, Length: second, Kind: schedule.Bridge, Victims: []int{schedule.Leader}},
	)
	want := []string{
		"1s partition step-1 [n1 n2 n3] true", "2s heal step-1",
		"3s oneway step-2 [n1]>[n2 n3]", "4s heal step-2",
		"5s oneway step-3 [n2 n3]>[n1]", "6s heal step-3",
		"7s bridge step-4 n2", "8s heal step-4",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("done (-got +want):\n%s", d)
	}
}

func TestBadLines(t *testing.T) {
	got, _, _ := story(t, time.Minute,
		schedule.Step{Number: 1, At: second, Length: second, Kind: schedule.Delay, Victims: []int{1}, Delay: 300 * time.Millisecond},
		schedule.Step{Number: 2, At: 3 * second, Length: second, Kind: schedule.Loss, Victims: []int{2}, Percent: 20},
		schedule.Step{Number: 3, At: 5 * second, Length: second, Kind: schedule.Corrupt, Victims: []int{3}, Percent: 4},
	)
	all := "[n1 n2 n3]"
	want := []string{
		fmt.Sprintf("1s spoil step-1 %s>[n1] %+v", all, lab.Quality{Delay: 300 * time.Millisecond, Jitter: 150 * time.Millisecond}), "2s heal step-1",
		fmt.Sprintf("3s spoil step-2 %s>[n2] %+v", all, lab.Quality{Loss: 20, Duplicate: 10, Reorder: 20}), "4s heal step-2",
		fmt.Sprintf("5s spoil step-3 %s>[n3] %+v", all, lab.Quality{Corrupt: 4}), "6s heal step-3",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("done (-got +want):\n%s", d)
	}
}

func TestDisksAndClocks(t *testing.T) {
	got, _, _ := story(t, time.Minute,
		schedule.Step{Number: 1, At: second, Length: 3 * second, Kind: schedule.Power, Victims: []int{1}},
		schedule.Step{Number: 2, At: 2 * second, Length: second, Kind: schedule.DiskFull, Victims: []int{1, 2}, Room: 6},
		schedule.Step{Number: 3, At: 5 * second, Length: 2 * second, Kind: schedule.DiskHang, Victims: []int{3}},
		schedule.Step{Number: 4, At: 6 * second, Length: 2 * second, Kind: schedule.DiskHang, Victims: []int{3}},
		schedule.Step{Number: 5, At: 9 * second, Length: second, Kind: schedule.Clock, Victims: []int{1}, Offset: -time.Hour},
	)
	want := []string{
		"1s power n1",
		"2s fill n1 6291456", "2s fill n2 6291456",
		"3s empty n1", "3s empty n2", "3s kill n2", "3s start n2", // n1 is without power
		"4s start n1",
		"5s freeze n3", "6s freeze n3",
		"8s thaw n3", "8s start n3",
		"9s clock n1 -1h0m0s", "10s clock n1 0s",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("done (-got +want):\n%s", d)
	}
}

// A node that does not come back is waited for, but not for long, and once more
// at the end; no other one goes meanwhile. One that is dead is not asked to go.
func TestChurn(t *testing.T) {
	got, _, healed := story(t, time.Minute,
		schedule.Step{Number: 1, At: second, Length: second, Kind: schedule.Churn, Victims: []int{1}, Exit: schedule.Leave},
		schedule.Step{Number: 2, At: 3 * second, Length: second, Kind: schedule.Churn, Victims: []int{2}, Exit: schedule.Remove},
		schedule.Step{Number: 3, At: 6 * second, Length: 3 * second, Kind: schedule.Kill, Victims: []int{2}},
		schedule.Step{Number: 4, At: 7 * second, Length: second, Kind: schedule.Churn, Victims: []int{2}, Exit: schedule.Remove},
		schedule.Step{Number: 5, At: 10 * second, Length: second, Kind: schedule.Churn, Victims: []int{3}, Exit: schedule.Replace},
		schedule.Step{Number: 6, At: 40 * second, Length: second, Kind: schedule.Churn, Victims: []int{1}, Exit: schedule.Remove},
	)
	want := []string{"1s go n1 leave", "2s return n1", "3s go n2 remove", "4s return n2", "6s kill n2", "9s start n2", "10s go n3 replace"}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("done (-got +want):\n%s", d)
	}
	if slices.ContainsFunc(healed, func(text string) bool { return strings.HasSuffix(text, "return n1") }) {
		t.Errorf("n1 was asked again though it had come back: %q", healed)
	}
	if !slices.ContainsFunc(healed, func(text string) bool { return strings.HasSuffix(text, "return n2") }) {
		t.Errorf("n2, which may or may not have gone, was not asked at the end: %q", healed)
	}
}

// A disk that failed has its node started anew, one that was slow does not.
func TestDisksInTrouble(t *testing.T) {
	got, _, _ := story(t, time.Minute,
		schedule.Step{Number: 1, At: second, Length: second, Kind: schedule.DiskError, Victims: []int{1, 2}},
		schedule.Step{Number: 2, At: 3 * second, Length: second, Kind: schedule.DiskError, Victims: []int{schedule.Leader}, Lasting: true},
		schedule.Step{Number: 3, At: 5 * second, Length: second, Kind: schedule.DiskSlow, Victims: []int{3}, Delay: 200 * time.Millisecond},
		schedule.Step{Number: 4, At: 7 * second, Length: 3 * second, Kind: schedule.Kill, Victims: []int{1}},
		schedule.Step{Number: 5, At: 8 * second, Length: second, Kind: schedule.DiskError, Victims: []int{1}},
	)
	want := []string{
		"1s afflict n1 once", "1s afflict n2 once", "2s relieve n1", "2s kill n1", "2s start n1", "2s relieve n2", "2s kill n2", "2s start n2",
		"3s afflict n2 always", "4s relieve n2", "4s kill n2", "4s start n2",
		"5s afflict n3 slow 200ms", "6s relieve n3",
		"7s kill n1", "8s afflict n1 once", "9s relieve n1", "10s start n1", // n1 is down when its disk is well again
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("done (-got +want):\n%s", d)
	}
}

// Nodes that move do so together, and come back unless another fault keeps them.
func TestMove(t *testing.T) {
	got, _, _ := story(t, time.Minute,
		schedule.Step{Number: 1, At: second, Length: 2 * second, Kind: schedule.Move, Victims: []int{1, 3}},
		schedule.Step{Number: 2, At: 2 * second, Length: 3 * second, Kind: schedule.Kill, Victims: []int{1}},
	)
	if d := cmp.Diff(got, []string{"1s move [n1 n3]", "2s kill n1", "3s start n3", "5s start n1"}); d != "" {
		t.Errorf("done (-got +want):\n%s", d)
	}
}

// A node that refuses its damaged files is replaced, one that starts is not, and
// looked at again at the end. What could be the second to lose its data is left
// alone, be it by damage or as a member that goes.
func TestDamage(t *testing.T) {
	damage := func(number int, at time.Duration, victim int) schedule.Step {
		return schedule.Step{Number: number, At: at, Length: 2 * second, Kind: schedule.Damage, Victims: []int{victim}, File: "log", Place: 7}
	}
	got, _, healed := story(t, time.Minute,
		damage(1, second, 2),
		damage(2, 4*second, 1),
		schedule.Step{Number: 3, At: 5 * second, Length: 500 * time.Millisecond, Kind: schedule.Churn, Victims: []int{3}, Exit: schedule.Replace},
		damage(4, 5*second, 3),
		damage(5, 8*second, 3),
	)
	want := []string{
		"1s kill n2", "1s damage n2 log 7", "1s comes n2", "3s comes n2",
		"4s kill n1", "4s damage n1 log 7", "4s comes n1", "6s comes n1", "6s go n1 replace", "6s return n1",
		"8s kill n3", "8s damage n3 log 7", "8s comes n3", "13s comes n3", "18s go n3 replace",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("done (-got +want):\n%s", d)
	}
	text := strings.Join(healed, "\n")
	if !strings.Contains(text, "comes n2") || strings.Contains(text, "return n1") {
		t.Errorf("at the end:\n%s", text)
	}
}

// A disk that is full when a run ends early is emptied, and its node restarted.
func TestInterruptedWhileADiskIsFull(t *testing.T) {
	_, _, healed := story(t, 2*second, schedule.Step{Number: 1, At: second, Length: 10 * second, Kind: schedule.DiskFull, Victims: []int{1}})
	text := strings.Join(healed, "\n")
	for _, want := range []string{"empty n1\n2s kill n1\n2s start n1", "start n3"} {
		if !strings.Contains(text, want) {
			t.Errorf("the end lacks %q:\n%s", want, text)
		}
	}
}

// A fault that is held stays until its time is over, and is healed then.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, err := history.Create(filepath.Join(t.TempDir(), "h"), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		r := &recorder{start: time.Now()}
		n := nemesis.Nemesis{Lab: r, Log: log, Leader: func() string { return "n2" }}
		ctx, cancel := context.WithTimeout(t.Context(), 5*second)
		defer cancel()
		faults, err := n.Hold(ctx, schedule.Step{Number: 9, Kind: schedule.Pause, Victims: []int{3}}, func(victims []string) { _ = r.note("held %v", victims) })
		if err != nil || len(faults) != 1 || faults[0].End-faults[0].Start != int64(5*second) {
			t.Errorf("faults %v, %v", faults, err)
		}
		if d := cmp.Diff(r.done[:3], []string{"0s pause n3", "0s held [n3]", "5s heal "}); d != "" {
			t.Errorf("done (-got +want):\n%s", d)
		}
	})
}

// A run that is interrupted begins nothing more and heals what it began.
func TestInterrupted(t *testing.T) {
	got, faults, _ := story(t, 2*second,
		schedule.Step{Number: 1, At: second, Length: 10 * second, Kind: schedule.Pause, Victims: []int{1}},
		schedule.Step{Number: 2, At: 3 * second, Length: second, Kind: schedule.Kill, Victims: []int{1}},
	)
	if d := cmp.Diff(got, []string{"1s pause n1"}); d != "" || faults != 1 {
		t.Errorf("%d faults, want 1; done (-got +want):\n%s", faults, d)
	}
}
