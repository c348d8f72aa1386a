package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"floe/scripts/suite/schedule"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions(strings.Fields("--workload graph --nemesis kill,pause --nodes 5 --time 60s --seed 7 --report out"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := o.command(), "scripts/jepsen run --workload graph --nemesis kill,pause --nodes 5 --time 1m0s --seed 7"; got != want {
		t.Errorf("command %q, want %q", got, want)
	}
	again, err := parseOptions(o.arguments(3)[3:])
	if err != nil {
		t.Fatal(err)
	}
	if again.Lab != 3 || again.Started != o.Started || again.command() != o.command() || again.Report != o.Report {
		t.Errorf("the run continues as %+v, began as %+v", again, o)
	}
	if seedless, err := parseOptions(nil); err != nil || seedless.Time != 2*time.Minute || seedless.Nodes != 3 {
		t.Errorf("defaults %+v, %v", seedless, err)
	}
}

func TestBadOptionsAreErrorsOfUsage(t *testing.T) {
	for _, args := range []string{
		"--workload fish", "--nemesis murder", "--nemesis", "--nodes 4", "--nodes x", "--time 5s", "--time soon",
		"--seed -1", "--seed x", "--fast", "extra", "--report=",
	} {
		if _, err := parseOptions(strings.Fields(args)); !errors.Is(err, errUsage) {
			t.Errorf("%s: %v, want an error of usage", args, err)
		}
	}
	for _, args := range [][]string{nil, {"fish"}, {"jepsen"}, {"jepsen", "walk"}, {"cluster"}, {"cluster", "floe", "up", "many"}, {"cluster", "floe", "up", "99"}, {"cluster", "floe", "exec", "n1"}, {"fault"}, {"fault", "fish"}, {"fault", "kill"}, {"fault", "heal", "n1"}, {"fault", "bridge", "n1", "n2"}, {"fault", "clock", "+1h"}, {"fault", "delay", "n1", "100ms"}, {"fault", "diskerror", "once"}, {"fault", "diskslow", "n1"}, {"fault", "damage", "log"}, {"fault", "damage", "n1", "n2", "log"}, {"fault", "move"}} {
		if err := dispatch(t.Context(), args); exitCode(err, false) != exitUsage {
			t.Errorf("%q: %v, want an error of usage", args, err)
		}
	}
}

// A run that is healed too late to be judged says so, and where to look.
func TestLate(t *testing.T) {
	o := options{Time: time.Minute, Report: "out"} // everything is whole for 12 s
	if err := o.late(7 * time.Second); err != nil {
		t.Errorf("7 of 12 s left: %v", err)
	}
	if err := o.late(-3 * time.Second); err == nil || !strings.Contains(err.Error(), "15s late") || !strings.Contains(err.Error(), "out/history.jsonl") {
		t.Errorf("3 s after the end: %v", err)
	}
}

// The shortest run has room for faults, and they end in its first 70 percent.
func TestScheduleLeavesTimeToRecover(t *testing.T) {
	for seed := range uint64(50) {
		o := options{Seed: seed, Nodes: 3, Time: shortest, Nemesis: schedule.Kinds}
		for _, s := range o.schedule() {
			if s.End()+setUp > shortest*7/10 {
				t.Errorf("seed %d: %s", seed, s)
			}
		}
	}
}
