package main

import (
	"math"
	"testing"
)

var nan = math.NaN()

// same takes two NaN for the same.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func TestMedian(t *testing.T) {
	tests := []struct {
		values []float64
		want   float64
	}{
		{nil, nan},
		{[]float64{nan}, nan},
		{[]float64{3}, 3},
		{[]float64{9, 1}, 5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{9, nan, 1, nan}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
	}
	for _, tt := range tests {
		if got := median(tt.values); !same(got, tt.want) {
			t.Errorf("median(%v) = %v, want %v", tt.values, got, tt.want)
		}
	}
}

func TestMedianLeavesItsArgumentInOrder(t *testing.T) {
	values := []float64{3, nan, 1}
	median(values)
	if values[0] != 3 || !math.IsNaN(values[1]) || values[2] != 1 {
		t.Errorf("got %v", values)
	}
}

func TestRatioIsTheMedianOfPairs(t *testing.T) {
	tests := []struct {
		name string
		a, b []float64
		want float64
	}{
		{"none", nil, nil, nan},
		{"not the ratio of medians", []float64{1, 10, 100}, []float64{2, 10, 400}, 0.5},
		{"a round that only one side finished", []float64{1, 2, 3}, []float64{2, 4}, 0.5},
		{"a figure that is missing", []float64{nan, 3}, []float64{1, 1}, 3},
		{"nothing to divide by", []float64{1, 3}, []float64{0, 1}, 3},
		{"nothing at all to divide by", []float64{1}, []float64{0}, nan},
	}
	for _, tt := range tests {
		if got := ratio(tt.a, tt.b); !same(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestColumnMarksWhatASampleLacks(t *testing.T) {
	got := column([]sample{{loss: 1}, {}, {loss: 0}}, loss)
	if len(got) != 3 || got[0] != 1 || !math.IsNaN(got[1]) || got[2] != 0 {
		t.Errorf("got %v, want [1 NaN 0]", got)
	}
}

func TestFormat(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.256: "0.26", 9.5: "9.50", 14.26: "14.3", 999.7: "1 000", 123: "123", 1234567.8: "1 234 568", -5000: "-5 000",
	} {
		if got := format(v); got != want {
			t.Errorf("format(%v) = %q, want %q", v, got, want)
		}
	}
	if got := format(nan); got != "-" {
		t.Errorf("format(NaN) = %q, want -", got)
	}
}
