package check

import (
	"fmt"

	"floe/scripts/suite/history"
)

// OwnWrites checks what C3 says about a client's own changes: a stale read that
// passes the index which a change was answered with shows that change, at any
// node. The client makes and removes topics that nobody else works on, and looks at
// them by operations "after".
func OwnWrites(ops []history.Op) Verdict {
	v := newVerdict("C3 a stale read that passes the index of the client's own change shows it")
	type own struct{ process, key string }
	last := map[own]history.Op{}
	elsewhere, same, late := 0, 0, 0
	for _, o := range ops {
		id := own{o.Process, o.Key}
		switch {
		case (o.Func == "create" || o.Func == "destroy") && o.Outcome == history.OK && !o.Out.Refused && o.Out.Index > 0:
			last[id] = o
		case (o.Func == "create" || o.Func == "destroy") && o.Outcome != history.Fail:
			delete(last, id) // nobody knows what the topic is
		case o.Func != "after":
		case o.Outcome != history.OK:
			late++
		default:
			change, known := last[id]
			if !known || o.In.Index < change.Out.Index {
				continue
			}
			if o.Node == change.Node {
				same++
			} else {
				elsewhere++
			}
			judgeOwn(v, o, change)
		}
	}
	v.Checked = fmt.Sprintf("%d reads at the node that was asked for the change, %d at others, %d without an answer", same, elsewhere, late)
	return *v
}

func judgeOwn(v *Verdict, o, change history.Op) {
	if o.Out.Index < o.In.Index {
		v.breach("op %d at %s asked for index %d and was answered from index %d", o.ID, o.Node, o.In.Index, o.Out.Index)
	}
	wanted := change.Out.ID
	if change.Func == "destroy" {
		wanted = 0
	}
	if o.Out.ID != wanted || o.Out.Absent != (wanted == 0) {
		v.breach("op %d at %s does not show %s of %s, op %d at %s, which was answered with index %d: id %d, absent %t at index %d",
			o.ID, o.Node, change.Func, change.Key, change.ID, change.Node, change.Out.Index, o.Out.ID, o.Out.Absent, o.Out.Index)
	}
}
