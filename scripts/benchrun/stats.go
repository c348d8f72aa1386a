package main

import (
	"math"
	"slices"
)

// median returns the middle value, the mean of the two in the middle where there is none, NaN for no values at all.
// Values that are no numbers don't count.
func median(values []float64) float64 {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(sorted)
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// column takes one figure out of every sample; NaN where a sample lacks it.
func column(samples []sample, m metric) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		v, ok := s[m]
		if !ok {
			v = math.NaN()
		}
		out[i] = v
	}
	return out
}

// ratio is the median of a[i]/b[i] over the rounds that both sides finished; NaN where there is none.
func ratio(a, b []float64) float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			out = append(out, a[i]/b[i])
		}
	}
	return median(out)
}
