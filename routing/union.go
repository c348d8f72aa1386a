package routing

// Union returns the routes of both tables as if the records of first were
// read before those of second: for a key and sender that both serve, second
// holds.
func Union(first, second *Table) *Table {
	u, _ := (*Table)(nil).Merge(first, second, append(first.Keys(), second.Keys()...))
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
