package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"floe/scripts/suite/history"
)

// MembersRun is what is needed to judge changes of members.
type MembersRun struct {
	Ops    []history.Op
	Faults []Fault
	// Stay are the nodes that are voters all the time, unless Churned.
	Stay    []string
	Churned bool
	// Configurations are the voters after each committed change of them.
	Configurations []Configuration
}

// Configuration is who votes from an index on.
type Configuration struct {
	Index  uint64
	Voters []string
}

// settled is how soon after a change of members, with no fault about, another
// change has to be acknowledged.
const settled = 5 * time.Second

// Members checks M1: the voters at the end are those that were acknowledged,
// voters change one at a time, and a change of members alone never stops service.
func Members(run MembersRun) Verdict {
	v := newVerdict("M1 members come and go one at a time and never cost the majority")
	done, refused, unknown := 0, 0, 0
	last := history.Op{Out: &history.Value{}}
	changes := acknowledged(run.Ops)
	for _, o := range run.Ops {
		if !isMembership(o) {
			continue
		}
		switch o.Outcome {
		case history.OK:
			done++
			serves(v, o, changes, run)
		case history.Fail:
			refused++
			continue
		default:
			unknown++
		}
		last = o
	}
	for _, o := range run.Ops {
		if o.Func == "final" && o.Outcome == history.OK {
			judgeVoters(v, o, last, run)
		}
	}
	oneAtATime(v, run)
	v.Checked = fmt.Sprintf("%d changes, %d refused, %d unknown; %d configurations in the log", done, refused, unknown, len(run.Configurations))
	return *v
}

func isMembership(o history.Op) bool {
	return slices.Contains([]string{"join", "leave", "remove", "renew"}, o.Func)
}

// serves checks that work goes on after a change of members that no fault was near.
func serves(v *Verdict, o history.Op, changes []history.Op, run MembersRun) {
	from, to := o.Start-int64(time.Second), o.End+int64(settled)
	for _, f := range run.Faults {
		if f.Start < to && f.End > from {
			return
		}
	}
	asked := slices.ContainsFunc(run.Ops, func(c history.Op) bool { return isChange(c) && c.Start > o.End && c.Start < to-int64(time.Second) })
	next, found := firstAfter(changes, o.End)
	if asked && (!found || next > to) {
		v.breach("no change was acknowledged within %s after %s of %s, op %d", settled, o.Func, o.Key, o.ID)
	}
}

func judgeVoters(v *Verdict, final, last history.Op, run MembersRun) {
	for _, n := range run.Stay {
		if !run.Churned && !slices.Contains(final.Out.Voters, n) {
			v.breach("%s says that %s has no vote, and nobody removed it", final.Node, n)
		}
	}
	for _, n := range final.Out.Voters {
		if !slices.Contains(run.Stay, n) && n != last.Key {
			v.breach("%s says that %s votes, and nobody had it join", final.Node, n)
		}
	}
	if last.Outcome != history.OK {
		return
	}
	there := slices.Contains(final.Out.Voters, last.Key)
	if there != (last.Func == "join") {
		v.breach("%s was acknowledged last for %s, and %s says that the voters are %s", last.Func, last.Key, final.Node, strings.Join(final.Out.Voters, ", "))
	}
}

// oneAtATime looks at the configurations in the log.
func oneAtATime(v *Verdict, run MembersRun) {
	for i := 1; i < len(run.Configurations); i++ {
		a, b := run.Configurations[i-1].Voters, run.Configurations[i].Voters
		if apart(a, b)+apart(b, a) > 1 {
			v.breach("index %d: the voters went from %s to %s in one step", run.Configurations[i].Index, strings.Join(a, ", "), strings.Join(b, ", "))
		}
		if len(b) < len(run.Stay) && !run.Churned && i > len(run.Stay) {
			v.breach("index %d: only %s vote", run.Configurations[i].Index, strings.Join(b, ", "))
		}
	}
}

// apart counts what is in a and not in b.
func apart(a, b []string) int {
	n := 0
	for _, x := range a {
		if !slices.Contains(b, x) {
			n++
		}
	}
	return n
}
