package check

import (
	"fmt"
	"slices"

	"floe/scripts/suite/history"
)

// Apps checks C10 for RMR applications: versions they are given rise, or a
// step back is made good by a later one, and at the end each holds the table
// that the cluster has.
func Apps(ops []history.Op) Verdict {
	v := newVerdict("C10 applications are given versions in order and end on the newest table")
	given := map[string][]history.Op{}
	tables, back := 0, 0
	final := &history.Value{}
	for _, o := range ops {
		switch {
		case o.Func == "given":
			given[o.Key] = append(given[o.Key], o)
			tables++
		case o.Func == "final" && o.Outcome == history.OK:
			final = o.Out
		}
	}
	for _, app := range sorted(given) {
		back += rises(v, app, given[app])
	}
	held := 0
	for _, o := range ops {
		if o.Func != "app" {
			continue
		}
		held++
		if len(given[o.Key]) == 0 {
			v.breach("%s beside %s was never given a table", o.Key, o.Node)
		} else if o.Out.Text != final.Text {
			v.breach("%s beside %s holds table %d at the end and not all that the cluster has, or more; MEIDs: %s", o.Key, o.Node, o.Out.Table, differ(o.Out.Owners, final.Owners))
		}
	}
	v.Checked = fmt.Sprintf("%d tables given to %d applications, %d steps back made good", tables, held, back)
	return *v
}

// rises counts the steps back of one application that were made good.
func rises(v *Verdict, app string, given []history.Op) int {
	var newest uint64
	back := 0
	for i, o := range given {
		if o.Out.Version == 0 {
			v.breach("%s was given a table without a version", app)
		}
		if o.Out.Version >= newest {
			newest = o.Out.Version
			continue
		}
		later := slices.ContainsFunc(given[i+1:], func(l history.Op) bool { return l.Out.Version >= newest })
		if !later {
			v.breach("%s was given version %d after version %d, and nothing newer since", app, o.Out.Version, newest)
			continue
		}
		back++
	}
	return back
}
