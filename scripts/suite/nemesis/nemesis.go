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
	"floe/scripts/suite/lab"
	"floe/scripts/suite/schedule"
)

// Lab is what a nemesis does to nodes; see [Of].
type Lab interface {
	Names() []string
	Kill(node string) error
	Start(node string) error
	Pause(node string) error
	Resume(node string) error
	Partition(name string, victims []string, apart bool) error
	Oneway(name string, from, to []string) error
	Heal(name string) error
}

// Nemesis carries out schedules.
type Nemesis struct {
	Lab Lab
	Log *history.Log
	// Leader returns the leader's name, empty where nobody knows one.
	Leader func() string

	victims map[int][]string // of each step under way
	down    map[string]int   // how many steps keep a node down
	paused  map[string]int
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
	n.victims, n.down, n.paused, n.faults = map[int][]string{}, map[string]int{}, map[string]int{}, map[int]check.Fault{}
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
	n.faults[s.Number] = check.Fault{Kind: string(s.Kind), Nodes: victims, Start: n.Log.Now(), End: history.Never}
	name := fmt.Sprintf("step-%d", s.Number)
	switch s.Kind {
	case schedule.Kill:
		return n.each(victims, n.kill)
	case schedule.Pause:
		return n.each(victims, n.pause)
	case schedule.Partition:
		return n.Lab.Partition(name, victims, s.Apart)
	case schedule.Oneway:
		if s.Incoming {
			return n.Lab.Oneway(name, n.others(victims), victims)
		}
		return n.Lab.Oneway(name, victims, n.others(victims))
	}
	return fmt.Errorf("no fault %q", s.Kind)
}

func (n *Nemesis) end(s schedule.Step) error {
	victims := n.victims[s.Number]
	err := n.undo(s, victims)
	f := n.faults[s.Number]
	f.End = n.Log.Now()
	n.faults[s.Number] = f
	delete(n.victims, s.Number)
	n.Log.Note("fault", strings.Join(victims, ","), "end "+s.What(), nil)
	return err
}

func (n *Nemesis) undo(s schedule.Step, victims []string) error {
	switch s.Kind {
	case schedule.Kill:
		return n.each(victims, n.start)
	case schedule.Pause:
		return n.each(victims, n.resume)
	}
	return n.Lab.Heal(fmt.Sprintf("step-%d", s.Number))
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

func (n *Nemesis) others(names []string) []string {
	return slices.DeleteFunc(slices.Clone(n.Lab.Names()), func(x string) bool { return slices.Contains(names, x) })
}

func (n *Nemesis) each(names []string, f func(string) error) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, f(name))
	}
	return errors.Join(errs...)
}

func (n *Nemesis) kill(name string) error {
	n.down[name]++
	return n.Lab.Kill(name)
}

// start starts a node again, unless another step keeps it down.
func (n *Nemesis) start(name string) error {
	n.down[name]--
	if n.down[name] > 0 {
		return nil
	}
	return n.Lab.Start(name)
}

func (n *Nemesis) pause(name string) error {
	n.paused[name]++
	return n.Lab.Pause(name)
}

func (n *Nemesis) resume(name string) error {
	n.paused[name]--
	if n.paused[name] > 0 {
		return nil
	}
	return n.Lab.Resume(name)
}

// whole takes back everything, whatever was done before.
func (n *Nemesis) whole() error {
	errs := []error{n.Lab.Heal("")}
	for _, name := range n.Lab.Names() {
		errs = append(errs, n.Lab.Resume(name), n.Lab.Start(name))
	}
	for number, f := range n.faults {
		if f.End == history.Never {
			f.End = n.Log.Now()
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

// Of makes a lab a [Lab].
func Of(l *lab.Lab) Lab { return nodes{l} }

type nodes struct{ *lab.Lab }

func (l nodes) on(name string, f func(*lab.Node) error) error {
	n, err := l.Node(name)
	if err != nil {
		return err
	}
	return f(n)
}

func (l nodes) Kill(node string) error   { return l.on(node, (*lab.Node).Kill) }
func (l nodes) Start(node string) error  { return l.on(node, (*lab.Node).Start) }
func (l nodes) Pause(node string) error  { return l.on(node, (*lab.Node).Pause) }
func (l nodes) Resume(node string) error { return l.on(node, (*lab.Node).Resume) }
