package routing

import (
	"fmt"
	"slices"
	"strings"
)

// tableEdit is a table being made from another. Shards are copied when they
// are first written.
type tableEdit struct {
	was     *Table
	now     *Table // its digest is without the fresh routes
	owned   [tableShards]bool
	touched []uint64          // keys whose entries were set, perhaps more than once, perhaps to what they were; but see full
	fresh   []*route          // routes without a digest, and some that have gone again
	full    bool              // everything was dropped: what is missing now is not in touched
	names   map[string]string // endpoints and senders, one copy of each
}

func (t *Table) edit() *tableEdit {
	if t == nil {
		t = new(Table)
	}
	now := *t
	return &tableEdit{was: t, now: &now, names: map[string]string{}}
}

// clear drops all routes.
func (e *tableEdit) clear() {
	e.now = new(Table)
	for i := range e.owned {
		e.owned[i] = true
	}
	e.fresh, e.touched = nil, nil
	e.full = true
}

func (e *tableEdit) entries(key Key) []*Entry {
	if r := e.now.route(key.packed()); r != nil {
		return r.entries
	}
	return nil
}

// put sets the entries of a key; none removes it. The slice is kept. Entries
// that are as they were before the edit keep their identity.
func (e *tableEdit) put(key Key, entries []*Entry) {
	p := key.packed()
	hash := hashKey(p)
	s := e.now.shards[shardOf(hash)]
	old := s.get(p, hash)
	if old == nil && len(entries) == 0 {
		return
	}
	e.touched = append(e.touched, p)
	if s == nil || !e.owned[shardOf(hash)] {
		s = s.clone()
		e.now.shards[shardOf(hash)], e.owned[shardOf(hash)] = s, true
	}
	if old != nil {
		e.leave(old)
	}
	if len(entries) == 0 {
		s.drop(p, hash)
		return
	}
	s.put(p, hash, e.enter(e.was.shards[shardOf(hash)].get(p, hash), entries))
}

// leave takes a route out of the counts.
func (e *tableEdit) leave(r *route) {
	e.now.keys--
	e.now.entries -= len(r.entries)
	if r.fresh {
		r.fresh = false // settle passes it over
		return
	}
	e.now.digest = e.now.digest.Sub(r.digest)
}

// enter returns the route of these entries and counts it: the one from before
// the edit, if there was one and they are what it had.
func (e *tableEdit) enter(was *route, entries []*Entry) *route {
	e.now.keys++
	e.now.entries += len(entries)
	if was != nil {
		was.adopt(&entries[len(entries)-1]) // those before it went through here
		if equalEntries(was.entries, entries) {
			e.now.digest = e.now.digest.Add(was.digest)
			return was
		}
	}
	r := newRoute(entries)
	e.fresh = append(e.fresh, r)
	return r
}

// adopt puts the equal entry of the route in the place of another.
func (r *route) adopt(e **Entry) {
	if i := slices.IndexFunc(r.entries, (*e).Equal); i >= 0 {
		*e = r.entries[i]
	}
}

// add carries out a Route or Unroute record.
func (e *tableEdit) add(r *Record) error {
	entries := e.entries(r.Key)
	if r.Verb == Unroute && len(entries) == 0 {
		return nil
	}
	if r.Verb == Unroute {
		entries = without(entries, r.Key, e.list(r.Senders))
	} else {
		entries = with(entries, e.entry(r))
	}
	if len(entries) > MaxPerKey {
		return fmt.Errorf("more than %d entries with key %v", MaxPerKey, r.Key)
	}
	e.put(r.Key, entries)
	if e.now.entries > MaxEntries {
		return fmt.Errorf("more than %d entries", MaxEntries)
	}
	return nil
}

func (e *tableEdit) entry(r *Record) *Entry {
	entry := &Entry{Key: r.Key, Senders: e.list(r.Senders), ByMEID: r.ByMEID}
	for _, g := range r.Groups {
		entry.Groups = append(entry.Groups, e.list(g))
	}
	return entry.sealed()
}

// list returns a copy that does not hold on to the text it was cut from.
func (e *tableEdit) list(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	list := make([]string, len(names))
	for i, n := range names {
		own, known := e.names[n]
		if !known {
			own = strings.Clone(n)
			e.names[own] = own
		}
		list[i] = own
	}
	return list
}

// settle gives the routes of the records so far their digests. Done from time
// to time it keeps the work of commit small.
func (e *tableEdit) settle() {
	for _, r := range e.fresh {
		if r.fresh {
			r.digest, r.fresh = digestOf(r.entries), false
			e.now.digest = e.now.digest.Add(r.digest)
		}
	}
	e.fresh = e.fresh[:0]
}

// end ends the edit and returns the table. It does less than commit.
func (e *tableEdit) end() *Table {
	e.settle()
	if !e.full && !slices.ContainsFunc(e.touched, e.differs) {
		return e.was
	}
	return e.now
}

// differs says whether a key has other entries than before the edit.
func (e *tableEdit) differs(p uint64) bool { return e.now.route(p) != e.was.route(p) }

// commit ends the edit and returns the table and the keys whose entries are
// not what they were, sorted.
func (e *tableEdit) commit() (*Table, []Key) {
	e.settle()
	packed := make([]uint64, 0, len(e.touched))
	for _, p := range e.touched {
		if e.differs(p) {
			packed = append(packed, p^signs)
		}
	}
	if e.full {
		packed = append(packed, e.missing()...)
	}
	if len(packed) == 0 {
		return e.was, nil
	}
	slices.Sort(packed)
	return e.now, unpackAll(slices.Compact(packed))
}

// missing returns the keys that had entries and have none, packed to be sorted.
func (e *tableEdit) missing() []uint64 {
	var packed []uint64
	for i, s := range e.was.shards {
		for p := range s.all() {
			if e.now.shards[i].get(p, hashKey(p)) == nil {
				packed = append(packed, p^signs)
			}
		}
	}
	return packed
}

// unpackAll turns sorted numbers back into keys.
func unpackAll(packed []uint64) []Key {
	keys := make([]Key, len(packed))
	for i, p := range packed {
		keys[i] = unpack(p ^ signs)
	}
	return keys
}
