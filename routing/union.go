package routing

// Union returns the routes of both tables as if the records of first were
// read before those of second: for a key and sender that both serve, second
// holds.
func Union(first, second *Table) *Table {
	u, _ := (*Table)(nil).Merge(first, second, append(first.Keys(), second.Keys()...))
	return u
}

// Merge returns s, the union of earlier versions of first and second,
// brought up to theirs, given what either change touched. Where second is
// empty the union is first itself.
func (s State) Merge(first, second State, touched Changes) State {
	u := first
	if second.Table.Len() > 0 {
		u.Table, _ = s.Table.Merge(first.Table, second.Table, touched.Routes)
	}
	if second.MEIDs.Len() > 0 {
		u.MEIDs = s.MEIDs.merge(first.MEIDs, second.MEIDs, touched.MEIDs)
	}
	return u
}

// Merge returns t, the union of earlier versions of first and second,
// brought up to theirs, given the keys that either change touched. It also
// returns the keys whose entries are not what they were.
func (t *Table) Merge(first, second *Table, keys []Key) (*Table, []Key) {
	e := t.edit()
	for _, key := range keys {
		entries := first.Entries(key)
		for _, later := range second.Entries(key) {
			entries = with(entries, later)
		}
		// Own the slice: commit may put entries of t into it.
		e.put(key, append([]*Entry(nil), entries...))
	}
	return e.commit()
}

// merge does for a map what [Table.Merge] does for a table.
func (m *MEIDMap) merge(first, second *MEIDMap, meids []string) *MEIDMap {
	e := m.edit()
	for _, meid := range meids {
		owner, ok := second.Owner(meid)
		if !ok {
			owner, ok = first.Owner(meid)
		}
		if !ok {
			e.release(meid)
			continue
		}
		e.assignAll([]string{meid}, e.owner(owner))
	}
	merged, _ := e.commit()
	return merged
}
