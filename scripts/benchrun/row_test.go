package main

import (
	"slices"
	"testing"
)

func TestRowsHaveNamesOfTheirOwnAndFiguresForTheirTargets(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range allRows(1) {
		if seen[r.name] {
			t.Errorf("%s: twice", r.name)
		}
		seen[r.name] = true
		for _, target := range r.targets {
			if !slices.Contains(r.table.metrics, target.metric) {
				t.Errorf("%s: target %v is not in its table", r.name, target)
			}
			if r.alone && target.ratio {
				t.Errorf("%s: target %v has nothing to compare with", r.name, target)
			}
		}
	}
	for _, want := range []string{
		"1->1 oneway 256 B", "4->4 ordered 4096 B", "link inside batch 16 B", "link to 2nd oneway 256 B 10000/s",
		"1->8 oneway 256 B 1000/s", "create 64 in flight", "start of an empty node",
	} {
		if !seen[want] {
			t.Errorf("%s: missing", want)
		}
	}
}

func TestTargetsAreThoseOfTheRow(t *testing.T) {
	tests := []struct {
		name string
		want []string
	}{
		{"1->1 oneway 16 B", []string{"delivered/s ≥ 1.2x", "CPU µs/event ≤ 0.5x"}},
		{"4->4 batch 256 B", []string{"delivered/s ≥ 1.2x", "CPU µs/event ≤ 1x"}},
		{"link inside oneway 16 B", []string{"delivered/s ≥ 1.2x", "CPU µs/event ≤ 0.5x", "loss % ≤ 0"}},
		{"link to 2nd oneway 256 B 10000/s", []string{"CPU µs/event ≤ 0.5x", "loss % ≤ 0"}},
		{"create 64 in flight", []string{"creates/s ≥ 2x"}},
		{"idle", []string{"MB ≤ 30"}},
		{"start with 10 000 topics on disk", []string{"MB ≤ 60", "ms to ready ≤ 1000"}},
		{"create alone", nil},
	}
	for _, tt := range tests {
		rows := allRows(1)
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == tt.name })
		if i < 0 {
			t.Fatalf("%s: no such row", tt.name)
		}
		var got []string
		for _, target := range rows[i].targets {
			got = append(got, target.String())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
