package check

import (
	"fmt"

	"floe/scripts/suite/history"
)

// Digest checks C11: nodes at one applied index have one digest. Digests come
// from operations "digest" with Index and Text.
func Digest(ops []history.Op) Verdict {
	v := newVerdict("C11 equal digests at equal applied index")
	first := map[uint64]history.Op{}
	compared := 0
	for _, o := range ops {
		if o.Func != "digest" || o.Outcome != history.OK {
			continue
		}
		before, known := first[o.Out.Index]
		if !known {
			first[o.Out.Index] = o
			continue
		}
		if before.Node != o.Node {
			compared++
		}
		if before.Out.Text != o.Out.Text {
			v.breach("index %d: %s has %s, %s has %s", o.Out.Index, before.Node, before.Out.Text, o.Node, o.Out.Text)
		}
	}
	if compared == 0 {
		v.breach("no two nodes were ever seen at one index")
	}
	v.Checked = fmt.Sprintf("%d comparisons between nodes", compared)
	return *v
}
