package main

import (
	"fmt"
	"strings"
	"time"

	"floe/scripts/suite/lab"
)

const faultUsage = `usage: scripts/fault kill NODE...          end nodes with SIGKILL
       scripts/fault start NODE...         start them again
       scripts/fault pause NODE...         stop nodes with SIGSTOP
       scripts/fault resume NODE...        let them go on
       scripts/fault partition NODE...     no packet between these nodes and the others
       scripts/fault oneway FROM [TO...]   no packet from FROM to TO, or to any other node
       scripts/fault heal                  everything whole again: cuts, paused nodes, dead nodes
       scripts/fault show                  who reaches whom
The cluster is that of scripts/cluster up.`

// probeLimit is how long a connection may take before it counts as cut.
const probeLimit = 200 * time.Millisecond

// faultCommand serves scripts/fault.
func faultCommand(args []string) error {
	if len(args) == 0 {
		return usage(faultUsage, "what to do is missing")
	}
	verb, names := args[0], args[1:]
	act, known := faults[verb]
	if !known {
		return usage(faultUsage, "no fault %q", verb)
	}
	if whole := verb == "heal" || verb == "show"; whole != (len(names) == 0) {
		return usage(faultUsage, "%s and %d nodes", verb, len(names))
	}
	l, err := chosen()
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := l.Node(name); err != nil {
			return usage(faultUsage, "%v", err)
		}
	}
	return act(l, names)
}

var faults = map[string]func(l *lab.Lab, names []string) error{
	"kill":   signalEach("killed", (*lab.Node).Kill),
	"start":  signalEach("started", (*lab.Node).Start),
	"pause":  signalEach("paused", (*lab.Node).Pause),
	"resume": signalEach("resumed", (*lab.Node).Resume),
	"partition": func(l *lab.Lab, names []string) error {
		return said(l.Partition("by hand: partition "+strings.Join(names, " "), names, false),
			"%s: cut off from %s", strings.Join(names, ", "), strings.Join(l.Others(names), ", "))
	},
	"oneway": oneway,
	"heal":   heal,
	"show":   show,
}

// signalEach makes a fault of what is done to one node after another.
func signalEach(word string, f func(*lab.Node) error) func(*lab.Lab, []string) error {
	return func(l *lab.Lab, names []string) error {
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

func said(err error, format string, args ...any) error {
	if err == nil {
		fmt.Printf(format+"\n", args...)
	}
	return err
}

func oneway(l *lab.Lab, names []string) error {
	from, to := names[:1], names[1:]
	if len(to) == 0 {
		to = l.Others(from)
	}
	return said(l.Oneway("by hand: oneway "+strings.Join(names, " "), from, to),
		"%s: not heard by %s", from[0], strings.Join(to, ", "))
}

func heal(l *lab.Lab, _ []string) error {
	if err := l.Heal(""); err != nil {
		return err
	}
	for _, n := range l.Nodes {
		if err := n.Resume(); err != nil {
			return err
		}
		if err := n.Start(); err != nil {
			return err
		}
	}
	return said(nil, "everything is whole again")
}

func show(l *lab.Lab, _ []string) error {
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
