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
	was   *Table
	now   *Table
	owned [tableShards]bool
	dirty map[uint64]bool
	full  bool              // everything was dropped: what is left must be compared
	names map[string]string // endpoints and senders, one copy of each
}

func (t *Table) edit() *tableEdit {
	if t == nil {
		t = new(Table)
	}
	now := *t
	return &tableEdit{was: t, now: &now, dirty: map[uint64]bool{}, names: map[string]string{}}
}

// clear drops all routes.
func (e *tableEdit) clear() {
	e.now = new(Table)
	for i := range e.owned {
		e.owned[i] = true
	}
	e.full = true
}

func (e *tableEdit) entries(key Key) []*Entry {
	if r := e.now.route(key.packed()); r != nil {
		return r.entries
	}
	return nil
}

// put sets the entries of a key; none removes it.
func (e *tableEdit) put(key Key, entries []*Entry) {
	p := key.packed()
	i := shardOf(p)
	if !e.owned[i] {
		e.now.shards[i] = maps.Clone(e.now.shards[i])
		e.owned[i] = true
	}
	e.dirty[p] = true
	old := e.now.shards[i][p]
	if old != nil {
		e.now.keys--
		e.now.entries -= len(old.entries)
	}
	if len(entries) == 0 {
		delete(e.now.shards[i], p)
		return
	}
	if e.now.shards[i] == nil {
		e.now.shards[i] = map[uint64]*route{}
	}
	e.now.shards[i][p] = &route{entries: entries}
	e.now.keys++
	e.now.entries += len(entries)
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
	return entry
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

// commit ends the edit and returns the table and the keys whose entries are
// not what they were, sorted.
func (e *tableEdit) commit() (*Table, []Key) {
	if e.full {
		for i := range e.was.shards {
			for p := range e.was.shards[i] {
				e.dirty[p] = true
			}
		}
	}
	digest := e.was.digest
	var changed []Key
	for p := range e.dirty {
		was, now := e.was.route(p), e.now.route(p)
		if e.adopt(p, was, now) {
			continue
		}
		if was != nil {
			digest = digest.Sub(was.digest)
		}
		if now != nil {
			now.digest = hashEntries(now.entries)
			digest = digest.Add(now.digest)
		}
		changed = append(changed, unpack(p))
	}
	e.now.digest = digest
	if len(changed) == 0 {
		return e.was, nil
	}
	slices.SortFunc(changed, Key.Compare)
	return e.now, changed
}

// adopt puts what did not change back as it was, so that it keeps its
// identity, and says whether nothing changed.
func (e *tableEdit) adopt(p uint64, was, now *route) bool {
	if was == nil || now == nil || was == now {
		return was == now
	}
	if equalEntries(was.entries, now.entries) {
		e.now.shards[shardOf(p)][p] = was
		return true
	}
	for i, n := range now.entries {
		if j := slices.IndexFunc(was.entries, n.Equal); j >= 0 {
			now.entries[i] = was.entries[j]
		}
	}
	return false
}
