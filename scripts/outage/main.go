// Command outage measures how long three nodes of a topic service take no
// changes after one of them fails: a stock IceStorm's replicas and floe, one
// after the other, by the same script through icestormadmin, each node in a
// network namespace of its own. scripts/bench builds and starts it.
//
// A case is a fault. For each run of a case the service starts with empty data;
// events flow from a publisher beside a node that stays well to subscribers
// beside the two that do. Then the fault comes, and beside each of these two
// nodes icestormadmin creates topics, one process after the other; the time from
// the fault to the first that succeeds is the outage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"floe/scripts/suite/lab"
)

const usage = `Usage: scripts/bench outage [--short] [--rounds N] [--cap D] [--rows REGEXP] [--out DIR]
  --short    two cases, one round, at most 15 s each: shows that it works
  --rounds   runs of each case (3); IceStorm's are not repeated once one has reached the cap
  --cap      how long a service may be out before the run ends (120s)
  --rows     only cases whose name matches: 'leader', '^cold'
  --out      also writes bench-outage.md there
Needs root (network namespaces), icebox and icestormadmin. It ends within rounds * cases * (cap + 60 s) for each
service, and leaves nothing behind.
`

type options struct {
	short     bool
	rounds    int
	cap       time.Duration
	rows      *regexp.Regexp
	out, floe string
}

func main() {
	lab.ServeWire()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program: 0, 1 where something broke, 2 for a wrong command line, 130 where it was interrupted.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench outage: %v\n%s", err, usage)
		return 2
	}
	err = measure(ctx, o, stdout)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "bench outage: interrupted")
		return 130
	case err != nil:
		fmt.Fprintf(stderr, "bench outage: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string) (options, error) {
	var o options
	rows := ""
	flags := flag.NewFlagSet("outage", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&o.short, "short", false, "")
	flags.IntVar(&o.rounds, "rounds", 3, "")
	flags.DurationVar(&o.cap, "cap", 120*time.Second, "")
	flags.StringVar(&rows, "rows", "", "")
	flags.StringVar(&o.out, "out", "", "")
	flags.StringVar(&o.floe, "floe", "", "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.short {
		o.rounds, o.cap = 1, min(o.cap, 15*time.Second)
	}
	return o, o.check(flags.Args(), rows)
}

func (o *options) check(rest []string, rows string) error {
	var err error
	o.rows, err = regexp.Compile(rows)
	switch {
	case err != nil:
		return fmt.Errorf("--rows: %w", err)
	case len(rest) > 0:
		return fmt.Errorf("unexpected: %s", rest[0])
	case o.rounds < 1 || o.rounds > 99:
		return fmt.Errorf("--rounds %d: 1 to 99", o.rounds)
	case o.cap < time.Second || o.cap > time.Hour:
		return fmt.Errorf("--cap %v: 1s to 1h", o.cap)
	case o.floe == "":
		return errors.New("--floe is missing: use scripts/bench outage")
	}
	o.floe, err = filepath.Abs(o.floe)
	return err
}
