package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"floe/scripts/suite/schedule"
)

// plantedVariable tells a program built with the tag planted which bug it has.
const plantedVariable = "FLOE_PLANTED"

// bug is one that floe can be built with, and the run that catches it.
type bug struct {
	name, what string
	workload   workloads
	nemesis    schedule.Kind
	seed       uint64
}

// plantedTime is the length of a run that catches a bug.
const plantedTime = 25 * time.Second

var bugs = []bug{
	{"ack-before-commit", "the leader answers before a majority has the change", workloads{"graph"}, schedule.Kill, 1},
	{"read-unverified", "a node reads its own copy without asking the leader whether it is the newest", workloads{"graph", "routes", "meids"}, schedule.Partition, 1},
	{"half-table", "half of a route table is seen before the other half", workloads{"routes"}, schedule.Kill, 1},
	{"cost-ignored", "links let every event pass", workloads{"events"}, schedule.Kill, 1},
	{"id-reused", "a new topic gets an id that a destroyed one had", workloads{"graph"}, schedule.Kill, 1},
	{"checksum-ignored", "bytes that were damaged between nodes are believed", workloads{"graph", "routes"}, schedule.Corrupt, 1},
	{"vote-forgotten", "a node that starts again knows neither its term nor its vote", workloads{"graph"}, schedule.Kill, 1100},
}

// listPlanted is what planted --list prints.
func listPlanted() string {
	var b strings.Builder
	for _, p := range bugs {
		fmt.Fprintf(&b, "%-18s  %s\n", p.name, p.what)
	}
	return b.String()
}

// plantedRun begins the run that catches a bug. The arguments are the bug's name
// and those of a run that scripts/jepsen adds.
func plantedRun(args []string) error {
	i := -1
	if len(args) > 0 {
		i = slices.IndexFunc(bugs, func(b bug) bool { return b.name == args[0] })
	}
	if i < 0 {
		return usage(jepsenUsage, "which bug? There are\n%s", listPlanted())
	}
	p := bugs[i]
	if err := os.Setenv(plantedVariable, p.name); err != nil { // nodes inherit it
		return err
	}
	fmt.Printf("floe with a bug: %s\n", p.what)
	o, err := parseOptions(append([]string{"--workload", p.workload.String(), "--nemesis", string(p.nemesis), "--nodes", "3",
		"--time", plantedTime.String(), "--seed", fmt.Sprint(p.seed)}, args[1:]...))
	if err != nil {
		return err
	}
	return begin(o)
}

// caught says after a run whether the bug it was for was caught. The error stays
// that of the run: a bug that is caught is a broken promise.
func caught(err error) error {
	name := os.Getenv(plantedVariable)
	switch {
	case name == "":
	case errors.Is(err, errBroken):
		fmt.Printf("planted bug %s: caught\n", name)
	case err == nil:
		fmt.Printf("planted bug %s: NOT CAUGHT, which is a defect of the suite\n", name)
	}
	return err
}
