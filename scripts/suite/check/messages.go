package check

import (
	"cmp"
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
	version    uint64
	start, end int64
}

// misrouted judges messages that a node forwarded, and returns what it looked at.
func misrouted(v *Verdict, run MessageRun) string {
	changes := movements(run)
	known := whatNodesSaid(run)
	judged, count := 0, 0
	for _, all := range changes {
		count += len(all.known) + len(all.unknown)
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
		all := changes[key]
		i := all.latest(index, m.SentAt)
		if i < 0 {
			continue // the node is not known to have any
		}
		judged++
		if !all.allows(i, place, m.Time) {
			c := all.known[i]
			v.breach("message %d for %s, sent to %s when that was at index %d, came to %s; since version %d it belongs to %s", m.Number, key, m.Node, index, place, c.version, c.to)
		}
	}
	return fmt.Sprintf("%d messages forwarded after %d changes", judged, count)
}

// moves are the changes of an MEID, or those of the table.
type moves struct {
	known   []change // acknowledged, by version
	unknown []change
}

// movements are the moves of each MEID, and those of the table.
func movements(run MessageRun) map[string]*moves {
	out := map[string]*moves{"table": {}}
	for _, o := range run.Ops {
		if o.Outcome == history.Fail || o.Out.Refused {
			continue
		}
		c, key := change{version: o.Out.Version, start: o.Start, end: o.End}, "table"
		switch o.Func {
		case "own":
			c.to, key = run.Sinks[o.In.Owner], o.Key
		case "load", "swap":
			c.to = Side(o.In.Table)
		default:
			continue
		}
		if out[key] == nil {
			out[key] = &moves{}
		}
		if o.Outcome == history.OK {
			out[key].known = append(out[key].known, c)
		} else {
			out[key].unknown = append(out[key].unknown, c)
		}
	}
	for _, m := range out {
		slices.SortFunc(m.known, func(a, b change) int { return cmp.Compare(a.version, b.version) })
	}
	return out
}

// latest is the place of the last change up to an index that was acknowledged
// before a moment, -1 for none.
func (m *moves) latest(index uint64, before int64) int {
	if m == nil {
		return -1
	}
	i, exact := slices.BinarySearchFunc(m.known, index, func(c change, x uint64) int { return cmp.Compare(c.version, x) })
	if !exact {
		i--
	}
	for i >= 0 && m.known[i].end >= before {
		i--
	}
	return i
}

// allows tells whether a change from the one at i on, begun before a moment,
// leads to a place.
func (m *moves) allows(i int, place string, before int64) bool {
	leads := func(c change) bool { return c.to == place && c.start < before }
	return slices.ContainsFunc(m.known[i:], leads) || slices.ContainsFunc(m.unknown, leads)
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
		if slices.Contains(ending, f.Kind) || f.Kind == "diskhang" {
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
