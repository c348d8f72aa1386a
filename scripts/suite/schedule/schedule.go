package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The kinds of fault.
const (
	Kill      Kind = "kill"      // SIGKILL, started again when the step ends
	Pause     Kind = "pause"     // SIGSTOP, SIGCONT when the step ends
	Partition Kind = "partition" // no packet between the victims and the others
	Oneway    Kind = "oneway"    // packets go one way only
)

// Kinds are all kinds, in the order they are listed for users.
var Kinds = []Kind{Kill, Pause, Partition, Oneway}

// Leader stands for whoever leads when a step begins.
const Leader = 0

// Step is one fault with its begin and length.
type Step struct {
	Number   int           `json:"number"`
	At       time.Duration `json:"at_ns"`
	Length   time.Duration `json:"length_ns"`
	Kind     Kind          `json:"kind"`
	Victims  []int         `json:"victims"`            // node numbers from 1; Leader where that is who leads
	Apart    bool          `json:"apart,omitempty"`    // partition: the victims are cut from one another as well
	Incoming bool          `json:"incoming,omitempty"` // oneway: the victims hear nothing; otherwise nobody hears them
}

// End is when the fault ends.
func (s Step) End() time.Duration { return s.At + s.Length }

// String is the step's line in a printed schedule.
func (s Step) String() string {
	return fmt.Sprintf("%2d  %6.1fs to %6.1fs  %s", s.Number, s.At.Seconds(), s.End().Seconds(), s.What())
}

// What says in words what happens to whom.
func (s Step) What() string {
	names := make([]string, len(s.Victims))
	for i, v := range s.Victims {
		names[i] = fmt.Sprintf("n%d", v)
		if v == Leader {
			names[i] = "the leader"
		}
	}
	text := fmt.Sprintf("%s %s", s.Kind, strings.Join(names, ", "))
	switch {
	case s.Apart:
		text += " from everybody"
	case s.Kind == Oneway && s.Incoming:
		text += ": hears nobody"
	case s.Kind == Oneway:
		text += ": nobody hears it"
	}
	return text
}

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

func (d dice) step(nodes int, kinds []Kind) Step {
	s := Step{Kind: kinds[d.IntN(len(kinds))]}
	switch s.Kind {
	case Kill:
		s.Victims, s.Length = d.victims(nodes, 60, 25), d.between(200*time.Millisecond, 5*time.Second)
	case Pause:
		s.Victims, s.Length = d.victims(nodes, 75, 20), d.between(time.Second, 6*time.Second)
	case Partition:
		s.Victims, s.Length = d.victims(nodes, 80, 0), d.between(2*time.Second, 8*time.Second)
		s.Apart = len(s.Victims) == nodes
	case Oneway:
		s.Victims, s.Length = d.victims(nodes, 100, 0), d.between(2*time.Second, 8*time.Second)
		s.Incoming = d.chance(50)
	}
	return s
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

// ParseKinds reads a comma-separated list of kinds, or "all".
func ParseKinds(text string) ([]Kind, error) {
	if text == "all" {
		return Kinds, nil
	}
	var kinds []Kind
	for word := range strings.SplitSeq(text, ",") {
		k := Kind(word)
		if !slices.Contains(Kinds, k) {
			return nil, fmt.Errorf("no nemesis %q: there are kill, pause, partition, oneway and all", word)
		}
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}
