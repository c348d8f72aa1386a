package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"floe/scripts/suite/history"
)

// ConvergeWithin is how soon after a heal each node has all that the cluster had
// by then: recovery after a heal takes 2 s at most.
const ConvergeWithin = 2 * time.Second

// Converged is how fast nodes have what the cluster has.
type Converged struct {
	Verdict Verdict `json:"-"`
	// Spread counts changes of routes and MEIDs, made while there was no fault,
	// from when they were acknowledged until the last node said that it has them.
	Spread Spread        `json:"spread"`
	P99    time.Duration `json:"p99_ns"`
	// Heal is the same of heals: until the last node had what any had.
	Heal Spread `json:"heal"`
}

// Converge checks the part of C9 about time: once the last fault is healed, and once
// one is healed with none other about, each node says within the bound that it has
// the index that any node had at the heal. Where a node may have to start first, its
// time begins with its first answer. Nodes that may have been no members are left out
// until the last heal, before which they came back.
func Converge(ops []history.Op, faults []Fault, calm Span, nodes []string, bound time.Duration) Converged {
	c := converger{said: whatNodesSaid(MessageRun{Ops: ops}).said, nodes: nodes}
	r := Converged{}
	v := newVerdict("C9 every node has what the cluster has soon after it was acknowledged, and after a heal")
	var heals, spread []time.Duration
	for _, h := range lone(faults, bound) {
		heals = append(heals, c.healed(v, h, bound))
	}
	if calm.Start > 0 {
		heals = append(heals, c.healed(v, Fault{Kind: lastFault, End: calm.Start}, bound))
	} else {
		v.breach("the run did not come to the end of the faults")
	}
	for _, o := range ops {
		if o.Outcome != history.OK || o.Out.Refused || o.Out.Version == 0 || !isChange(o) {
			continue
		}
		last := c.reached(o.Out.Version, o.Start)
		if last == history.Never || during(faults, o.Start, max(last, o.End)) {
			continue
		}
		spread = append(spread, time.Duration(max(0, last-o.End)))
	}
	r.Heal, r.Spread, r.P99 = spreadOf(heals), spreadOf(spread), percentile(spread, 99)
	v.Checked = fmt.Sprintf("%d heals, the slowest %s after; %d changes without a fault: half on the last node within %s, 99 of 100 within %s",
		len(heals), r.Heal.Max.Round(time.Millisecond), len(spread), r.Spread.P50.Round(time.Millisecond), r.P99.Round(time.Millisecond))
	r.Verdict = *v
	return r
}

// lastFault stands for whatever kinds of fault were healed last, all at once.
const lastFault = "the last fault"

type converger struct {
	said  map[string][]history.Op // what nodes said of their index, by end
	nodes []string
}

// healed judges one heal and returns how long the last node took.
func (c converger) healed(v *Verdict, f Fault, bound time.Duration) time.Duration {
	index := uint64(0)
	for _, n := range c.nodes {
		for _, o := range c.said[n] {
			if o.End <= f.End {
				index = max(index, o.Out.Index)
			}
		}
	}
	slowest := time.Duration(0)
	for _, n := range c.nodes {
		at := c.first(n, index, f.End)
		if at == history.Never {
			v.breach("%s never said after the heal of %s that it is at index %d", n, f.Kind, index)
			continue
		}
		slowest = max(slowest, time.Duration(at-f.End))
		from := f.End
		if f.Kind == lastFault || slices.Contains(ending, f.Kind) {
			from = c.first(n, 0, f.End)
		}
		if took := time.Duration(at - from); took > bound {
			v.breach("%s was at index %d, where the cluster was at the heal of %s, only %s after it, or after its first answer; at most %s", n, index, f.Kind, took.Round(time.Millisecond), bound)
		}
	}
	return slowest
}

// reached is when the last node said that it is at an index, or beyond, in an answer
// to a question of a moment or later.
func (c converger) reached(index uint64, from int64) int64 {
	last := int64(0)
	for _, n := range c.nodes {
		last = max(last, c.first(n, index, from))
	}
	return last
}

func (c converger) first(node string, index uint64, from int64) int64 {
	said := c.said[node]
	i, _ := slices.BinarySearchFunc(said, from+1, func(o history.Op, t int64) int { return cmp.Compare(o.End, t) })
	for _, o := range said[i:] {
		if o.Out.Index >= index {
			return o.End
		}
	}
	return history.Never
}

// lone returns the faults that no other is near when they are healed, and after
// which all nodes are members.
func lone(faults []Fault, bound time.Duration) []Fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool {
		others := slices.DeleteFunc(slices.Clone(faults), func(o Fault) bool { return o.Start == f.Start && o.End == f.End })
		return during(others, f.End, f.End+int64(bound)) || slices.ContainsFunc(faults, func(o Fault) bool { return o.losesData() && o.Start <= f.End })
	})
}

// during tells whether any fault is there at some time between two moments.
func during(faults []Fault, from, to int64) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return f.Start < to && f.End > from })
}

// spreadOf is spread50 that takes none as well.
func spreadOf(all []time.Duration) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	return spread50(all)
}

// percentile is the value that so many of a hundred do not exceed; 0 of none.
func percentile(all []time.Duration, percent int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(all), cmp.Compare)
	return sorted[(len(sorted)*percent-1)/100]
}
