package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"floe/scripts/suite/lab"
	"floe/scripts/suite/schedule"
)

// jepsen runs a failure run, or judges an earlier one.
func jepsen(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == "check" {
		return judge(args[1], os.Stdout)
	}
	if len(args) == 2 && args[0] == "planted" && args[1] == "--list" {
		fmt.Print(listPlanted())
		return nil
	}
	if len(args) > 0 && args[0] == "planted" {
		return plantedRun(args[1:])
	}
	if len(args) == 0 || args[0] != "run" {
		return usage(jepsenUsage, "run, planted or check DIR is missing")
	}
	o, err := parseOptions(args[1:])
	if err != nil {
		return err
	}
	if o.Lab == 0 {
		return begin(o)
	}
	return inside(ctx, o)
}

// begin prints what will happen, makes the lab and continues inside it.
func begin(o options) error {
	if o.Binary == "" {
		return errors.New("--binary is missing: use scripts/jepsen")
	}
	announce(o)
	if err := emptyReport(o.Report); err != nil {
		return err
	}
	disks := slices.ContainsFunc(o.Nemesis, schedule.Kind.NeedsDisk)
	nodes := o.Nodes
	if o.Workload.has("members") {
		nodes++ // the one that comes and goes
	}
	l, err := lab.Create(lab.Config{Nodes: nodes, Binary: o.Binary, Disks: disks, Clocks: slices.Contains(o.Nemesis, schedule.Clock)})
	if err != nil {
		return err
	}
	if !l.Namespaces {
		fmt.Println("no root: the nodes listen on loopback addresses; there is " + schedule.List(schedule.Possible(o.Nemesis)) + " alone")
	}
	argv := o.arguments(l.Number)
	if argv[0], err = os.Executable(); err == nil {
		err = l.Enter(argv)
	}
	return errors.Join(err, l.Remove()) // only where Enter failed
}

// announce prints seed and schedule.
func announce(o options) {
	fmt.Printf("seed %d\nrepeat with: %s\n", o.Seed, o.command())
	steps := o.schedule()
	fmt.Printf("schedule, from when the cluster is up: %d faults in %s\n", len(steps), o.faultTime())
	for _, s := range steps {
		fmt.Println("  " + s.String())
	}
	if s, ok := o.lasting(); ok {
		fmt.Println("then, until everything is whole:", s.What())
	}
}

// emptyReport makes the report's directory and removes an earlier report.
func emptyReport(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, pattern := range []string{"*.jsonl", "report.*", "run.json", "committed.json", "n*.log", "history-*.html"} {
		old, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// inside carries a run out in the lab it was given, judges it, and leaves
// nothing of the lab behind.
func inside(ctx context.Context, o options) (err error) {
	l, err := lab.Open(o.Lab)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keepLogs(l, o.Report), l.Remove()) }()
	r, err := newRun(o, l)
	if err != nil {
		return err
	}
	err = r.carryOut(ctx)
	if err := errors.Join(err, r.close()); err != nil {
		return err
	}
	for _, n := range l.Nodes {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	if err := r.saveLog(); err != nil {
		return err
	}
	return caught(judge(o.Report, os.Stdout))
}

// keepLogs copies what the nodes printed.
func keepLogs(l *lab.Lab, dir string) error {
	var errs []error
	for _, n := range l.Nodes {
		b, err := os.ReadFile(n.Log())
		if errors.Is(err, os.ErrNotExist) {
			continue // it was never started
		}
		errs = append(errs, err, os.WriteFile(filepath.Join(dir, n.Name+".log"), b, 0o644))
	}
	return errors.Join(errs...)
}

// output runs a program and returns the first line it prints, "unknown" where
// it fails.
func output(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	b, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if err != nil || line == "" {
		return "unknown"
	}
	return line
}
