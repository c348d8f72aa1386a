package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// resultOf has the same figures in each of its rounds.
func resultOf(t *table, a, b sample, targets ...target) result {
	return result{row: row{name: "r", table: t, targets: targets}, samples: [2][]sample{{a}, {b}}}
}

func TestTargetsAreJudged(t *testing.T) {
	r := resultOf(flatOut, sample{delivered: 120, cpuEvent: 4, loss: 0}, sample{delivered: 100, cpuEvent: 10})
	tests := []struct {
		target target
		want   bool
	}{
		{target{metric: delivered, ratio: true, atLeast: true, limit: 1.2}, true},
		{target{metric: delivered, ratio: true, atLeast: true, limit: 1.3}, false},
		{target{metric: cpuEvent, ratio: true, limit: 0.5}, true},
		{target{metric: cpuEvent, ratio: true, limit: 0.3}, false},
		{target{metric: cpuEvent, limit: 4}, true},
		{target{metric: cpuEvent, limit: 3}, false},
		{target{metric: loss, limit: 0}, true},
		{target{metric: creates, atLeast: true}, false}, // no such figure
	}
	for _, tt := range tests {
		if got := tt.target.reached(r); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.target, got, tt.want)
		}
	}
}

func TestCells(t *testing.T) {
	tests := []struct {
		r      result
		metric metric
		want   string
	}{
		{resultOf(flatOut, sample{delivered: 3000}, sample{delivered: 2000}), delivered, "3 000 : 2 000 = **1.50**"},
		{resultOf(flatOut, sample{loss: 0}, sample{loss: 87.1}), loss, "0 : 87.1"},
		{resultOf(flatOut, sample{}, sample{}), peak, "-"},
		{resultOf(flatOut, sample{peak: 12}, sample{}), peak, "12.0 : -"},
		{result{row: row{table: footprint, alone: true}, samples: [2][]sample{{{answer: 31}}}}, answer, "31.0"},
	}
	for _, tt := range tests {
		if got := cell(tt.r, tt.metric); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestRemarkNamesTheLimitAndWhatBroke(t *testing.T) {
	r := resultOf(flatOut, sample{cores: 0.3}, sample{cores: 0.9})
	if got, want := remark(r), "limited by the clients on the first side"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.samples[1][0][cores], r.err = 0.5, errors.New("x")
	if got, want := remark(r), "BROKEN; limited by the clients on both sides"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReportIsPrintedAndSaved(t *testing.T) {
	var stdout bytes.Buffer
	r := newReport(&bench{options: options{suite: iceSuite, rounds: 3}, temp: t.TempDir(), sides: [2]system{{name: "floe"}, {name: "IceStorm"}}}, &stdout)
	r.add(resultOf(creating, sample{creates: 300}, sample{creates: 100},
		target{metric: creates, ratio: true, atLeast: true, limit: 2}))
	r.add(resultOf(creating, sample{}, sample{}, target{metric: creates, limit: 1}))
	r.finish()
	for _, want := range []string{
		"### Creating topics", "| r | 300 : 100 = **3.00** | creates/s ≥ 2x: reached |", "Targets reached: 1 of 2",
		"- r: creates/s ≤ 1\n",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in:\n%s", want, stdout.String())
		}
	}
	if n := strings.Count(stdout.String(), "###"); n != 1 {
		t.Errorf("%d headings, want 1", n)
	}
	dir := filepath.Join(t.TempDir(), "new")
	if err := r.save(dir); err != nil {
		t.Fatal(err)
	}
	checkSaved(t, dir, stdout.String())
}

func checkSaved(t *testing.T, dir, printed string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "bench-ice.md"))
	if err != nil || string(text) != printed {
		t.Errorf("bench-ice.md: %v: %s", err, text)
	}
	data, err := os.ReadFile(filepath.Join(dir, "bench-ice.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got exported
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 2 || got.Rows[0].Ratios[creates] != 3 || !got.Rows[0].Targets[0].Reached || got.Rounds != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestNothingIsSavedWithoutAFolder(t *testing.T) {
	if err := (&report{}).save(""); err != nil {
		t.Error(err)
	}
}
