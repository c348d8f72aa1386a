package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"floe/scripts/suite/history"
)

// Progress says how well a service went on: figures, and the promise C5.
type Progress struct {
	Verdict Verdict `json:"verdict"`
	// Availability is the share of one-second windows with an acknowledged
	// change among those in which one was asked for.
	Availability float64 `json:"availability"`
	// Recovery is, for each fault, the time from its end to the first
	// acknowledged change that was asked for after it.
	Recovery map[string]Spread `json:"recovery"`
	// Gap is, for each fault, the longest time without an acknowledged
	// change between its start and two seconds after its end.
	Gap map[string]Spread `json:"gap"`
}

// Spread is a median and a maximum, in nanoseconds.
type Spread struct {
	Count int           `json:"count"`
	P50   time.Duration `json:"p50_ns"`
	Max   time.Duration `json:"max_ns"`
}

// Span is a stretch of a run.
type Span struct {
	Start int64 `json:"start_ns"`
	End   int64 `json:"end_ns"`
}

// MakeProgress works out the figures of a run. C5 holds where each of the nodes
// had a change acknowledged within the patience given after the beginning of
// the calm, the time without faults at the end.
func MakeProgress(ops []history.Op, faults []Fault, calm Span, nodes []string, patience time.Duration) Progress {
	changes := acknowledged(ops)
	p := Progress{Recovery: map[string]Spread{}, Gap: map[string]Spread{}, Availability: availability(ops)}
	recovery, gap := map[string][]time.Duration{}, map[string][]time.Duration{}
	for _, f := range faults {
		if next, found := firstAfter(changes, f.End); found {
			recovery[f.Kind] = append(recovery[f.Kind], time.Duration(next-f.End))
		}
		gap[f.Kind] = append(gap[f.Kind], longestGap(changes, f.Start, f.End+int64(2*time.Second)))
	}
	for kind, all := range recovery {
		p.Recovery[kind] = spread50(all)
	}
	for kind, all := range gap {
		p.Gap[kind] = spread50(all)
	}
	p.Verdict = recovers(changes, calm, nodes, patience)
	return p
}

// Steady checks the part of C5 that is about a fault which stays: while a
// minority is broken, changes asked of some of the other nodes are acknowledged.
func Steady(ops []history.Op, span Span, nodes []string) Verdict {
	v := newVerdict("C5 service goes on while a minority stays broken")
	asked, served := 0, 0
	first := history.Never
	for _, o := range ops {
		if !isChange(o) || o.Start < span.Start || o.Start > span.End || !slices.Contains(nodes, o.Node) {
			continue
		}
		asked++
		if effect(o) == certain && o.End <= span.End {
			served++
			first = min(first, o.End)
		}
	}
	if served == 0 {
		v.breach("of %d changes asked of %s in %s none was acknowledged", asked, strings.Join(nodes, ", "), time.Duration(span.End-span.Start).Round(time.Millisecond))
		return *v
	}
	v.Checked = fmt.Sprintf("%d of %d changes acknowledged, the first after %s", served, asked, time.Duration(first-span.Start).Round(time.Millisecond))
	return *v
}

// recovers checks C5.
func recovers(changes []history.Op, calm Span, nodes []string, patience time.Duration) Verdict {
	v := newVerdict("C5 service returns by itself once the faults are over")
	slowest := time.Duration(0)
	if calm.Start == 0 {
		v.breach("the run did not come to the end of the faults")
		return *v
	}
	for _, n := range nodes {
		own := slices.DeleteFunc(slices.Clone(changes), func(o history.Op) bool { return o.Node != n })
		next, found := firstAfter(own, calm.Start)
		took := time.Duration(next - calm.Start)
		if !found || took > patience {
			v.breach("no change asked of %s was acknowledged within %s", n, patience)
			continue
		}
		slowest = max(slowest, took)
	}
	v.Checked = fmt.Sprintf("slowest node %s after the last heal", slowest.Round(time.Millisecond))
	return *v
}

// acknowledged returns the changes that succeeded, by their end.
func acknowledged(ops []history.Op) []history.Op {
	var out []history.Op
	for _, o := range ops {
		if isChange(o) && effect(o) == certain {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b history.Op) int { return int(a.End - b.End) })
	return out
}

func isChange(o history.Op) bool {
	switch o.Func {
	case "create", "destroy", "link", "relink", "unlink", "own", "disown", "load", "swap":
		return true
	}
	return false
}

// firstAfter returns the end of the first change that was asked for after t.
func firstAfter(changes []history.Op, t int64) (int64, bool) {
	for _, o := range changes {
		if o.Start >= t {
			return o.End, true
		}
	}
	return 0, false
}

func longestGap(changes []history.Op, from, to int64) time.Duration {
	last, longest := from, int64(0)
	for _, o := range changes {
		if o.End <= from {
			continue
		}
		if o.End > to {
			break
		}
		longest, last = max(longest, o.End-last), o.End
	}
	return time.Duration(max(longest, to-last))
}

func availability(ops []history.Op) float64 {
	asked, served := map[int64]bool{}, map[int64]bool{}
	for _, o := range ops {
		if !isChange(o) {
			continue
		}
		asked[o.Start/int64(time.Second)] = true
		if effect(o) == certain {
			served[o.End/int64(time.Second)] = true
		}
	}
	if len(asked) == 0 {
		return 0
	}
	both := 0
	for second := range asked {
		if served[second] {
			both++
		}
	}
	return float64(both) / float64(len(asked))
}

func spread50(all []time.Duration) Spread {
	slices.Sort(all)
	return Spread{Count: len(all), P50: all[len(all)/2], Max: all[len(all)-1]}
}
