package routing

import (
	"fmt"
	"slices"
	"strings"
)

// Query is a message as far as routes go.
type Query struct {
	MType  int32
	SubID  int32
	MEID   string
	Sender Sender
}

// Reason says why a message can't be routed. It is the label under which
// such messages are counted.
type Reason string

// The reasons.
const (
	Routed      Reason = ""
	NoEntry     Reason = "no_entry"
	UnknownMEID Reason = "unknown_meid"
	NoEndpoint  Reason = "dead_endpoint" // nobody is left but the sender
)

// Answer says where a message goes, or why it goes nowhere.
type Answer struct {
	Reason Reason
	Entry  *Entry     // by which it goes, nil if there is none
	Groups [][]string // who takes turns, without the sender itself
	Owner  string     // the owner of its MEID, where the MEID decides
	Near   []string   // MEIDs spelled almost like an unknown one, the nearest first
	Why    []string   // each step, in words
}

func (a *Answer) say(format string, args ...any) {
	a.Why = append(a.Why, fmt.Sprintf(format, args...))
}

// Explain answers a query step by step. It takes its time: for an unknown
// MEID it looks through the whole map.
func (s State) Explain(q Query) Answer {
	a := Answer{}
	a.Entry = s.Table.Lookup(q.MType, q.SubID, q.Sender)
	a.step(s.Table, Key{q.MType, q.SubID}, q.Sender)
	if q.SubID != AnySubID && (a.Entry == nil || a.Entry.Key.SubID == AnySubID) {
		a.step(s.Table, Key{q.MType, AnySubID}, q.Sender)
	}
	switch {
	case a.Entry == nil:
		a.Reason = NoEntry
		a.others(s.Table, q.MType)
	case a.Entry.ByMEID:
		a.owner(s.MEIDs, q.MEID)
	default:
		a.groups(q.Sender)
	}
	return a
}

// step says what is there under one key.
func (a *Answer) step(t *Table, key Key, s Sender) {
	what := fmt.Sprintf("type %d, sub id %d", key.MType, key.SubID)
	if key.SubID == AnySubID {
		what = fmt.Sprintf("type %d without sub id", key.MType)
	}
	entries := t.Entries(key)
	if len(entries) == 0 {
		a.say("%s: no entry", what)
		return
	}
	for _, e := range slices.Backward(entries) {
		switch {
		case !e.For(s):
			a.say("%s: entry for %s only, not this sender", what, strings.Join(e.Senders, " and "))
			continue
		case e.Hidden:
			a.say("%s: removed for %s", what, strings.Join(e.Senders, " and "))
		case e.General():
			a.say("%s: entry for every sender", what)
		default:
			a.say("%s: entry for this sender", what)
		}
		return
	}
}

// others names the sub ids that a type has entries for.
func (a *Answer) others(t *Table, mtype int32) {
	var ids []string
	for _, k := range t.Keys() {
		if k.MType == mtype && len(ids) < 10 {
			ids = append(ids, fmt.Sprint(k.SubID))
		}
	}
	if len(ids) > 0 {
		a.say("type %d has entries for sub id %s", mtype, strings.Join(ids, ", "))
	}
}

func (a *Answer) owner(m *MEIDMap, meid string) {
	a.say("the MEID decides")
	owner, ok := m.Owner(meid)
	if ok {
		a.Owner = owner
		a.say("MEID %s belongs to %s", quote(meid), owner)
		return
	}
	a.Reason = UnknownMEID
	switch {
	case meid == "":
		a.say("the message has no MEID")
		return
	case len(meid) > MaxMEID:
		a.say("a message carries %d bytes of an MEID, this one has %d", MaxMEID, len(meid))
	}
	a.say("MEID %s is unknown", quote(meid))
	if a.Near = m.Near(meid); len(a.Near) > 0 {
		a.say("spelled almost like it: %s", strings.Join(a.Near, ", "))
	}
}

// groups leaves out the sender, to which nothing is sent back.
func (a *Answer) groups(s Sender) {
	for _, g := range a.Entry.Groups {
		rest := slices.DeleteFunc(slices.Clone(g), s.is)
		if len(rest) < len(g) {
			a.say("the sender itself is left out of %s", strings.Join(g, ","))
		}
		if len(rest) > 0 {
			a.Groups = append(a.Groups, rest)
			a.say("a copy to %s", strings.Join(rest, " or "))
		}
	}
	if len(a.Groups) == 0 {
		a.Reason = NoEndpoint
		a.say("nobody is left; the entry of the type alone is not tried instead")
	}
}
