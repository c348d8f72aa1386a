package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

const usage = `Usage: scripts/bench ice|rmr [--short] [--rounds N] [--seconds S] [--rows REGEXP] [--out DIR]
                             [--floe FILE] [--list] [FLAGS OF ITS OWN]
  --short       few rows, one round, under 90 s: shows that the benchmark works
  --rounds      runs of each row (3); with two sides they are paired, and the ratio is the median of theirs
  --seconds     how long a publisher or sender goes flat out in a run (1)
  --rows        only rows whose name matches: '1->1 oneway', '^start'
  --out         also writes bench-ice.json and bench-ice.md (bench-rmr...) there
  --floe        measures this program instead of the one built from the source
  --list        prints the names of the rows and ends
scripts/bench ice [--floe-flags 'FLAGS'] [--control]: events, beside a stock IceStorm
  --floe-flags  flags of 'floe start' for the rows with events ('` + loadFlags + `'): an IceStorm's
                queues have no bound either, so nothing is dropped and both do the same work
  --control     IceStorm on both sides: shows how far ratios stray by themselves
scripts/bench rmr [--peer DIR]: route tables and RMR messages
  --peer        the yardstick of the rows of forwarding: two unmodified RMR applications, one sending straight to
                the other. DIR/app is one: 'DIR/app PORT' listens there, reads RMR_SEED_RT, RMR_CTL_PORT and RMR_BIND_IF,
                and takes the lines 'quiet 1', 'sendn N MTYPE SUBID MEID @SIZE' and 'count' on stdin
`

// What there is to measure.
const (
	iceSuite = "ice"
	rmrSuite = "rmr"
)

// loadFlags take the bounds off floe's queues, which the default drops events at where publishers go flat out.
const loadFlags = "--queue-events 100000000 --queue-bytes 8GiB"

// options are the command line's.
type options struct {
	suite                string // ice or rmr
	short, control, list bool
	rounds               int
	seconds              float64
	rows                 *regexp.Regexp
	out, floe, floeFlags string
	peer                 string
}

func main() {
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
		fmt.Fprintf(stderr, "bench: %v\n%s", err, usage)
		return 2
	}
	if o.list {
		for _, r := range o.selected() {
			fmt.Fprintln(stdout, r.name)
		}
		return 0
	}
	err = measure(ctx, o, stdout, stderr)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "bench: interrupted")
		return 130
	case err != nil:
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string) (options, error) {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
		return options{}, flag.ErrHelp
	}
	if len(args) == 0 || args[0] != iceSuite && args[0] != rmrSuite {
		return options{}, errors.New("say what to measure: ice or rmr")
	}
	o := options{suite: args[0]}
	rows := ""
	flags := flag.NewFlagSet("bench "+o.suite, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&o.short, "short", false, "")
	flags.BoolVar(&o.list, "list", false, "")
	flags.IntVar(&o.rounds, "rounds", 3, "")
	flags.Float64Var(&o.seconds, "seconds", 1, "")
	flags.StringVar(&rows, "rows", "", "")
	flags.StringVar(&o.out, "out", "", "")
	flags.StringVar(&o.floe, "floe", "", "")
	if o.suite == iceSuite {
		flags.BoolVar(&o.control, "control", false, "")
		flags.StringVar(&o.floeFlags, "floe-flags", loadFlags, "")
	} else {
		flags.StringVar(&o.peer, "peer", "", "")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return o, err
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
	case o.seconds < 0.1 || o.seconds > 600:
		return fmt.Errorf("--seconds %v: 0.1 to 600", o.seconds)
	}
	if o.short {
		o.rounds = 1
		o.seconds = min(o.seconds, 0.5)
	}
	return nil
}

// selected are the rows to run; none matching is an error of measure.
func (o *options) selected() []row {
	var out []row
	all := allRows
	if o.suite == rmrSuite {
		all = rmrRows
	}
	for _, r := range all(o.seconds) {
		if o.rows.MatchString(r.name) && (!o.short || r.short) {
			out = append(out, r)
		}
	}
	return out
}

// publishing returns seconds as a duration.
func publishing(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
