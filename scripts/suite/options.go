package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"floe/scripts/suite/schedule"
)

const jepsenUsage = `usage: scripts/jepsen run [--workload graph|routes|meids|events|members,...|all] [--nemesis KIND,...|all]
                          [--nodes 3|5] [--time 120s] [--seed N] [--report DIR]
       scripts/jepsen check DIR      judge the history of an earlier run again
       scripts/jepsen planted NAME   build floe with a bug and catch it; --list says which there are
kinds: kill, pause, churn, damage, move; as root also partition, oneway, bridge, delay, loss, corrupt, power,
       diskfull, diskhang, diskerror, diskslow, clock`

// options are the settings of a run.
type options struct {
	Workload workloads       `json:"workload"`
	Nemesis  []schedule.Kind `json:"nemesis"`
	Nodes    int             `json:"nodes"`
	Time     time.Duration   `json:"time_ns"`
	Seed     uint64          `json:"seed"`
	Report   string          `json:"-"`
	Binary   string          `json:"-"`
	Lab      int             `json:"-"` // set where the run continues inside a lab
	Started  int64           `json:"-"` // when it began, in Unix nanoseconds
}

// shortest is the least time in which there is room for a fault.
const shortest = 20 * time.Second

// parseOptions reads the arguments of run. Every error is one of usage.
func parseOptions(args []string) (options, error) {
	o := options{}
	f := flag.NewFlagSet("run", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	workload := f.String("workload", "all", "")
	nemesis := f.String("nemesis", "all", "")
	f.IntVar(&o.Nodes, "nodes", 3, "")
	f.DurationVar(&o.Time, "time", 120*time.Second, "")
	f.Uint64Var(&o.Seed, "seed", 0, "")
	f.StringVar(&o.Report, "report", filepath.Join("out", "jepsen"), "")
	f.StringVar(&o.Binary, "binary", "", "")
	f.IntVar(&o.Lab, "lab", 0, "")
	f.Int64Var(&o.Started, "started", time.Now().UnixNano(), "")
	if err := f.Parse(args); err != nil {
		return o, usage(jepsenUsage, "%v", err)
	}
	kinds, err := schedule.ParseKinds(*nemesis)
	chosen, unknown := parseWorkloads(*workload)
	switch {
	case f.NArg() > 0:
		return o, usage(jepsenUsage, "unexpected %q", f.Arg(0))
	case err != nil:
		return o, usage(jepsenUsage, "%v", err)
	case unknown != nil:
		return o, usage(jepsenUsage, "%v", unknown)
	case o.Nodes != 3 && o.Nodes != 5:
		return o, usage(jepsenUsage, "--nodes %d: 3 or 5", o.Nodes)
	case o.Time < shortest:
		return o, usage(jepsenUsage, "--time %s: at least %s", o.Time, shortest)
	case o.Report == "":
		return o, usage(jepsenUsage, "--report needs a directory")
	}
	o.Nemesis, o.Workload = kinds, chosen
	if !given(f, "seed") {
		o.Seed = rand.Uint64N(1_000_000_000)
	}
	o.Report, err = filepath.Abs(o.Report)
	return o, err
}

func given(f *flag.FlagSet, name string) bool {
	found := false
	f.Visit(func(x *flag.Flag) { found = found || x.Name == name })
	return found
}

func usage(text, format string, args ...any) error {
	return fmt.Errorf("%s\n%w: %s", text, errUsage, fmt.Sprintf(format, args...))
}

// command is how to repeat the run.
func (o options) command() string {
	return fmt.Sprintf("scripts/jepsen run --workload %s --nemesis %s --nodes %d --time %s --seed %d",
		o.Workload, schedule.List(o.Nemesis), o.Nodes, o.Time, o.Seed)
}

// arguments are those with which the run continues inside a lab.
func (o options) arguments(lab int) []string {
	words := strings.Fields(o.command())[1:]
	return append(append([]string{os.Args[0], "jepsen"}, words...),
		"--report", o.Report, "--binary", o.Binary, "--lab", fmt.Sprint(lab), "--started", fmt.Sprint(o.Started))
}

// setUp is the time left for starting the cluster before the first fault may
// come, so that a schedule depends on the options alone.
const setUp = 6 * time.Second

// faultTime is how long there are faults: the safety phase is the first 70
// percent of the run.
func (o options) faultTime() time.Duration { return o.Time*7/10 - setUp }

func (o options) schedule() []schedule.Step {
	return schedule.Make(o.Seed, o.Nodes, o.Nemesis, o.faultTime())
}

// least is how long a run has to be for a fault that stays.
const least = 60 * time.Second

// lasting is the fault that stays for the first third of the liveness phase.
func (o options) lasting() (schedule.Step, bool) {
	if o.Time < least {
		return schedule.Step{}, false
	}
	s, ok := schedule.Lasting(o.Seed, o.Nodes, o.Nemesis)
	s.At, s.Length = o.faultTime(), o.Time*3/10-o.calmTime()
	return s, ok
}

// calmTime is how long everything is whole at the end.
func (o options) calmTime() time.Duration { return o.Time / 5 }

// late is an error where so little time is left of a run once all is healed that
// nothing can be said about what follows.
func (o options) late(left time.Duration) error {
	planned := o.calmTime()
	if left >= planned/2 {
		return nil
	}
	return fmt.Errorf("the last fault was healed %s late, so nothing was judged: faults could not be begun and ended in time on this machine, or a node did not come back; the notes in %s say which",
		(planned - left).Round(time.Second), filepath.Join(o.Report, historyFile))
}

// deadline is when the clients stop.
func (o options) deadline() time.Time { return time.Unix(0, o.Started).Add(o.Time) }
