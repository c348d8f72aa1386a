package check

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Damage is what came of damage to a file of a node that was down.
type Damage struct {
	// What was done: "byte 7 of /path/to/data/raft.db".
	What string `json:"what"`
	// Serves tells that the node started in spite of it. Words are those with which
	// it ended instead; neither: it did not serve and did not end.
	Serves bool   `json:"serves,omitempty"`
	Words  string `json:"words,omitempty"`
}

// Damaged checks what C12 says about one node: it starts, since the damage is no
// harm or it can do without the file, or it ends and says in words which file is
// damaged. That nothing wrong is served and nothing is lost is for the other
// checkers.
func Damaged(faults []Fault) Verdict {
	v := newVerdict("C12 damaged files are found and named")
	served, refused := 0, 0
	for _, f := range faults {
		if f.Damage == nil {
			continue
		}
		d, node := *f.Damage, strings.Join(f.Nodes, ", ")
		_, path, _ := strings.Cut(d.What, " of ")
		switch {
		case d.Serves:
			served++
		case d.Words == "":
			v.breach("%s with %s changed neither serves nor ended", node, d.What)
		case strings.Contains(d.Words, "goroutine ") || strings.Contains(d.Words, "panic:"):
			v.breach("%s with %s changed ended with the trace of a panic: %s", node, d.What, d.Words)
		case !strings.Contains(d.Words, filepath.Base(path)) && !strings.Contains(d.Words, filepath.Dir(path)):
			v.breach("%s with %s changed ended without naming it: %s", node, d.What, d.Words)
		default:
			refused++
		}
	}
	v.Checked = fmt.Sprintf("%d files damaged: %d times the node served, %d times it said what is wrong", served+refused+v.Total, served, refused)
	return *v
}
