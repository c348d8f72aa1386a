package check

import (
	"cmp"
	"fmt"
	"slices"

	"floe/scripts/suite/history"
)

// Terms checks what C1 and C2 rest on: a term has one leader, and a node never
// goes back to an earlier term, also not over a restart. Where nodes are replaced
// by empty ones, only the first is checked. A node learns of term and leader one after
// the other, so what it says of both counts once it says the same twice in a row. A
// leader that ended and started again does not lead in its former term.
func Terms(ops []history.Op, faults []Fault, replaced bool) Verdict {
	v := newVerdict("C1 no vote is forgotten: one leader a term, terms never fall")
	leaders := map[uint64]history.Op{}
	newest, latest := map[string]history.Op{}, map[string]history.Op{}
	looked := 0
	said := slices.DeleteFunc(slices.Clone(ops), func(o history.Op) bool {
		return o.Func != "digest" || o.Outcome != history.OK || o.Out.Term == 0
	})
	slices.SortFunc(said, func(a, b history.Op) int { return cmp.Compare(a.End, b.End) })
	for _, o := range said {
		looked++
		again, told := latest[o.Node]
		latest[o.Node] = o
		sure := told && o.Out.Owner != "" && again.Out.Owner == o.Out.Owner && again.Out.Term == o.Out.Term
		if before, known := leaders[o.Out.Term]; sure && known && before.Out.Owner != o.Out.Owner {
			v.breach("term %d: %s says that %s leads, %s said that %s does", o.Out.Term, o.Node, o.Out.Owner, before.Node, before.Out.Owner)
		} else if sure && known && o.Node == o.Out.Owner && ended(o.Node, before.Start, o.Start, faults) {
			v.breach("term %d: %s leads, was ended, and leads again in that term", o.Out.Term, o.Node)
		} else if sure {
			leaders[o.Out.Term] = o
		}
		before, known := newest[o.Node]
		if known && before.End < o.Start && o.Out.Term < before.Out.Term && !replaced {
			v.breach("%s was at term %d and is at term %d", o.Node, before.Out.Term, o.Out.Term)
		}
		if !known || o.Out.Term > before.Out.Term {
			newest[o.Node] = o
		}
	}
	v.Checked = fmt.Sprintf("%d terms with a leader, looked at %d times", len(leaders), looked)
	return *v
}

// ended tells whether a node's process was ended between two moments.
func ended(node string, from, to int64, faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool {
		return (f.takesDown() || f.Damage != nil) && slices.Contains(f.Nodes, node) && f.Start > from && f.Held.Start < to
	})
}
