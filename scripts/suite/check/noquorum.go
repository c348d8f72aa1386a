package check

import (
	"fmt"
	"slices"
	"time"

	"floe/scripts/suite/history"
)

// NoQuorumResult is what happened to calls that came without a majority.
type NoQuorumResult struct {
	Verdict `json:"-"`
	// Asked counts changes, Reads those confirmed by a leader, Stale those that are
	// not. P50 and Max are until the answer to one of the first two.
	Asked    int           `json:"asked"`
	Reads    int           `json:"reads"`
	Stale    int           `json:"stale"`
	P50, Max time.Duration `json:"-"`
}

const (
	// answerTime is what an answer may take on its way, beside what floe needs.
	answerTime = 300 * time.Millisecond
	// echo is how long after a majority was lost a leader may still hear what
	// it said before: packets are up to 0.9 s late.
	echo = 1500 * time.Millisecond
	// comesBack is how long after a fault of a node its stale reads may fail,
	// since it starts.
	comesBack = 15 * time.Second
)

// NoQuorum checks C4 on calls to nodes that work while a majority can't be reached.
// A change or a read that a leader has to confirm is not acknowledged before it can,
// and each ends by floe's answer before the client's patience does. A stale read of
// a node that no fault has touched is answered.
func NoQuorum(ops []history.Op, faults []Fault, nodes []string, patience time.Duration) NoQuorumResult {
	limit := patience - answerTime
	c := noQuorum{v: newVerdict(fmt.Sprintf("C4 without a majority each call ends within %s, none is acknowledged, and stale reads go on", limit)), limit: limit, patience: patience, faults: faults}
	for _, o := range ops {
		lost := lostAt(o.Start, faults, nodes)
		if lost.End == 0 || slices.Contains(lost.down, o.Node) {
			continue
		}
		switch {
		case isChange(o):
			if c.judge(o, lost) {
				c.r.Asked++
			}
		case isRead(o.Func) || o.Func == "topics":
			if o.Start-lost.begun > int64(echo) && c.judge(o, lost) {
				c.r.Reads++
			}
		case o.Func == "stale" && c.untouched(o):
			c.r.Stale++
			if took := o.Ended - o.Start; o.Outcome != history.OK || took > int64(limit) {
				c.v.breach("stale read of %s at %s, op %d, was not answered in time: %s after %s", o.Key, o.Node, o.ID, o.Error, waited(took))
			}
		}
	}
	if len(c.times) > 0 {
		s := spread50(c.times)
		c.r.P50, c.r.Max = s.P50, s.Max
	}
	c.v.Checked = fmt.Sprintf("%d changes and %d reads asked for without a majority, ended within %s, half of them within %s; %d stale reads answered",
		c.r.Asked, c.r.Reads, c.r.Max.Round(time.Millisecond), c.r.P50.Round(time.Millisecond), c.r.Stale)
	c.r.Verdict = *c.v
	return c.r
}

type noQuorum struct {
	v               *Verdict
	r               NoQuorumResult
	limit, patience time.Duration
	faults          []Fault
	times           []time.Duration
}

// judge looks at a call that needs a majority and says whether it counts.
func (c *noQuorum) judge(o history.Op, lost outage) bool {
	if o.Outcome == history.OK && o.End < lost.End {
		c.v.breach("%s %s at %s, op %d, was acknowledged after %s while no majority could be reached", o.Func, o.Key, o.Node, o.ID, time.Duration(o.End-o.Start))
	}
	if lost.End-o.Start < int64(c.patience) && o.Ended > lost.End {
		return false // it may have been answered thanks to the heal
	}
	took := waited(o.Ended - o.Start)
	c.times = append(c.times, took)
	if took > c.limit {
		c.v.breach("%s %s at %s, op %d, had no answer for %s: %s", o.Func, o.Key, o.Node, o.ID, took.Round(time.Millisecond), o.Error)
	}
	return true
}

// waited is how long a call took; one that never ended took an hour.
func waited(took int64) time.Duration { return time.Duration(min(took, int64(time.Hour))) }

// untouched says whether nothing but the network was tampered with at the node of a
// call, from some time before it until its end.
func (c *noQuorum) untouched(o history.Op) bool {
	return !slices.ContainsFunc(c.faults, func(f Fault) bool {
		if slices.Contains([]string{"partition", "oneway", "bridge", "delay", "loss", "corrupt", "clock"}, f.Kind) {
			return false
		}
		return slices.Contains(f.Nodes, o.Node) && f.Start < o.Ended && f.End > o.Start-int64(comesBack)
	})
}

// outage is a time without a majority.
type outage struct {
	Span
	begun int64    // when the last of its faults was there for certain
	down  []string // nodes that do not work
}

// lostAt is the outage that a moment lies in, the zero value where there is
// none for certain. It ends with the first of its faults.
func lostAt(t int64, faults []Fault, nodes []string) outage {
	o := outage{Span: Span{Start: t, End: history.Never}}
	found := false
	var down []string
	for _, f := range faults {
		if f.losesData() && f.Start <= t && t < f.End {
			return outage{} // how many are a majority is not known while a member is away
		}
		if t < f.Held.Start || t >= f.Held.End {
			continue
		}
		switch {
		case f.takesDown(), f.Kind == "pause":
			down = append(down, f.Nodes...)
		case f.Kind == "partition" && f.Apart && len(f.Nodes) == len(nodes):
			found = true
		default:
			continue
		}
		o.End, o.begun = min(o.End, f.Held.End), max(o.begun, f.Held.Start)
	}
	slices.Sort(down)
	o.down = slices.Compact(down)
	if !found && 2*len(o.down) <= len(nodes) {
		return outage{}
	}
	return o
}
