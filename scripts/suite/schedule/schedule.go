package schedule

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Make draws a schedule for nodes 1 to n: faults of the kinds given that have
// all ended by length. The first second is free of faults. No kinds, or too
// little time: no steps.
func Make(seed uint64, nodes int, kinds []Kind, length time.Duration) []Step {
	if len(kinds) == 0 {
		return nil
	}
	d := dice{rand.New(rand.NewPCG(seed, 0x666c6f65))} // "floe": another stream than the clients'
	var steps []Step
	at := time.Second
	for {
		s := d.step(nodes, kinds)
		s.Number, s.At = len(steps)+1, at
		if s.End() > length {
			return steps
		}
		steps = append(steps, s)
		at = d.next(s)
	}
}

// Lasting draws the fault of the liveness phase: one of the kinds given, which
// strikes a minority and stays. The others are a majority that has to serve.
// Number and times are the caller's. No kinds: no fault.
func Lasting(seed uint64, nodes int, kinds []Kind) (Step, bool) {
	if len(kinds) == 0 {
		return Step{}, false
	}
	d := dice{rand.New(rand.NewPCG(seed, 0x6c617374))} // "last"
	s := d.step(nodes, kinds)
	most := (nodes - 1) / 2
	if s.Kind == Bridge || s.Kind == Churn || s.Kind == Damage {
		most = 1
	}
	s.Victims, s.Apart = d.Perm(nodes)[:1+d.IntN(most)], false
	for i := range s.Victims {
		s.Victims[i]++
	}
	slices.Sort(s.Victims)
	return s, true
}

// dice are the draws a schedule is made of.
type dice struct{ *rand.Rand }

// next is when the step after s begins: mostly after a pause in which the
// cluster can recover, one time in five while s lasts.
func (d dice) next(s Step) time.Duration {
	if d.chance(20) {
		return s.At + s.Length/2
	}
	return s.End() + d.between(1500*time.Millisecond, 4*time.Second)
}

// victims draws a minority, a majority or everybody, with the chances of the
// first two in percent. Half of the minorities hold the leader.
func (d dice) victims(nodes, minority, majority int) []int {
	order := d.Perm(nodes)
	for i := range order {
		order[i]++
	}
	n := nodes
	switch roll := d.IntN(100); {
	case roll < minority:
		n = 1 + d.IntN(max(1, (nodes-1)/2))
		if d.chance(50) {
			order[0] = Leader
		}
	case roll < minority+majority:
		n = nodes/2 + 1
	}
	chosen := order[:n]
	slices.Sort(chosen)
	return chosen
}

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// between draws a length in steps of 0.1 s, so that a printed schedule is exact.
func (d dice) between(low, high time.Duration) time.Duration {
	const grain = 100 * time.Millisecond
	return low + time.Duration(d.Int64N(int64((high-low)/grain)+1))*grain
}
