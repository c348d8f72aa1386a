package routing

import (
	"iter"
	"slices"
)

// Table is the routes at one version. A Table never changes and may be
// shared freely; nil is the empty table.
type Table struct {
	shards  [tableShards]*tableShard
	keys    int
	entries int
	digest  Digest
}

// route is all entries of one key, in the order they hold.
type route struct {
	entries []*Entry
	one     [1]*Entry // room for a single one, so that a lookup reads no further memory for it
	digest  Digest
	fresh   bool // an edit made it and has not given it its digest yet
}

func newRoute(entries []*Entry) *route {
	r := &route{entries: entries, fresh: true}
	if len(entries) == 1 {
		r.one[0] = entries[0]
		r.entries = r.one[:]
	}
	return r
}

// Len returns the number of entries.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return t.entries
}

// Digest returns the digest of all entries.
func (t *Table) Digest() Digest {
	if t == nil {
		return Digest{}
	}
	return t.digest
}

// Entries returns the entries of a key in the order they hold: the last one
// that is for a sender is the one that counts. Leave the slice unchanged.
func (t *Table) Entries(key Key) []*Entry {
	if t == nil {
		return nil
	}
	if r := t.route(key.packed()); r != nil {
		return r.entries
	}
	return nil
}

func (t *Table) route(key uint64) *route {
	hash := hashKey(key)
	return t.shards[shardOf(hash)].get(key, hash)
}

// Keys returns all keys in order.
func (t *Table) Keys() []Key {
	if t == nil {
		return nil
	}
	packed := make([]uint64, 0, t.keys)
	for _, s := range t.shards {
		for k := range s.all() {
			packed = append(packed, k^signs)
		}
	}
	slices.Sort(packed)
	return unpackAll(packed)
}

// signs turns packed keys into numbers that sort as the keys do.
const signs = 1<<63 | 1<<31

// All yields the entries ordered by key, those of a key in the order they
// hold.
func (t *Table) All() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, key := range t.Keys() {
			for _, e := range t.Entries(key) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Groups yields the groups of all entries, in no order that means something,
// and most of them many times. Leave them unchanged. It costs less than [Table.All].
func (t *Table) Groups() iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		if t == nil {
			return
		}
		for _, s := range t.shards {
			for _, r := range s.all() {
				for _, e := range r.entries {
					for _, g := range e.Groups {
						if !yield(g) {
							return
						}
					}
				}
			}
		}
	}
}

// Endpoints returns every endpoint that a group names, sorted.
func (t *Table) Endpoints() []string {
	seen := map[string]bool{}
	for g := range t.Groups() {
		for _, m := range g {
			seen[m] = true
		}
	}
	if len(seen) == 0 {
		return nil
	}
	return sortedKeys(seen)
}

func sortedKeys(set map[string]bool) []string {
	list := make([]string, 0, len(set))
	for s := range set {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}
