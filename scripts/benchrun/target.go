package main

import (
	"fmt"
	"math"
)

// target is a figure to reach: floe's own, or its ratio to IceStorm's.
type target struct {
	metric  metric
	ratio   bool
	atLeast bool // else at most
	limit   float64
}

func (t target) String() string {
	sign, times := "≤", ""
	if t.atLeast {
		sign = "≥"
	}
	if t.ratio {
		times = "x"
	}
	return fmt.Sprintf("%s %s %v%s", t.metric, sign, t.limit, times)
}

// reached judges the row's figures; a figure that is missing is not reached.
func (t target) reached(r result) bool {
	v := r.floe(t.metric)
	if t.ratio {
		v = r.ratio(t.metric)
	}
	if math.IsNaN(v) {
		return false
	}
	if t.atLeast {
		return v >= t.limit
	}
	return v <= t.limit
}

// verdict says the target and whether it was reached.
func (t target) verdict(r result) string {
	if t.reached(r) {
		return t.String() + ": reached"
	}
	return t.String() + ": NOT reached"
}
