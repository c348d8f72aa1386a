package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"floe/scripts/suite/history"
	"floe/scripts/suite/model"
	"floe/scripts/suite/replay"
)

// Replayed is what carrying a committed log out with the model came to.
type Replayed struct {
	// Log is the verdict on C1 and C11, Stale that on C3.
	Log, Stale Verdict
	// Lost counts acknowledged changes that are not in the log.
	Lost int
	// Configurations are the changes of voters.
	Configurations []Configuration
}

// Replay carries the committed log out with the independent model. What was
// acknowledged is in it, what was read at the end is what it comes to, and each
// read of a node's own copy is the state at exactly the index it names, which
// never falls within a session: on a connection, while the node stays a member.
func Replay(ops []history.Op, faults []Fault, log *replay.Log) Replayed {
	r := &replayer{log: log, model: model.New(),
		verdict: newVerdict("C1, C11 the committed log, carried out by another program, gives what was acknowledged and read"),
		stale:   newVerdict("C3 stale reads: the state at exactly the index told, which never falls in a session"),
		tables:  map[uint64]string{}, wanted: map[uint64][]history.Op{}}
	r.sessions(ops, faults)
	for _, text := range log.Differ {
		r.verdict.breach("%s", text)
	}
	if err := r.run(); err != nil {
		r.verdict.breach("the log can't be carried out: %v", err)
	} else {
		r.acknowledged(ops)
		r.finals(ops)
	}
	r.verdict.Checked = fmt.Sprintf("%d entries, %s; %d compared between nodes", r.entries, log, log.Compared)
	unjudged := 0
	for _, list := range r.wanted {
		unjudged += len(list)
	}
	r.stale.Checked = fmt.Sprintf("%d reads in %d sessions, %d held against the log", r.reads, r.count, r.reads-unjudged)
	if log.Base == nil && unjudged > 0 {
		r.stale.breach("%d reads name an index that the log does not have", unjudged)
	}
	return Replayed{*r.verdict, *r.stale, r.lost, r.configurations}
}

type replayer struct {
	log            *replay.Log
	model          *model.Model
	verdict, stale *Verdict
	entries        int
	reads, count   int
	lost           int
	wanted         map[uint64][]history.Op // stale reads by index
	tables         map[uint64]string       // versions of the routes to what they hold
	configurations []Configuration
}

// sessions checks that the index never falls on a connection.
func (r *replayer) sessions(ops []history.Op, faults []Fault) {
	type session struct {
		process string
		number  uint64
	}
	newest := map[session]history.Op{}
	for _, o := range ops {
		if o.Func != "stale" || o.Outcome != history.OK {
			continue
		}
		r.reads++
		r.wanted[o.Out.Index] = append(r.wanted[o.Out.Index], o)
		s := session{o.Process, o.Out.Session}
		if s.number == 0 {
			continue
		}
		before, known := newest[s]
		if known && o.Out.Index < before.Out.Index && !wentAway(o.Node, o.End, faults) {
			r.stale.breach("%s at %s: index %d in op %d, and %d in op %d before", o.Process, o.Node, o.Out.Index, o.ID, before.Out.Index, before.ID)
		}
		newest[s] = o
	}
	r.count = len(newest)
}

// wentAway tells whether a node went away before a moment: one that enters anew,
// which may be long after its fault, begins with nothing.
func wentAway(node string, before int64, faults []Fault) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool {
		return f.losesData() && slices.Contains(f.Nodes, node) && f.Start < before
	})
}

// run carries the log out.
func (r *replayer) run() error {
	if r.log.Base != nil {
		r.model = r.log.Base
	}
	r.note()
	for _, e := range r.log.Entries {
		switch {
		case e.Index > r.log.Applied:
			return nil // perhaps never committed
		case e.Voters != nil:
			slices.Sort(e.Voters)
			r.configurations = append(r.configurations, Configuration{e.Index, e.Voters})
		case e.Data == nil:
		case e.Index <= r.model.Index:
			if err := r.model.Remember(e.Index, e.Data); err != nil {
				return err
			}
		default:
			if err := r.model.Apply(e.Index, e.Data); err != nil {
				return err
			}
		}
		if e.Index > r.model.Index {
			r.model.Index = e.Index
		}
		if r.entries++; e.Index == r.model.Index {
			r.note()
		}
	}
	if len(r.log.Entries) == 0 || r.model.Index < r.log.Applied {
		return errors.New("it ends before the index that nodes applied")
	}
	return nil
}

// note judges the stale reads at the model's index and remembers what may be
// asked for later.
func (r *replayer) note() {
	m := r.model
	if _, known := r.tables[m.Version]; !known {
		r.tables[m.Version] = r.routes()
	}
	for _, o := range r.wanted[m.Index] {
		is := r.routes()
		if o.Key == "topics" {
			is = SumTopics(m.Topics)
		} else if o.Out.Version != m.Version {
			r.stale.breach("%s at %s, op %d, says that at index %d the routes were at version %d; they were at %d", o.Func, o.Node, o.ID, m.Index, o.Out.Version, m.Version)
		}
		if is != o.Out.Text {
			r.stale.breach("%s of %s at %s, op %d, is not the state at index %d", o.Func, o.Key, o.Node, o.ID, m.Index)
		}
	}
	delete(r.wanted, m.Index)
}

func (r *replayer) routes() string {
	lines := r.model.Lines()
	slices.Sort(lines)
	return Sum(lines, r.model.Owners)
}

// acknowledged looks for what clients were told in what the log did.
func (r *replayer) acknowledged(ops []history.Op) {
	if r.log.Base != nil {
		return // what came before it can't be looked up
	}
	for _, o := range ops {
		if o.Outcome != history.OK || o.Out.Refused {
			continue
		}
		switch o.Func {
		case "create":
			if o.Out.ID != 0 && !r.model.Made(o.Key, o.Out.ID) {
				r.lost++
				r.verdict.breach("topic %s with id %d was acknowledged in op %d, and the log never makes it", o.Key, o.Out.ID, o.ID)
			}
		case "load", "swap", "own", "disown":
			if _, known := r.tables[o.Out.Version]; !known {
				r.lost++
				r.verdict.breach("%s of op %d was acknowledged at version %d, which the log does not have", o.Func, o.ID, o.Out.Version)
			}
		case "routes":
			if text, known := r.tables[o.Out.Version]; !known || text != o.Out.Text {
				r.verdict.breach("op %d read routes at version %d that are not those of the log", o.ID, o.Out.Version)
			}
		}
	}
}

// finals compares the end with the last reads.
func (r *replayer) finals(ops []history.Op) {
	m := r.model
	for _, o := range ops {
		if o.Func != "final" || o.Outcome != history.OK {
			continue
		}
		if !maps.Equal(o.Out.Topics, m.Topics) {
			r.verdict.breach("topics at %s are not those of the log: %s", o.Node, differ(o.Out.Topics, m.Topics))
		}
		if !maps.Equal(o.Out.Links, m.Links) {
			r.verdict.breach("links at %s are not those of the log: %s", o.Node, differ(o.Out.Links, m.Links))
		}
		if o.Out.Text != r.routes() {
			r.verdict.breach("routes or MEIDs at %s are not those of the log", o.Node)
		}
	}
}

// differ says what is in one map and not in the other, at most three of each.
func differ[V comparable](read, log map[string]V) string {
	var only []string
	for _, k := range sorted(read) {
		if v, there := log[k]; !there || v != read[k] {
			only = append(only, fmt.Sprintf("%s %v was read", k, read[k]))
		}
	}
	for _, k := range sorted(log) {
		if _, there := read[k]; !there {
			only = append(only, fmt.Sprintf("%s %v was not", k, log[k]))
		}
	}
	return fmt.Sprint(only[:min(6, len(only))])
}
