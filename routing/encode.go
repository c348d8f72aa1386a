package routing

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Encoder writes what is sent to one program, or to several that see the
// same. All it writes ends with a count and carries an id, and none of it is
// what the library dies of or reads wrongly.
type Encoder struct {
	// ID names what is sent; the program's answer repeats it. What is no
	// letter, digit, dot, dash or underscore in it is written as a dash, and
	// so is an empty one.
	ID string
	// Chunk is the size, in bytes, from which a text is cut into several
	// messages, at ends of records only; 0 sends one message. A single
	// record may be larger.
	Chunk int
	// Other says whether a sender is the registered name or address of
	// another program than this one. An entry is left out if all of its
	// senders are. Nil leaves out nothing.
	Other func(sender string) bool
	// Groups returns what to write as the groups of an entry: with topics
	// and relays in place, dead members taken out. Nil writes the groups as
	// they stand. Topics that are left are not written. An entry whose groups
	// come back empty is left out, so that a program goes by the entry of the
	// type alone, if there is one.
	Groups func(e *Entry) (groups [][]string, byMEID bool)
}

// Full returns the messages that make a program hold the state and forget
// the MEIDs of gone, at once: a table with the map records inside.
func (c *Encoder) Full(s State, gone []string) [][]byte {
	w := c.begin(FullTable)
	for _, key := range s.Table.Keys() {
		c.entries(w, s.Table.Entries(key))
	}
	w.release(gone)
	if s.MEIDs.Len() > 0 {
		w.text, _ = appendMap(w.text, s.MEIDs, s.MEIDs.slots(), w.cut)
	}
	return w.end(FullTable, w.routes)
}

// Delta returns the messages that bring a program up to the state which
// holds all but the changes, or something older in them; nil if there are no
// changes. The program must hold a full table. MEIDs without an owner are
// deleted, keys without entries as well.
func (c *Encoder) Delta(s State, changes Changes) [][]byte {
	if changes.Empty() {
		return nil
	}
	kind := TableDelta
	if len(changes.Routes) == 0 {
		kind = MapUpdate // its end counts the map records
	}
	w := c.begin(kind)
	for _, key := range changes.Routes {
		entries := s.Table.Entries(key)
		if !c.replaces(entries) {
			w.route(appendDel(w.text, key, nil))
		}
		c.entries(w, entries)
	}
	maps := w.meids(s.MEIDs, changes.MEIDs)
	if kind == MapUpdate {
		return w.end(kind, maps)
	}
	return w.end(kind, w.routes)
}

// Differing returns those of the keys whose entries in t, as c writes them,
// are not what old wrote of them in was, in the order given.
func (c *Encoder) Differing(t *Table, old *Encoder, was *Table, keys []Key) []Key {
	var differ []Key
	var now, before messages
	for _, key := range keys {
		now.text, before.text = now.text[:0], before.text[:0]
		c.entries(&now, t.Entries(key))
		old.entries(&before, was.Entries(key))
		if !slices.Equal(now.text, before.text) {
			differ = append(differ, key)
		}
	}
	return differ
}

// seen leaves out what can only concern other programs.
func (c *Encoder) seen(entries []*Entry) []*Entry {
	if c.Other == nil {
		return entries
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool {
		return !e.General() && !slices.ContainsFunc(e.Senders, func(s string) bool { return !c.Other(s) })
	})
}

// replaces says whether what is written of a key's entries takes the place
// of all that a program has: it begins with an entry for everybody.
func (c *Encoder) replaces(entries []*Entry) bool {
	entries = c.seen(entries)
	if len(entries) == 0 || !entries[0].General() {
		return false
	}
	_, _, ok := c.groups(entries[0])
	return ok
}

// groups returns what to write of an entry, and false if it is left out.
func (c *Encoder) groups(e *Entry) (groups [][]string, byMEID, ok bool) {
	groups, byMEID = e.Groups, e.ByMEID
	if c.Groups != nil && !e.Hidden {
		groups, byMEID = c.Groups(e)
	}
	groups = sendable(groups)
	return groups, byMEID, e.Hidden || byMEID || len(groups) > 0
}

// entries writes the entries of one key, in order.
func (c *Encoder) entries(w *messages, entries []*Entry) {
	before := w.routes
	for _, e := range c.seen(entries) {
		groups, byMEID, ok := c.groups(e)
		switch {
		case ok:
			w.route(appendRecord(w.text, e, byMEID, groups))
		case w.routes > before:
			w.route(appendDel(w.text, e.Key, e.Senders)) // what it stood in front of must not come back
		}
	}
}

// sendable leaves out what a program would die of, drop or fail to reach.
func sendable(groups [][]string) [][]string {
	if !slices.ContainsFunc(groups, unsendable) && len(groups) <= MaxGroups {
		return groups
	}
	var out [][]string
	for _, g := range groups {
		g = slices.DeleteFunc(slices.Clone(g), isNoAddress)
		g = g[:min(len(g), MaxMembers)]
		if len(g) > 0 && len(out) < MaxGroups {
			out = append(out, g)
		}
	}
	return out
}

func unsendable(group []string) bool {
	return len(group) == 0 || len(group) > MaxMembers || slices.ContainsFunc(group, isNoAddress)
}

func isNoAddress(member string) bool { return checkAddress(member, "endpoint") != nil }

// messages is the text of one or more table messages.
type messages struct {
	done   [][]byte
	text   []byte
	mark   int // end of the last whole record
	chunk  int
	routes int
}

func (c *Encoder) begin(k Kind) *messages {
	w := &messages{chunk: c.Chunk}
	w.record(appendStart(nil, k, cmp.Or(strings.Map(plain, c.ID), "-")))
	return w
}

func plain(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
		return r
	}
	return '-'
}

// record takes the text with one more record at its end.
func (w *messages) record(text []byte) {
	w.text = text
	if next := w.cut(text); next != nil {
		w.text = next
	}
}

// cut moves the whole records of a text that has grown too large into a
// message, and returns the rest; nil if nothing was moved.
func (w *messages) cut(text []byte) []byte {
	if w.chunk <= 0 || len(text) <= w.chunk || w.mark == 0 {
		w.mark = len(text)
		return nil
	}
	w.done = append(w.done, text[:w.mark:w.mark])
	rest := slices.Clone(text[w.mark:])
	w.mark = len(rest)
	return rest
}

func (w *messages) route(text []byte) {
	w.routes++
	w.record(text)
}

func (w *messages) end(k Kind, count int) [][]byte {
	w.record(appendEnd(w.text, k, count))
	return append(w.done, w.text)
}

// meids writes what became of each MEID, and returns the number of records.
func (w *messages) meids(m *MEIDMap, meids []string) int {
	var gone []string
	owned := map[string][]string{}
	for _, meid := range meids {
		if owner, ok := m.Owner(meid); ok {
			owned[owner] = append(owned[owner], meid)
		} else {
			gone = append(gone, meid)
		}
	}
	n := w.release(gone)
	for _, owner := range slices.Sorted(maps.Keys(owned)) {
		n += w.list("mme_ar|"+owner+"|", owned[owner])
	}
	return n
}

func (w *messages) release(meids []string) int {
	meids = slices.DeleteFunc(slices.Clone(meids), func(m string) bool { return CheckMEID(m) != nil })
	return w.list("mme_del|", meids)
}

func (w *messages) list(head string, meids []string) int {
	n := 0
	slices.Sort(meids)
	for some := range slices.Chunk(slices.Compact(meids), MaxRecordMEIDs) {
		text := append(w.text, head...)
		for i, m := range some {
			if i > 0 {
				text = append(text, ' ')
			}
			text = append(text, m...)
		}
		w.record(append(text, '\n'))
		n++
	}
	return n
}
