package check

import (
	"fmt"
	"slices"

	"floe/scripts/suite/history"
)

// MessageRun is what is needed to judge the messages of a run.
type MessageRun struct {
	Messages []Message
	Ops      []history.Op
	Faults   []Fault
	// Sinks maps the endpoints that own MEIDs to the nodes they are beside.
	Sinks map[string]string
}

// Messages checks C7 and C9 on messages: all copies of one go by one table, none
// comes twice, and once a node is known to have a change, what is then sent
// through it never goes where the change led away from.
func Messages(run MessageRun) (Verdict, Verdict) {
	whole := newVerdict("C7 no message goes by half a table, none comes twice")
	right := newVerdict("C9 no message goes to a former owner, or by a former table")
	sent, sides := map[uint64]bool{}, map[uint64]map[string]int{}
	for _, m := range run.Messages {
		if m.Sent {
			sent[m.Number] = true
			continue
		}
		if sides[m.Number] == nil {
			sides[m.Number] = map[string]int{}
		}
		sides[m.Number][m.Side+" "+m.Sink]++
	}
	arrivals := 0
	for _, number := range sorted(sides) {
		if !sent[number] {
			whole.breach("message %d came and nobody sent it", number)
		}
		arrivals += judgeCopies(whole, number, sides[number])
	}
	whole.Checked = fmt.Sprintf("%d messages, %d arrivals", len(sent), arrivals)
	right.Checked = misrouted(right, run)
	if len(sent) > 0 && arrivals == 0 {
		whole.breach("no message ever came")
	}
	return *whole, *right
}

func judgeCopies(v *Verdict, number uint64, copies map[string]int) int {
	side, all := "", 0
	for _, place := range sorted(copies) {
		all += copies[place]
		if copies[place] > 1 {
			v.breach("message %d came %d times to sink %s", number, copies[place], place)
		}
		if side != "" && place[:1] != side {
			v.breach("message %d came to side %s and to side %s", number, side, place[:1])
		}
		side = place[:1]
	}
	return all
}

// change is one that moves messages: an MEID to an owner, or all routes to a side.
type change struct {
	to         string
	version    uint64 // 0: of unknown outcome
	start, end int64
}

// misrouted judges messages that a node forwarded, and returns what it looked at.
func misrouted(v *Verdict, run MessageRun) string {
	changes := movements(run)
	known := whatNodesSaid(run)
	judged, moves := 0, 0
	for _, all := range changes {
		moves += len(all)
	}
	for _, m := range run.Messages {
		if m.Sent || m.Via != ByNode {
			continue
		}
		key, place := "table", m.Side
		if m.MEID != "" {
			key, place = m.MEID, m.Sink
		}
		index := known.before(m.Node, m.SentAt, m.Time)
		settled := latest(changes[key], index, m.SentAt)
		if settled.version == 0 {
			continue // the node is not known to have any
		}
		judged++
		if !slices.ContainsFunc(changes[key], func(c change) bool {
			return c.to == place && c.start < m.Time && (c.version == 0 || c.version >= settled.version)
		}) {
			v.breach("message %d for %s, sent to %s when that was at index %d, came to %s; since version %d it belongs to %s", m.Number, key, m.Node, index, place, settled.version, settled.to)
		}
	}
	return fmt.Sprintf("%d messages forwarded after %d changes", judged, moves)
}

// movements are the changes of each MEID, and those of the table.
func movements(run MessageRun) map[string][]change {
	out := map[string][]change{}
	for _, o := range run.Ops {
		c := change{version: o.Out.Version, start: o.Start, end: o.End}
		if o.Outcome == history.Fail || o.Out.Refused {
			continue
		}
		switch o.Func {
		case "own":
			c.to = run.Sinks[o.In.Owner]
			out[o.Key] = append(out[o.Key], c)
		case "load", "swap":
			c.to = Side(o.In.Table)
			out["table"] = append(out["table"], c)
		}
	}
	return out
}

// latest is the last change up to an index among those that were acknowledged
// before a moment.
func latest(all []change, index uint64, before int64) change {
	var last change
	for _, c := range all {
		if c.version <= index && c.version > last.version && c.end < before {
			last = c
		}
	}
	return last
}

// indexes are what nodes said of their applied index, by time.
type indexes struct {
	said map[string][]history.Op
	lost map[string][]Span // when a node's process may have ended
}

func whatNodesSaid(run MessageRun) indexes {
	k := indexes{map[string][]history.Op{}, map[string][]Span{}}
	for _, o := range run.Ops {
		if (o.Func == "digest" || o.Func == "stale") && o.Outcome == history.OK {
			k.said[o.Node] = append(k.said[o.Node], o)
		}
	}
	for node := range k.said {
		slices.SortFunc(k.said[node], func(a, b history.Op) int { return int(a.End - b.End) })
	}
	for _, f := range run.Faults {
		switch f.Kind {
		case "kill", "power", "diskfull", "diskhang", "churn":
			for _, n := range f.Nodes {
				k.lost[n] = append(k.lost[n], Span{f.Start, f.End})
			}
		}
	}
	return k
}

// before is the highest index that a node is known to have had at a moment and
// to keep until a later one, 0 for none: a node that starts anew may be behind.
func (k indexes) before(node string, at, until int64) uint64 {
	said := k.said[node]
	i, _ := slices.BinarySearchFunc(said, at, func(o history.Op, t int64) int { return int(o.End - t) })
	if i == 0 {
		return 0
	}
	o := said[i-1]
	for _, s := range k.lost[node] {
		if s.Start <= until && s.End >= o.Start {
			return 0
		}
	}
	return o.Out.Index
}
