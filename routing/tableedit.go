package routing

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tableEdit is a table being made from another. Shards are copied when they
// are first written.
type tableEdit struct {
	was     *Table
	now     *Table // its digest is without the routes in fresh
	owned   [tableShards]bool
	changed map[uint64]struct{} // keys with other entries than before; but see full
	fresh   map[uint64]*route   // routes without a digest
	full    bool                // everything was dropped: what is missing now is not in changed
	names   map[string]string   // endpoints and senders, one copy of each
}

func (t *Table) edit() *tableEdit {
	if t == nil {
		t = new(Table)
	}
	now := *t
	return &tableEdit{was: t, now: &now, changed: map[uint64]struct{}{}, fresh: map[uint64]*route{}, names: map[string]string{}}
}

// clear drops all routes.
func (e *tableEdit) clear() {
	e.now = new(Table)
	for i := range e.owned {
		e.owned[i] = true
	}
	clear(e.fresh)
	clear(e.changed)
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
	e.drop(p)
	was := e.was.route(p)
	if was == nil && len(entries) == 0 {
		delete(e.changed, p)
		return
	}
	e.changed[p] = struct{}{}
	if len(entries) == 0 {
		return
	}
	r := &route{entries: entries}
	if was != nil {
		was.adopt(&entries[len(entries)-1]) // those before it went through here
	}
	if was != nil && equalEntries(was.entries, entries) {
		r = was
		e.now.digest = e.now.digest.Add(r.digest)
		delete(e.changed, p)
	} else {
		e.fresh[p] = r
	}
	e.writable(p)[p] = r
	e.now.keys++
	e.now.entries += len(entries)
}

func (e *tableEdit) drop(p uint64) {
	old := e.now.route(p)
	if old == nil {
		return
	}
	if _, fresh := e.fresh[p]; fresh {
		delete(e.fresh, p)
	} else {
		e.now.digest = e.now.digest.Sub(old.digest)
	}
	delete(e.writable(p), p)
	e.now.keys--
	e.now.entries -= len(old.entries)
}

// adopt puts the equal entry of the route in the place of another.
func (r *route) adopt(e **Entry) {
	if i := slices.IndexFunc(r.entries, (*e).Equal); i >= 0 {
		*e = r.entries[i]
	}
}

// writable returns the shard of a key, copied if readers may have it.
func (e *tableEdit) writable(p uint64) map[uint64]*route {
	i := shardOf(p)
	if !e.owned[i] {
		e.now.shards[i] = maps.Clone(e.now.shards[i])
		e.owned[i] = true
	}
	if e.now.shards[i] == nil {
		e.now.shards[i] = map[uint64]*route{}
	}
	return e.now.shards[i]
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
		r.digest = digestOf(r.entries)
		e.now.digest = e.now.digest.Add(r.digest)
	}
	clear(e.fresh)
}

// end ends the edit and returns the table. It does less than commit.
func (e *tableEdit) end() *Table {
	e.settle()
	if len(e.changed) == 0 && !e.full {
		return e.was
	}
	return e.now
}

// commit ends the edit and returns the table and the keys whose entries are
// not what they were, sorted.
func (e *tableEdit) commit() (*Table, []Key) {
	e.settle()
	packed := make([]uint64, 0, len(e.changed))
	for p := range e.changed {
		packed = append(packed, p^signs)
	}
	if e.full {
		packed = append(packed, e.missing()...)
	}
	if len(packed) == 0 {
		return e.was, nil
	}
	slices.Sort(packed)
	return e.now, unpackAll(packed)
}

// missing returns the keys that had entries and have none, packed to be sorted,
// but for those that are in changed.
func (e *tableEdit) missing() []uint64 {
	var packed []uint64
	for i := range e.was.shards {
		for p := range e.was.shards[i] {
			if _, known := e.changed[p]; !known && e.now.shards[i][p] == nil {
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
