package check

import (
	"fmt"
	"slices"
	"time"

	"floe/scripts/suite/history"
)

// NoQuorumResult is what happened to changes that were asked for without a
// majority.
type NoQuorumResult struct {
	Verdict `json:"-"`
	// Asked counts them; P50 and Max are until their answer.
	Asked    int           `json:"asked"`
	P50, Max time.Duration `json:"-"`
}

// answerTime is what an answer may take on its way, beside what floe needs.
const answerTime = 300 * time.Millisecond

// NoQuorum checks C4 on changes asked of nodes that work while a majority can't
// be reached: none is acknowledged before it can, and each ends by floe's answer
// before the client's patience does.
func NoQuorum(ops []history.Op, faults []Fault, nodes []string, patience time.Duration) NoQuorumResult {
	v := newVerdict("C4 without a majority a change ends in time and is never acknowledged")
	r := NoQuorumResult{}
	var times []time.Duration
	limit := patience - answerTime
	for _, o := range ops {
		if !isChange(o) {
			continue
		}
		lost := lostAt(o.Start, faults, nodes)
		if lost.End == 0 || slices.Contains(lost.down, o.Node) {
			continue
		}
		if o.Outcome == history.OK && o.End < lost.End {
			v.breach("%s %s at %s, op %d, was acknowledged after %s while no majority could be reached", o.Func, o.Key, o.Node, o.ID, time.Duration(o.End-o.Start))
		}
		if lost.End-o.Start < int64(patience) && o.Ended > lost.End {
			continue // it may have been answered thanks to the heal
		}
		took := time.Duration(min(o.Ended, o.Start+int64(time.Hour)) - o.Start)
		times = append(times, took)
		if took > limit {
			v.breach("%s %s at %s, op %d, had no answer for %s: %s", o.Func, o.Key, o.Node, o.ID, took.Round(time.Millisecond), o.Error)
		}
	}
	if r.Asked = len(times); r.Asked > 0 {
		s := spread50(times)
		r.P50, r.Max = s.P50, s.Max
	}
	v.Checked = fmt.Sprintf("%d changes asked for without a majority, ended within %s, half of them within %s", r.Asked, r.Max.Round(time.Millisecond), r.P50.Round(time.Millisecond))
	r.Verdict = *v
	return r
}

// outage is a time without a majority.
type outage struct {
	Span
	down []string // nodes that do not work
}

// lostAt is the outage that a moment lies in, the zero value where there is
// none for certain. It ends with the first of its faults.
func lostAt(t int64, faults []Fault, nodes []string) outage {
	o := outage{Span: Span{Start: t, End: history.Never}}
	found := false
	var down []string
	for _, f := range faults {
		if t < f.Held.Start || t >= f.Held.End {
			continue
		}
		switch {
		case f.takesDown(), f.Kind == "pause":
			down = append(down, f.Nodes...)
			o.End = min(o.End, f.Held.End)
		case f.Kind == "partition" && f.Apart && len(f.Nodes) == len(nodes):
			found = true
			o.End = min(o.End, f.Held.End)
		}
	}
	slices.Sort(down)
	o.down = slices.Compact(down)
	if !found && 2*len(o.down) <= len(nodes) {
		return outage{}
	}
	return o
}
