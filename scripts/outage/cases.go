package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"floe/scripts/suite/lab"
)

// fault is one case.
type fault struct {
	name   string
	leader bool // it hits the leader, else a follower
	short  bool
	strike func(*cluster, *lab.Node) error
	cold   bool // strike ends all, and the others start again
}

var faults = []fault{
	{name: "leader killed", leader: true, short: true, strike: (*cluster).kill},
	{name: "leader stopped (SIGSTOP)", leader: true, strike: (*cluster).pause},
	{name: "leader cut off", leader: true, strike: (*cluster).cut},
	{name: "follower killed", short: true, strike: (*cluster).kill},
	{name: "follower stopped (SIGSTOP)", strike: (*cluster).pause},
	{name: "follower cut off", strike: (*cluster).cut},
	{name: "cold start with two of three", leader: true, cold: true, strike: (*cluster).restartOthers},
}

// measure runs all cases and prints the table.
func measure(ctx context.Context, o options, out io.Writer) error {
	if os.Geteuid() != 0 {
		return errors.New("root is needed for network namespaces")
	}
	var rows []row
	for _, f := range faults {
		if !o.rows.MatchString(f.name) || o.short && !f.short {
			continue
		}
		r := row{fault: f.name, cap: o.cap}
		for round := range o.rounds {
			for side, kind := range []kind{floe, iceStorm} {
				if kind.name == iceStorm.name && r.reachedCap(side) {
					continue
				}
				t, err := trialOf(ctx, o, kind, f)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", f.name, kind.name, err)
				}
				r.trials[side] = append(r.trials[side], t)
				fmt.Fprintf(out, "%s, %s, round %d: %s\n", f.name, kind.name, round+1, t.text(o.cap))
			}
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return errors.New("no case has such a name")
	}
	text := table(rows)
	fmt.Fprint(out, "\n"+text)
	if o.out == "" {
		return nil
	}
	return errors.Join(os.MkdirAll(o.out, 0o755), os.WriteFile(filepath.Join(o.out, "bench-outage.md"), []byte(text), 0o644))
}
