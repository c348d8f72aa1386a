package nemesis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/lab"
	"floe/scripts/suite/schedule"
)

func stepName(s schedule.Step) string { return fmt.Sprintf("step-%d", s.Number) }

// do begins a fault.
func (n *Nemesis) do(s schedule.Step, victims []string) error {
	name := stepName(s)
	switch s.Kind {
	case schedule.Kill:
		return each(victims, func(v string) error { return n.takeDown(v, n.Lab.Kill) })
	case schedule.Power:
		return each(victims, func(v string) error { return n.takeDown(v, n.Lab.PowerCut) })
	case schedule.Pause:
		return each(victims, n.pause)
	case schedule.Partition:
		return n.Lab.Partition(name, victims, s.Apart)
	case schedule.Oneway:
		if s.Incoming {
			return n.Lab.Oneway(name, n.others(victims), victims)
		}
		return n.Lab.Oneway(name, victims, n.others(victims))
	case schedule.Bridge:
		return n.Lab.Bridge(name, victims[0])
	case schedule.Delay, schedule.Loss, schedule.Corrupt:
		return n.Lab.Spoil(name, n.Lab.Names(), victims, quality(s))
	case schedule.DiskFull:
		return each(victims, func(v string) error { return n.fill(v, int64(s.Room)<<20) })
	case schedule.DiskHang:
		return each(victims, n.freeze)
	case schedule.Clock:
		return each(victims, func(v string) error { return n.Lab.SetClock(v, s.Offset) })
	case schedule.Churn:
		n.goAway(victims[0], s.Exit)
		return nil
	case schedule.DiskError, schedule.DiskSlow:
		return each(victims, func(v string) error { return n.afflict(v, s) })
	case schedule.Damage:
		return n.damage(victims[0], s)
	case schedule.Move:
		for _, v := range victims {
			n.down[v]++
		}
		return n.Lab.Move(victims...)
	}
	return fmt.Errorf("no fault %q", s.Kind)
}

// undo ends a fault.
func (n *Nemesis) undo(s schedule.Step, victims []string) error {
	switch s.Kind {
	case schedule.Kill, schedule.Power, schedule.Move:
		return each(victims, n.start)
	case schedule.Pause:
		return each(victims, n.resume)
	case schedule.DiskFull:
		return each(victims, n.makeRoom)
	case schedule.DiskHang:
		return each(victims, n.thaw)
	case schedule.Clock:
		return each(victims, func(v string) error { return n.Lab.SetClock(v, 0) })
	case schedule.Churn:
		n.back(victims[0], comingBack)
		return nil
	case schedule.DiskError, schedule.DiskSlow:
		return each(victims, n.relieve)
	case schedule.Damage:
		return n.repair(victims[0], comingBack)
	}
	return n.Lab.Heal(stepName(s))
}

// quality is how bad the lines of a step are.
func quality(s schedule.Step) lab.Quality {
	switch s.Kind {
	case schedule.Delay:
		return lab.Quality{Delay: s.Delay, Jitter: s.Delay / 2}
	case schedule.Loss:
		return lab.Quality{Loss: s.Percent, Duplicate: s.Percent / 2, Reorder: s.Percent}
	}
	return lab.Quality{Corrupt: s.Percent}
}

func (n *Nemesis) others(names []string) []string {
	return slices.DeleteFunc(slices.Clone(n.Lab.Names()), func(x string) bool { return slices.Contains(names, x) })
}

func each(names []string, f func(string) error) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, f(name))
	}
	return errors.Join(errs...)
}

// takeDown ends a node by a kill or a power cut.
func (n *Nemesis) takeDown(name string, how func(string) error) error {
	n.down[name]++
	return how(name)
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

func (n *Nemesis) freeze(name string) error {
	n.frozen[name]++
	return n.Lab.Freeze(name)
}

// thaw lets a node's writes go on, and starts it where it ended itself since
// they did not.
func (n *Nemesis) thaw(name string) error {
	n.frozen[name]--
	if n.frozen[name] > 0 {
		return nil
	}
	if err := n.Lab.Thaw(name); err != nil || n.down[name] > 0 {
		return err
	}
	return n.Lab.Start(name)
}

func (n *Nemesis) fill(name string, leave int64) error {
	n.full[name] = true
	return n.Lab.Fill(name, leave)
}

// makeRoom gives a node its disk back and starts it again, as its operator would:
// after an error of its disk it takes no part until then.
func (n *Nemesis) makeRoom(name string) error {
	if !n.full[name] {
		return nil
	}
	delete(n.full, name)
	if err := n.Lab.Empty(name); err != nil || n.down[name] > 0 {
		return err
	}
	return errors.Join(n.Lab.Kill(name), n.Lab.Start(name))
}

// afflict has a node's disk fail or be slow.
func (n *Nemesis) afflict(name string, s schedule.Step) error {
	trouble := lab.Slow(s.Delay)
	if s.Kind == schedule.DiskError {
		trouble, n.failed[name] = lab.FailsOnce, true
		if s.Lasting {
			trouble = lab.Fails
		}
	}
	return n.Lab.Afflict(name, trouble)
}

// relieve gives a node its disk back. Where that failed the node is started again,
// as its operator would.
func (n *Nemesis) relieve(name string) error {
	err := n.Lab.Relieve(name)
	if !n.failed[name] {
		return err
	}
	delete(n.failed, name)
	if err != nil || n.down[name] > 0 {
		return err
	}
	return errors.Join(n.Lab.Kill(name), n.Lab.Start(name))
}

const (
	// leaving is how long a node may take to go.
	leaving = 6 * time.Second
	// comingBack is how long it is waited for when its step ends; later steps
	// wait meanwhile. comingHome is how long when everything is whole.
	comingBack = 20 * time.Second
	comingHome = 40 * time.Second
)

// goAway has a member go. Where too much is broken the cluster may refuse, which
// is for the history to tell and no error.
func (n *Nemesis) goAway(name string, exit schedule.Exit) {
	if n.busy(name) || len(n.damaged) > 0 || isAway(n.gone) {
		n.tell(name, string(exit), errBusy)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaving)
	defer cancel()
	n.gone[name] = true
	err := n.Lab.Go(ctx, name, exit)
	n.away[name], n.unsure[name] = true, n.unsure[name] || err != nil
	n.tell(name, string(exit), err)
}

// errBusy says that another fault keeps a node from going or coming, or that it
// would be the second to lose its data.
var errBusy = errors.New("another fault has it, or would have one too many")

func (n *Nemesis) busy(name string) bool { return n.down[name] > 0 || n.paused[name] > 0 }

// back has a node that went come back. Where nobody can say whether it went it
// is asked again at the end, since a removal may take effect late.
func (n *Nemesis) back(name string, patience time.Duration) {
	if !n.away[name] {
		return
	}
	if n.busy(name) {
		n.tell(name, "come back", errBusy)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := n.Lab.Return(ctx, name)
	n.gone[name] = err != nil
	n.away[name] = err != nil || n.unsure[name]
	n.tell(name, "come back", err)
}

// damage ends a node, damages a file of it and has it start: it may refuse, or do
// as if nothing were. Only one node at a time loses its data, since what a majority
// loses is lost.
func (n *Nemesis) damage(name string, s schedule.Step) error {
	if n.busy(name) || n.frozen[name] > 0 || len(n.damaged) > 0 || isAway(n.away) {
		n.tell(name, "damage", errBusy)
		return nil
	}
	if err := n.Lab.Kill(name); err != nil {
		return err
	}
	what, err := n.Lab.Damage(name, s.File, s.Place)
	if err != nil {
		return err
	}
	n.damaged[name] = true
	ctx, cancel := context.WithTimeout(context.Background(), starting)
	defer cancel()
	err = n.Lab.Comes(ctx, name)
	n.outcome[s.Number] = outcome(what, err)
	n.tell(name, "damage of "+what, err)
	return nil
}

// isAway says whether any node may be no member.
func isAway(away map[string]bool) bool {
	return slices.Contains(slices.Collect(maps.Values(away)), true)
}

// starting is how long a node may take until it serves, or refuses to.
const starting = 5 * time.Second

// outcome is what came of damage when the node was started.
func outcome(what string, err error) check.Damage {
	var refusal *lab.Refusal
	switch {
	case err == nil:
		return check.Damage{What: what, Serves: true}
	case errors.As(err, &refusal):
		return check.Damage{What: what, Words: refusal.Words}
	}
	return check.Damage{What: what}
}

// repair replaces a node that refuses to start by an empty one, as its operator
// would, where the cluster lets it go. One that starts stays, and is looked at
// once more at the end.
func (n *Nemesis) repair(name string, patience time.Duration) error {
	if !n.damaged[name] && !n.scarred[name] {
		return nil
	}
	if n.busy(name) {
		n.tell(name, "repair", errBusy)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), starting)
	defer cancel()
	if err := n.Lab.Comes(ctx, name); err == nil {
		delete(n.damaged, name)
		n.scarred[name] = true
		return nil
	}
	ctx, cancel = context.WithTimeout(context.Background(), leaving)
	defer cancel()
	if err := n.Lab.Go(ctx, name, schedule.Replace); err != nil {
		n.tell(name, "replace", err)
		return nil
	}
	delete(n.damaged, name)
	delete(n.scarred, name)
	n.away[name] = true
	n.back(name, patience)
	return nil
}

// tell notes how a change of members ended.
func (n *Nemesis) tell(name, what string, err error) {
	text := what + ": done"
	if err != nil {
		text = fmt.Sprintf("%s: %v", what, err)
	}
	n.Log.Note("churn", name, text, nil)
}
