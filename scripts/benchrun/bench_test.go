package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

// recorder notes on which side it ran; it fails in the run of that number.
type recorder struct {
	order *[]string
	fail  int
}

func (r recorder) run(_ context.Context, _ *bench, kind system) (sample, error) {
	*r.order = append(*r.order, kind.name)
	if len(*r.order) == r.fail {
		return nil, errors.New("broke")
	}
	return sample{creates: float64(len(*r.order))}, nil
}

func TestSidesTakeTurns(t *testing.T) {
	tests := []struct {
		name string
		row  row
		fail int
		want string
	}{
		{"rounds", row{}, 0, "A B A B A B"},
		{"once", row{once: true}, 0, "A B"},
		{"alone", row{alone: true}, 0, "A A A"},
		{"broken on B", row{}, 4, "A B A B"},
	}
	for _, tt := range tests {
		var order []string
		b := &bench{options: options{rounds: 3}, sides: [2]system{{name: "A"}, {name: "B"}}}
		tt.row.runner = recorder{&order, tt.fail}
		got := b.runRow(t.Context(), tt.row)
		if s := strings.Join(order, " "); s != tt.want {
			t.Errorf("%s: ran on %s, want %s", tt.name, s, tt.want)
		}
		if (got.err != nil) != (tt.fail > 0) {
			t.Errorf("%s: error %v", tt.name, got.err)
		}
		if got.err == nil && got.floe(creates) <= 0 {
			t.Errorf("%s: no figure", tt.name)
		}
	}
}

func TestABrokenRowDoesNotStopTheOthers(t *testing.T) {
	var order []string
	var stdout, log bytes.Buffer
	b := &bench{options: options{rounds: 1}, temp: t.TempDir(), log: &log}
	b.sides = [2]system{{name: "A"}, {name: "B"}}
	b.report = newReport(b, &stdout)
	err := b.runAll(t.Context(), []row{
		{name: "first", table: creating, runner: recorder{&order, 1}},
		{name: "second", table: creating, runner: recorder{&order, 0}},
	})
	if err == nil || !strings.Contains(err.Error(), "first: on A: broke") {
		t.Errorf("got %v, want what broke", err)
	}
	for _, want := range []string{"| first | - | BROKEN |", "| second | 2.00 : 3.00 = **0.67** |"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in:\n%s", want, stdout.String())
		}
	}
}

func TestAnInterruptedRowIsNotReported(t *testing.T) {
	var order []string
	var stdout, log bytes.Buffer
	b := &bench{options: options{rounds: 1}, temp: t.TempDir(), log: &log}
	b.report = newReport(b, &stdout)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := b.runAll(ctx, []row{{name: "first", table: creating, runner: recorder{&order, 0}}})
	if !errors.Is(err, context.Canceled) || strings.Contains(stdout.String(), "first") {
		t.Errorf("got %v and:\n%s", err, stdout.String())
	}
}
