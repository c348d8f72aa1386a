package routing

import "slices"

// Diff names what differs between two states, sorted, each once. Between two
// versions of one map it costs the shards that changed, not all MEIDs.
func Diff(a, b State) Changes {
	return Changes{Routes: DiffTables(a.Table, b.Table), MEIDs: DiffMEIDs(a.MEIDs, b.MEIDs)}
}

// DiffTables returns the keys whose entries differ between two tables,
// sorted.
func DiffTables(a, b *Table) []Key {
	if a == b {
		return nil
	}
	var empty Table
	if a == nil {
		a = &empty
	}
	if b == nil {
		b = &empty
	}
	var differ []uint64
	for i := range a.shards {
		if x, y := a.shards[i], b.shards[i]; x != y {
			differ = diffShard(differ, x, y)
		}
	}
	slices.Sort(differ)
	return unpackAll(differ)
}

// diffShard appends the keys, as they sort, under which two shards differ.
func diffShard(differ []uint64, a, b *tableShard) []uint64 {
	for k, r := range a.all() {
		if o := b.get(k, hashKey(k)); o != r && (o == nil || !equalEntries(r.entries, o.entries)) {
			differ = append(differ, k^signs)
		}
	}
	for k := range b.all() {
		if a.get(k, hashKey(k)) == nil {
			differ = append(differ, k^signs)
		}
	}
	return differ
}

// DiffMEIDs returns the MEIDs that two maps do not give the same owner,
// sorted.
func DiffMEIDs(a, b *MEIDMap) []string {
	if a == b {
		return nil
	}
	var empty MEIDMap
	if a == nil {
		a = &empty
	}
	if b == nil {
		b = &empty
	}
	var differ []string
	for i := range a.shards {
		// A shard that both share was written by neither since they parted, so
		// its numbers were in use all the time and name the same owners.
		if x, y := a.shards[i], b.shards[i]; x != y {
			differ = diffSlots(differ, a, x, b, y)
		}
	}
	slices.Sort(differ)
	return differ
}

func diffSlots(differ []string, a *MEIDMap, x *shard[uint32], b *MEIDMap, y *shard[uint32]) []string {
	for s := range x.taken() {
		if o, ok := b.get(&s.key); !ok || b.owners.names[o] != a.owners.names[s.value] {
			differ = append(differ, s.key.String())
		}
	}
	for s := range y.taken() {
		if _, ok := a.get(&s.key); !ok {
			differ = append(differ, s.key.String())
		}
	}
	return differ
}

// taken yields the slots in use; nil has none.
func (s *shard[V]) taken() func(yield func(*slot[V]) bool) {
	return func(yield func(*slot[V]) bool) {
		if s == nil {
			return
		}
		for i := range s.slots {
			if !s.slots[i].free() && !yield(&s.slots[i]) {
				return
			}
		}
	}
}
