package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// row is one case on both sides: floe, IceStorm.
type row struct {
	fault  string
	cap    time.Duration
	trials [2][]trial
}

func (r *row) reachedCap(side int) bool {
	return slices.ContainsFunc(r.trials[side], func(t trial) bool { return t.outage >= r.cap })
}

func (r *row) median(side int) time.Duration {
	var all []time.Duration
	for _, t := range r.trials[side] {
		all = append(all, t.outage)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// ratio is that of the medians; IceStorm's may be a lower bound.
func (r *row) ratio() string {
	sign := ""
	if r.median(1) >= r.cap {
		sign = "< "
	}
	return fmt.Sprintf("%s%.2g", sign, r.median(0).Seconds()/r.median(1).Seconds())
}

// sums adds up what became of events.
func (r *row) sums(side int) (lost, refused int, gap time.Duration) {
	for _, t := range r.trials[side] {
		if t.events != nil {
			lost, refused, gap = lost+t.events.lost, refused+t.events.refused, max(gap, t.events.gap)
		}
	}
	return lost, refused, gap
}

// target is what floe's median is to be below.
const target = 2 * time.Second

func (r *row) verdict() string {
	if r.median(0) < target {
		return "reached"
	}
	return "NOT reached"
}

// table is the report: floe : IceStorm.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("floe : IceStorm, three nodes each; ratio below 1: floe is better\n\n")
	b.WriteString("| fault | without changes, median | ratio | events lost | not accepted | longest gap ms | runs | target < 2 s |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range rows {
		events := "- | - | -"
		if r.trials[0][0].events != nil {
			lostA, notA, gapA := r.sums(0)
			lostB, notB, gapB := r.sums(1)
			events = fmt.Sprintf("%d : %d | %d : %d | %d : %d", lostA, lostB, notA, notB, gapA.Milliseconds(), gapB.Milliseconds())
		}
		fmt.Fprintf(&b, "| %s | %s : %s | %s | %s | %d : %d | %s |\n", r.fault, seconds(r.median(0), r.cap), seconds(r.median(1), r.cap), r.ratio(),
			events, len(r.trials[0]), len(r.trials[1]), r.verdict())
	}
	return b.String()
}
