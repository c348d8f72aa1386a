package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// report prints tables in Markdown as the rows come in, and keeps them for the files.
type report struct {
	out     io.Writer
	text    strings.Builder
	suite   string
	names   [2]string // the second is empty where there is nothing to compare with
	machine machine
	rounds  int
	current *table
	results []result
}

func newReport(b *bench, stdout io.Writer) *report {
	r := &report{suite: b.suite, names: [2]string{b.sides[0].name, b.sides[1].name}, machine: thisMachine(b.temp), rounds: b.rounds}
	if r.suite == iceSuite {
		r.machine.Ice = iceVersion()
	}
	r.out = io.MultiWriter(stdout, &r.text)
	fmt.Fprintf(r.out, "%s\n", r.machine)
	if r.names[1] == "" {
		fmt.Fprintf(r.out, "Each cell: the median of %d rounds.\n", b.rounds)
		return r
	}
	fmt.Fprintf(r.out, "Each cell: %s : %s = ratio, medians of %d paired rounds.\n", r.names[0], r.names[1], b.rounds)
	return r
}

// add prints a row, under a heading where it begins a table.
func (r *report) add(got result) {
	r.results = append(r.results, got)
	if got.table != r.current {
		r.current = got.table
		r.heading(got.table)
	}
	cells := []string{got.name}
	for _, m := range got.table.metrics {
		cells = append(cells, cell(got, m))
	}
	fmt.Fprintf(r.out, "| %s |\n", strings.Join(append(cells, remark(got)), " | "))
}

func (r *report) heading(t *table) {
	fmt.Fprintf(r.out, "\n### %s\n\n| row |", t.title)
	for _, m := range t.metrics {
		fmt.Fprintf(r.out, " %s |", m)
	}
	fmt.Fprintf(r.out, " targets |\n|%s\n", strings.Repeat(" --- |", len(t.metrics)+2))
}

// cell prints both figures and the ratio, as far as they exist.
func cell(r result, m metric) string {
	a, b := r.floe(m), r.iceStorm(m)
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return "-"
	case len(r.samples[1]) == 0:
		return format(a)
	}
	text := format(a) + " : " + format(b)
	if q := r.ratio(m); m != loss && m != cores && !math.IsNaN(q) {
		text += " = **" + ratioText(q) + "**"
	}
	return text
}

// ratioText always shows two digits behind the point, as targets do at most.
func ratioText(q float64) string { return fmt.Sprintf("%.2f", q) }

// remark says what the figures alone don't.
func remark(r result) string {
	var notes []string
	if r.err != nil {
		notes = append(notes, "BROKEN")
	}
	for _, t := range r.targets {
		notes = append(notes, t.verdict(r))
	}
	switch a, b := r.bound(0), r.bound(1); {
	case !r.table.limited:
	case a && len(r.samples[1]) == 0:
		notes = append(notes, "limited by the clients")
	case a && b:
		notes = append(notes, "limited by the clients on both sides")
	case a:
		notes = append(notes, "limited by the clients on the first side")
	case b:
		notes = append(notes, "limited by the clients on the second side")
	}
	return strings.Join(notes, "; ")
}

// finish counts the targets.
func (r *report) finish() {
	all, missed := 0, []string{}
	for _, got := range r.results {
		for _, t := range got.targets {
			all++
			if !t.reached(got) {
				missed = append(missed, fmt.Sprintf("- %s: %s", got.name, t))
			}
		}
	}
	fmt.Fprintf(r.out, "\nTargets reached: %d of %d.\n", all-len(missed), all)
	if len(missed) > 0 {
		fmt.Fprintf(r.out, "Not reached:\n\n%s\n", strings.Join(missed, "\n"))
	}
}

// save writes both files into dir; nothing where dir is empty.
func (r *report) save(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r.export(), "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "bench-"+r.suite+".json"), append(data, '\n'), 0o666),
		os.WriteFile(filepath.Join(dir, "bench-"+r.suite+".md"), []byte(r.text.String()), 0o666),
	)
}
