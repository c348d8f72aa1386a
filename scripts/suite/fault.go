package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"floe/scripts/suite/lab"
)

const faultUsage = `usage: scripts/fault kill NODE...               end nodes with SIGKILL
       scripts/fault start NODE...              start them again
       scripts/fault pause NODE...              stop nodes with SIGSTOP
       scripts/fault resume NODE...             let them go on
       scripts/fault partition NODE...          no packet between these nodes and the others
       scripts/fault partition FROM [TO...] --oneway
       scripts/fault oneway FROM [TO...]        no packet from FROM to TO, or to any other node
       scripts/fault bridge NODE                two halves that reach NODE and not each other
       scripts/fault delay FROM TO TIME         packets are late: 100ms, give or take a half
       scripts/fault loss FROM TO PERCENT       packets are lost, some doubled, some overtaken
       scripts/fault corrupt FROM TO PERCENT    peer packets have a wrong byte and a right checksum
       scripts/fault power NODE...              the power fails: what was not synced is gone
       scripts/fault diskfull NODE...           no room on the disk
       scripts/fault diskhang NODE...           no write to the disk returns
       scripts/fault diskerror NODE... once     the next sync of the disk fails; always: every write and sync
       scripts/fault diskslow NODE... TIME      each sync takes so much longer: 300ms
       scripts/fault damage NODE FILE           a bit of FILE (log, snapshot, meta, identity) is wrong when it starts anew
       scripts/fault move NODE...               they start anew at another peer address
       scripts/fault clock NODE... OFFSET       the wall clock jumps: +1h, -90s
       scripts/fault leave|remove|replace NODE  a member leaves, is removed, or is removed and emptied
       scripts/fault return NODE...             it comes back
       scripts/fault heal                       everything whole again: lines, disks, clocks, paused and dead nodes
       scripts/fault show                       who reaches whom
FROM and TO are nodes or all. The cluster is that of scripts/cluster up.`

// probeLimit is how long a connection may take before it counts as cut.
const probeLimit = time.Second

// fault is one command of scripts/fault.
type fault struct {
	// least and most nodes it takes; most 0: as many as there are.
	least, most int
	// value tells that a last argument follows that is no node's name.
	value bool
	// act does it to nodes that are there.
	act func(l *lab.Lab, names []string, value string) error
}

var faults = map[string]fault{
	"kill":     {least: 1, act: eachNode("killed", (*lab.Node).Kill)},
	"start":    {least: 1, act: eachNode("started", (*lab.Node).Start)},
	"pause":    {least: 1, act: eachNode("paused", (*lab.Node).Pause)},
	"resume":   {least: 1, act: eachNode("resumed", (*lab.Node).Resume)},
	"power":    {least: 1, act: eachNode("without power, until start or heal", (*lab.Node).PowerCut)},
	"diskfull": {least: 1, act: eachNode("disk full", func(n *lab.Node) error { return n.Fill(0) })},
	"diskhang": {least: 1, act: eachNode("disk hangs", (*lab.Node).Freeze)},
	"leave":    {least: 1, most: 1, act: eachNode("left", inTime((*lab.Node).Leave))},
	"remove":   {least: 1, most: 1, act: eachNode("removed", inTime((*lab.Node).Expel))},
	"replace":  {least: 1, most: 1, act: eachNode("removed and emptied", inTime((*lab.Node).Replace))},
	"return":   {least: 1, act: eachNode("a member", inTime((*lab.Node).Return))},
	"clock":    {least: 1, value: true, act: moveClocks},

	"diskerror": {least: 1, value: true, act: diskError},
	"diskslow":  {least: 1, value: true, act: diskSlow},
	"damage":    {least: 1, most: 1, value: true, act: damage},
	"move":      {least: 1, act: move},

	"partition": {least: 1, act: func(l *lab.Lab, names []string, _ string) error {
		return said(l.Partition(byHand("partition", names), names, false),
			"%s: cut off from %s", strings.Join(names, ", "), strings.Join(l.Others(names), ", "))
	}},
	"oneway": {least: 1, act: oneway},
	"bridge": {least: 1, most: 1, act: func(l *lab.Lab, names []string, _ string) error {
		return said(l.Bridge(byHand("bridge", names), names[0]), "%s: the only way between two halves", names[0])
	}},
	"delay":   {least: 2, most: 2, value: true, act: spoil("delay")},
	"loss":    {least: 2, most: 2, value: true, act: spoil("loss")},
	"corrupt": {least: 2, most: 2, value: true, act: spoil("corrupt")},
	"heal":    {act: func(l *lab.Lab, _ []string, _ string) error { return heal(l) }},
	"show":    {act: func(l *lab.Lab, _ []string, _ string) error { return show(l) }},
}

// byHand names a fault for Heal.
func byHand(verb string, names []string) string {
	return "by hand: " + verb + " " + strings.Join(names, " ")
}

// all stands for every node.
const all = "all"

// faultCommand serves scripts/fault.
func faultCommand(args []string) error {
	if len(args) == 0 {
		return usage(faultUsage, "what to do is missing")
	}
	verb, names := args[0], args[1:]
	if i := slices.Index(names, "--oneway"); verb == "partition" && i >= 0 {
		verb, names = "oneway", slices.Delete(slices.Clone(names), i, i+1)
	}
	f, known := faults[verb]
	if !known {
		return usage(faultUsage, "no fault %q", verb)
	}
	value := ""
	if f.value && len(names) > 0 {
		value, names = names[len(names)-1], names[:len(names)-1]
	}
	alone := f.least == 0 && len(names) > 0
	if alone || len(names) < f.least || f.most > 0 && len(names) > f.most {
		return usage(faultUsage, "%s and %d nodes", verb, len(names))
	}
	l, err := chosen()
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := l.Node(name); err != nil && !(name == all && f.value && f.least == 2) {
			return usage(faultUsage, "%v", err)
		}
	}
	return f.act(l, names, value)
}

// eachNode makes a fault of what is done to one node after another.
func eachNode(word string, f func(*lab.Node) error) func(*lab.Lab, []string, string) error {
	return func(l *lab.Lab, names []string, _ string) error {
		for _, name := range names {
			n, err := l.Node(name)
			if err != nil {
				return err
			}
			if err := said(f(n), "%s: %s", name, word); err != nil {
				return err
			}
		}
		return nil
	}
}

// memberLimit is how long a change of members may take by hand.
const memberLimit = 20 * time.Second

func inTime(f func(*lab.Node, context.Context) error) func(*lab.Node) error {
	return func(n *lab.Node) error {
		ctx, cancel := context.WithTimeout(context.Background(), memberLimit)
		defer cancel()
		return f(n, ctx)
	}
}

func said(err error, format string, args ...any) error {
	if err == nil {
		fmt.Printf(format+"\n", args...)
	}
	return err
}

func oneway(l *lab.Lab, names []string, _ string) error {
	from, to := names[:1], names[1:]
	if len(to) == 0 {
		to = l.Others(from)
	}
	return said(l.Oneway(byHand("oneway", names), from, to),
		"%s: not heard by %s", from[0], strings.Join(to, ", "))
}

func moveClocks(l *lab.Lab, names []string, value string) error {
	offset, err := time.ParseDuration(value)
	if err != nil || offset%time.Second != 0 {
		return usage(faultUsage, "clock %q: whole seconds, such as +1h or -90s", value)
	}
	return eachNode("clock moved by "+offset.String(), func(n *lab.Node) error { return n.SetClock(offset) })(l, names, "")
}

func diskError(l *lab.Lab, names []string, value string) error {
	trouble := lab.Trouble(value)
	if trouble != lab.FailsOnce && trouble != lab.Fails {
		return usage(faultUsage, "diskerror %q: %s or %s", value, lab.FailsOnce, lab.Fails)
	}
	return eachNode("its disk fails, "+value, func(n *lab.Node) error { return n.Afflict(trouble) })(l, names, "")
}

func diskSlow(l *lab.Lab, names []string, value string) error {
	delay, err := time.ParseDuration(value)
	if err != nil || delay < time.Millisecond {
		return usage(faultUsage, "diskslow %q: a time such as 300ms", value)
	}
	return eachNode("its disk is slow", func(n *lab.Node) error { return n.Afflict(lab.Slow(delay)) })(l, names, "")
}

// halfway is where a file is damaged by hand, in thousandths.
const halfway = 500

// damage damages a file of a node and says what the node does with it.
func damage(l *lab.Lab, names []string, file string) error {
	n, err := l.Node(names[0])
	if err != nil {
		return err
	}
	if err := n.Kill(); err != nil {
		return err
	}
	path, at, err := n.Damage(file, halfway)
	if err := said(err, "%s: a bit of byte %d of %s is wrong now", n.Name, at, path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), memberLimit)
	defer cancel()
	err = n.Comes(ctx)
	var refusal *lab.Refusal
	if errors.As(err, &refusal) {
		fmt.Printf("it does not start: %s\nreplace it: scripts/fault heal\n", refusal.Words)
		return nil
	}
	return said(err, "it started all the same")
}

func move(l *lab.Lab, names []string, _ string) error {
	if err := l.Move(names...); err != nil {
		return err
	}
	return eachNode("started at another peer address", (*lab.Node).Start)(l, names, "")
}

// spoil makes a fault of a bad line.
func spoil(verb string) func(*lab.Lab, []string, string) error {
	return func(l *lab.Lab, names []string, value string) error {
		q, err := quality(verb, value)
		if err != nil {
			return err
		}
		from, to := names[:1], names[1:]
		if from[0] == all {
			from = l.Names()
		}
		if to[0] == all {
			to = l.Names()
		}
		return said(l.Spoil(byHand(verb, names), from, to, q), "%s to %s: %s %s", names[0], names[1], verb, value)
	}
}

// quality reads how bad a line is to be.
func quality(verb, value string) (lab.Quality, error) {
	if verb == "delay" {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return lab.Quality{}, usage(faultUsage, "delay %q: a time such as 100ms", value)
		}
		return lab.Quality{Delay: d, Jitter: d / 2}, nil
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(value, "%"))
	if err != nil || percent < 1 || percent > 100 {
		return lab.Quality{}, usage(faultUsage, "%s %q: 1 to 100 percent", verb, value)
	}
	if verb == "corrupt" {
		return lab.Quality{Corrupt: percent}, nil
	}
	return lab.Quality{Loss: percent, Duplicate: percent / 2, Reorder: percent / 2}, nil
}

func heal(l *lab.Lab) error {
	errs := []error{l.Heal("")}
	for _, n := range l.Nodes {
		errs = append(errs, n.Thaw(), makeRoom(n), n.Resume(), relieve(n), n.Start())
		if n.Offset != 0 {
			errs = append(errs, n.SetClock(0))
		}
	}
	for _, n := range l.Nodes {
		errs = append(errs, repair(n))
	}
	return said(errors.Join(errs...), "everything is whole again")
}

// relieve gives a node its disk back and ends it where that may have failed.
func relieve(n *lab.Node) error {
	failed := n.Failed
	if err := n.Relieve(); err != nil || !failed {
		return err
	}
	return n.Kill()
}

// repair replaces a node by an empty one where it does not start since a file of it
// is damaged.
func repair(n *lab.Node) error {
	if !n.Damaged {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), memberLimit)
	defer cancel()
	if n.Comes(ctx) == nil {
		return nil
	}
	if err := said(n.Replace(ctx), "%s: removed and emptied, since it does not start", n.Name); err != nil {
		return err
	}
	return n.Return(ctx)
}

// makeRoom empties a disk that was filled and ends the node, since it takes no
// part until it is started again once its disk failed.
func makeRoom(n *lab.Node) error {
	if !n.Filled() {
		return nil
	}
	return errors.Join(n.Empty(), n.Kill())
}

func show(l *lab.Lab) error {
	reach, err := l.Probe(probeLimit)
	if err != nil {
		return err
	}
	for _, from := range l.Nodes {
		state := "runs"
		if !from.Running() {
			state = "is down"
		} else if from.Paused() {
			state = "is paused"
		}
		if from.Filled() {
			state += ", disk full"
		}
		switch {
		case from.Failed:
			state += ", disk failed or fails"
		case from.Troubled():
			state += ", disk slow"
		}
		if from.Offset != 0 {
			state += fmt.Sprintf(", clock moved by %s", from.Offset)
		}
		fmt.Printf("%s %s, connects to:", from.Name, state)
		for _, to := range l.Nodes {
			if reach[from.Name+">"+to.Name] {
				fmt.Print(" " + to.Name)
			}
		}
		fmt.Println()
	}
	return nil
}
