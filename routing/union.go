package routing

import "slices"

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
		e.put(key, merged(first.Entries(key), second.Entries(key)))
	}
	return e.commit()
}

// merged returns the entries of one key in the union. The slice is the
// caller's: an edit may put other entries into it.
func merged(first, second []*Entry) []*Entry {
	entries := first
	for _, later := range second {
		entries = with(entries, later)
	}
	return append([]*Entry(nil), entries...)
}

// merge does for a map what [Table.Merge] does for a table.
func (m *MEIDMap) merge(first, second *MEIDMap, meids []string) *MEIDMap {
	e := m.edit()
	for _, meid := range meids {
		e.follow(meid, second.Owner, first.Owner)
	}
	merged, _ := e.commit()
	return merged
}

// follow gives an MEID the owner that second names, else that of first.
func (e *mapEdit) follow(meid string, second, first func(string) (string, bool)) {
	owner, ok := second(meid)
	if !ok {
		owner, ok = first(meid)
	}
	if !ok {
		e.release(meid)
		return
	}
	e.assignAll([]string{meid}, e.owner(owner))
}

// UnionEdit brings a union up to an [Edit] of its first half while that is
// made, so that little is left to do in the end. What the edit of the half is
// told, it is told after it. Only one goroutine may use either.
type UnionEdit struct {
	half   *Edit
	second State
	table  *tableEdit // nil: second has no routes, so that the union has those of the half
	meids  *mapEdit   // likewise
	failed bool
}

// Union begins to edit union, which is that of the state before e, and of
// second.
func (e *Edit) Union(union, second State) *UnionEdit {
	u := &UnionEdit{half: e, second: second}
	if second.Table.Len() > 0 {
		u.table = union.Table.edit()
	}
	if second.MEIDs.Len() > 0 {
		u.meids = union.MEIDs.edit()
	}
	return u
}

// Expect is [Edit.Expect].
func (u *UnionEdit) Expect(meids int) {
	if u.meids != nil {
		u.meids.expect(meids)
	}
}

// Follow brings the union up to another second half. Where that has routes,
// or MEIDs, for the first time, the union has to be merged in the end.
func (u *UnionEdit) Follow(second State) {
	if u.second == second {
		return
	}
	c := Diff(u.second, second)
	u.second = second
	if u.table == nil && second.Table.Len() > 0 || u.meids == nil && second.MEIDs.Len() > 0 {
		u.failed = true
	}
	if u.table != nil {
		for _, key := range c.Routes {
			u.route(key)
		}
		u.table.settle()
	}
	if u.meids != nil {
		for _, meid := range c.MEIDs {
			u.meid(meid)
		}
	}
}

// Do brings the union up to an update that the edit of the half has carried
// out.
func (u *UnionEdit) Do(done Update) {
	if u.table != nil {
		u.routes(done)
	}
	if u.meids == nil {
		return
	}
	for i := range done.Blocks {
		for j := range done.Blocks[i].Records {
			if r := &done.Blocks[i].Records[j]; r.Verb == Assign || r.Verb == Release {
				u.add(r)
			}
		}
	}
}

func (u *UnionEdit) routes(done Update) {
	for i := range done.Blocks {
		if done.Blocks[i].Kind == FullTable {
			u.table.clear()
			for _, key := range u.second.Table.Keys() {
				u.route(key)
			}
			break
		}
	}
	for i := range done.Blocks {
		for j := range done.Blocks[i].Records {
			if r := &done.Blocks[i].Records[j]; r.Verb == Route || r.Verb == Unroute {
				u.route(r.Key)
			}
		}
	}
	u.table.settle()
}

func (u *UnionEdit) route(key Key) {
	u.table.put(key, merged(u.half.table.entries(key), u.second.Table.Entries(key)))
}

// add carries out a record for the MEIDs that the second half leaves to the
// first.
func (u *UnionEdit) add(r *Record) {
	first := r.MEIDs
	if slices.ContainsFunc(first, u.second.owns) {
		first = slices.DeleteFunc(slices.Clone(first), u.second.owns)
	}
	if len(first) == 0 {
		return
	}
	if r.Verb == Assign {
		u.meids.assignAll(first, u.meids.owner(r.Owner))
		return
	}
	for _, meid := range first {
		u.meids.release(meid)
	}
}

func (s State) owns(meid string) bool {
	_, ok := s.MEIDs.Owner(meid)
	return ok
}

func (u *UnionEdit) meid(meid string) {
	u.meids.follow(meid, u.second.MEIDs.Owner, u.half.meids.ownerOf)
}

// Commit returns the union of next, which the edit of the half has led to,
// and of the second half; ok is false where it has to be merged.
func (u *UnionEdit) Commit(next State) (union State, ok bool) {
	if u.failed {
		return State{}, false
	}
	union = next
	if u.second.Table.Len() > 0 {
		union.Table = u.table.end()
	}
	if u.second.MEIDs.Len() > 0 {
		union.MEIDs, _ = u.meids.commit()
	}
	return union, true
}
