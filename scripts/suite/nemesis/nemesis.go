package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/scripts/suite/schedule"
)

// Nemesis carries out schedules.
type Nemesis struct {
	Lab Lab
	Log *history.Log
	// Leader returns the leader's name, empty where nobody knows one.
	Leader func() string

	victims map[int][]string // of each step under way
	down    map[string]int   // how many steps keep a node down
	paused  map[string]int
	frozen  map[string]int
	full    map[string]bool // nodes that may have met a full disk
	away    map[string]bool // nodes that may be no members
	gone    map[string]bool // nodes that went and were not seen to be back
	unsure  map[string]bool // nodes of which it is not known whether they went
	failed  map[string]bool // nodes whose disk may have failed
	damaged map[string]bool // nodes with a damaged file that are not known to do with it
	scarred map[string]bool // nodes that started in spite of one
	outcome map[int]check.Damage
	faults  map[int]check.Fault
}

// action is the begin or the end of a step.
type action struct {
	at    time.Duration
	step  schedule.Step
	begin bool
}

// Run begins and ends the steps at their times from now on, until all are over
// or ctx ends, and then makes everything whole. It returns the faults there
// were, with the times at which they began and ended. An error means that the
// lab did not do what it was told, so the run is void.
func (n *Nemesis) Run(ctx context.Context, steps []schedule.Step) ([]check.Fault, error) {
	n.reset()
	start := time.Now()
	var errs []error
	for _, a := range actions(steps) {
		if !await(ctx, start.Add(a.at)) {
			break
		}
		if err := n.act(a); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a.step.What(), err))
			break
		}
	}
	errs = append(errs, n.whole())
	return n.list(), errors.Join(errs...)
}

// Hold begins a fault and leaves it until ctx ends, and then makes everything
// whole. During is called in between, with whom the fault has struck.
func (n *Nemesis) Hold(ctx context.Context, s schedule.Step, during func(victims []string)) ([]check.Fault, error) {
	n.reset()
	err := n.begin(s)
	if err == nil {
		during(n.victims[s.Number])
		<-ctx.Done()
	} else {
		err = fmt.Errorf("%s: %w", s.What(), err)
	}
	err = errors.Join(err, n.whole())
	return n.list(), err
}

func (n *Nemesis) reset() {
	n.victims, n.faults = map[int][]string{}, map[int]check.Fault{}
	n.full, n.away, n.gone, n.unsure = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	n.failed, n.damaged, n.scarred = map[string]bool{}, map[string]bool{}, map[string]bool{}
	n.outcome = map[int]check.Damage{}
	n.down, n.paused, n.frozen = map[string]int{}, map[string]int{}, map[string]int{}
}

func actions(steps []schedule.Step) []action {
	var all []action
	for _, s := range steps {
		all = append(all, action{s.At, s, true}, action{s.End(), s, false})
	}
	slices.SortStableFunc(all, func(a, b action) int { return int(a.at - b.at) })
	return all
}

func await(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

func (n *Nemesis) act(a action) error {
	if a.begin {
		return n.begin(a.step)
	}
	return n.end(a.step)
}

func (n *Nemesis) begin(s schedule.Step) error {
	victims := n.resolve(s.Victims)
	n.victims[s.Number] = victims
	n.Log.Note("fault", strings.Join(victims, ","), "begin "+s.What(), nil)
	f := check.Fault{Kind: string(s.Kind), Nodes: victims, Apart: s.Apart, Start: n.Log.Now(), End: history.Never}
	err := n.do(s, victims)
	f.Held = check.Span{Start: n.Log.Now(), End: history.Never}
	if d, there := n.outcome[s.Number]; there {
		f.Damage = &d
	}
	n.faults[s.Number] = f
	return err
}

func (n *Nemesis) end(s schedule.Step) error {
	victims := n.victims[s.Number]
	f := n.faults[s.Number]
	f.Held.End = n.Log.Now()
	err := n.undo(s, victims)
	if !slices.ContainsFunc(victims, func(name string) bool { return n.gone[name] }) {
		f.End = n.Log.Now() // else when everything is whole
	}
	n.faults[s.Number] = f
	delete(n.victims, s.Number)
	n.Log.Note("fault", strings.Join(victims, ","), "end "+s.What(), nil)
	return err
}

// resolve names the victims; the leader is who leads now, or the first node.
func (n *Nemesis) resolve(numbers []int) []string {
	var out []string
	for _, v := range numbers {
		name := fmt.Sprintf("n%d", v)
		if v == schedule.Leader {
			if name = n.Leader(); name == "" {
				name = n.Lab.Names()[0]
			}
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// whole takes back everything, whatever was done before.
func (n *Nemesis) whole() error {
	clear(n.down)
	clear(n.paused)
	undoing := n.Log.Now()
	errs := []error{n.Lab.Heal("")}
	for _, name := range n.Lab.Names() {
		errs = append(errs, n.Lab.Thaw(name), n.makeRoom(name), n.Lab.Resume(name), n.Lab.SetClock(name, 0), n.relieve(name), n.Lab.Start(name))
	}
	for _, name := range n.Lab.Names() {
		errs = append(errs, n.repair(name, comingHome))
		n.back(name, comingHome)
	}
	for number, f := range n.faults {
		if f.End == history.Never {
			f.Held.End, f.End = undoing, n.Log.Now()
			n.faults[number] = f
		}
	}
	n.Log.Note("fault", "", "all healed", nil)
	return errors.Join(errs...)
}

func (n *Nemesis) list() []check.Fault {
	var out []check.Fault
	for _, f := range n.faults {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b check.Fault) int { return int(a.Start - b.Start) })
	return out
}
