package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// bench is one run of the program.
type bench struct {
	options
	temp string // holds all data; removed at the end
	// The program to measure and routing's benchmarks; of RMR rows.
	floePath, routingTest string
	sides                 [2]system
	loaded                [2]system // the same for rows with events
	report                *report
	log                   io.Writer // progress, for people
}

// result is what a row came to.
type result struct {
	row
	samples [2][]sample // of floe and of IceStorm, by round
	err     error
}

func (r result) floe(m metric) float64     { return median(column(r.samples[0], m)) }
func (r result) iceStorm(m metric) float64 { return median(column(r.samples[1], m)) }
func (r result) ratio(m metric) float64 {
	return ratio(column(r.samples[0], m), column(r.samples[1], m))
}

// measure runs all selected rows and reports them. The error names the rows that broke.
func measure(ctx context.Context, o options, stdout, log io.Writer) (err error) {
	rows := o.selected()
	if len(rows) == 0 {
		return errors.New("--rows: matches none; see --list")
	}
	b := &bench{options: o, log: log}
	if b.temp, err = os.MkdirTemp("", "floe-bench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.temp)) }()
	if err := b.chooseSides(ctx); err != nil {
		return err
	}
	b.report = newReport(b, stdout)
	err = b.runAll(ctx, rows)
	b.report.finish()
	return errors.Join(err, b.report.save(o.out))
}

// runAll runs the rows. One that breaks doesn't stop the others; an interrupted one is not reported.
func (b *bench) runAll(ctx context.Context, rows []row) error {
	var errs []error
	for i, r := range rows {
		fmt.Fprintf(b.log, "bench: row %d of %d: %s\n", i+1, len(rows), r.name)
		got := b.runRow(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if got.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.name, got.err))
		}
		b.report.add(got)
	}
	return errors.Join(errs...)
}

// chooseSides makes sure that there are programs to run.
func (b *bench) chooseSides(ctx context.Context) error {
	if b.suite == rmrSuite {
		return b.chooseRMR(ctx)
	}
	err := errors.Join(b.tool(ctx, "scripts/install-deps", "--no-js"), b.tool(ctx, "scripts/peers/build"))
	b.sides = [2]system{iceStorm("IceStorm"), iceStorm("IceStorm")}
	b.loaded = b.sides
	if b.control || err != nil {
		return err
	}
	program, err := b.program(ctx)
	b.sides[0] = floe(program)
	b.loaded = b.sides
	b.loaded[0] = floe(program, strings.Fields(b.floeFlags)...)
	return err
}

// program returns the floe to measure, built unless one was given.
func (b *bench) program(ctx context.Context) (string, error) {
	if b.options.floe != "" {
		return b.options.floe, nil
	}
	path := filepath.Join(b.temp, "floe")
	return path, b.tool(ctx, "go", "build", "-o", path, "./cmd/node")
}

// tool runs a program of the build; its output is shown where it fails.
func (b *bench) tool(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// runRow runs the rounds of a row, the two sides in turn; the first error ends the row.
func (b *bench) runRow(ctx context.Context, r row) result {
	out := result{row: r}
	rounds := b.rounds
	if r.once {
		rounds = 1
	}
	sides := b.sides
	if _, events := r.runner.(load); events {
		sides = b.loaded
	}
	for range rounds {
		for side, kind := range sides {
			if side == 1 && (r.alone || kind.name == "") {
				continue
			}
			s, err := r.run(ctx, b, kind)
			if err != nil {
				out.err = fmt.Errorf("on %s: %w", kind.name, err)
				return out
			}
			out.samples[side] = append(out.samples[side], s)
		}
	}
	return out
}

// bound says whether the clients, not the server, were what limited a run: then CPU per event is what counts.
func (r result) bound(side int) bool {
	busy := median(column(r.samples[side], cores))
	return !math.IsNaN(busy) && busy < 0.6
}
