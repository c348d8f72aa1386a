package routing

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// MEIDMap says which endpoint owns which MEID, at one version. A MEIDMap
// never changes and may be shared freely; nil is the empty map.
type MEIDMap struct {
	hashed[uint32]
	owners owners
	digest Digest
}

// owners are the owners' names, one copy of each. The number of one is its
// place; places that nobody uses are given to the next new owner.
type owners struct {
	names  []string
	counts []int // MEIDs of each
	index  map[string]uint32
	free   []uint32
}

// Len returns the number of MEIDs.
func (m *MEIDMap) Len() int {
	if m == nil {
		return 0
	}
	return m.n
}

// Digest returns the digest of all MEIDs with their owners.
func (m *MEIDMap) Digest() Digest {
	if m == nil {
		return Digest{}
	}
	return m.digest
}

// Owner returns the owner of an MEID. It does not allocate.
func (m *MEIDMap) Owner(meid string) (owner string, ok bool) {
	if m == nil || len(meid) > MaxMEID {
		return "", false
	}
	k := keyOf(meid)
	if k[MaxMEID] == 0 {
		return "", false
	}
	id, ok := m.get(&k)
	if !ok {
		return "", false
	}
	return m.owners.names[id], true
}

// Owners returns every owner, sorted, with the number of its MEIDs.
func (m *MEIDMap) Owners() (names []string, counts []int) {
	if m == nil {
		return nil, nil
	}
	names = slices.Sorted(maps.Keys(m.owners.index))
	for _, n := range names {
		counts = append(counts, m.owners.counts[m.owners.index[n]])
	}
	return names, counts
}

// All yields MEIDs and owners in an order that follows from the content
// alone, though it is not sorted. It costs less than [MEIDMap.Sorted].
func (m *MEIDMap) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if m == nil {
			return
		}
		for k, id := range m.all() {
			if !yield(k.String(), m.owners.names[id]) {
				return
			}
		}
	}
}

// Sorted yields MEIDs and owners sorted by MEID, bytewise.
func (m *MEIDMap) Sorted() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, s := range m.sorted() {
			if !yield(s.key.String(), m.owners.names[s.value]) {
				return
			}
		}
	}
}

func (m *MEIDMap) sorted() []slot[uint32] {
	list := m.slots()
	slices.SortFunc(list, func(a, b slot[uint32]) int { return a.key.compare(&b.key) })
	return list
}

// slots returns all slots in use. Their order follows from how the map came
// about.
func (m *MEIDMap) slots() []slot[uint32] {
	if m == nil {
		return nil
	}
	list := make([]slot[uint32], 0, m.n)
	for _, s := range m.shards {
		if s == nil {
			continue
		}
		for i := range s.slots {
			if !s.slots[i].free() {
				list = append(list, s.slots[i])
			}
		}
	}
	return list
}

// mapEdit is a map being made from another.
type mapEdit struct {
	was      *MEIDMap
	hash     *hashEdit[uint32]
	owners   owners
	ownIndex bool
	digest   Digest
	touched  []string
	warmed   byte // keeps the reads of warm from being left out
}

func (m *MEIDMap) edit() *mapEdit {
	if m == nil {
		m = new(MEIDMap)
	}
	o := m.owners
	o.counts = slices.Clone(o.counts)
	return &mapEdit{was: m, hash: m.hashed.edit(), owners: o, digest: m.digest}
}

// ownerOf returns the owner of an MEID as the edit has it.
func (e *mapEdit) ownerOf(meid string) (owner string, ok bool) {
	k := keyOf(meid)
	id, ok := e.hash.now.get(&k)
	if !ok {
		return "", false
	}
	return e.owners.names[id], true
}

// expect makes room for an edit that names that many MEIDs in all.
func (e *mapEdit) expect(meids int) {
	meids = min(meids, MaxMEIDs)
	e.hash.expect(max(e.hash.now.n, meids))
	e.touched = slices.Grow(e.touched, meids)
}

// assignAll gives MEIDs to an owner.
func (e *mapEdit) assignAll(meids []string, id uint32) {
	var keys [64]meidKey
	var hashes [len(keys)]uint64
	for len(meids) > 0 {
		n := min(len(meids), len(keys))
		for i, meid := range meids[:n] {
			keys[i] = keyOf(meid)
			hashes[i] = keys[i].hash()
		}
		e.warmed += e.hash.warm(hashes[:n])
		for i, meid := range meids[:n] {
			e.assign(&keys[i], hashes[i], meid, id)
		}
		meids = meids[n:]
	}
}

func (e *mapEdit) assign(k *meidKey, h uint64, meid string, id uint32) {
	old, had := e.hash.put(k, h, id)
	if had && old == id {
		return
	}
	if had {
		e.digest = e.digest.Sub(hashMEID(meid, e.owners.names[old]))
		e.leave(old)
	}
	e.digest = e.digest.Add(hashMEID(meid, e.owners.names[id]))
	e.owners.counts[id]++
	e.touch(meid)
}

// touch notes an MEID. The list doubles, as append's growth would copy a long
// one five times over.
func (e *mapEdit) touch(meid string) {
	if n := len(e.touched); n == cap(e.touched) {
		e.touched = slices.Grow(e.touched, n+1)
	}
	e.touched = append(e.touched, meid)
}

// add carries out an Assign or Release record.
func (e *mapEdit) add(r *Record) error {
	if r.Verb == Release {
		for _, meid := range r.MEIDs {
			e.release(meid)
		}
		return nil
	}
	if e.hash.now.n+len(r.MEIDs) > MaxMEIDs {
		return fmt.Errorf("more than %d MEIDs", MaxMEIDs)
	}
	e.assignAll(r.MEIDs, e.owner(r.Owner))
	return nil
}

func (e *mapEdit) release(meid string) {
	k := keyOf(meid)
	old, had := e.hash.drop(&k)
	if !had {
		return
	}
	e.digest = e.digest.Sub(hashMEID(meid, e.owners.names[old]))
	e.leave(old)
	e.touch(meid)
}

// owner returns the number of an owner, a new one if need be.
func (e *mapEdit) owner(name string) uint32 {
	if id, ok := e.owners.index[name]; ok {
		return id
	}
	e.own()
	name = strings.Clone(name)
	var id uint32
	if n := len(e.owners.free); n > 0 {
		id, e.owners.free = e.owners.free[n-1], e.owners.free[:n-1]
		e.owners.names[id] = name
	} else {
		id = uint32(len(e.owners.names))
		e.owners.names = append(e.owners.names, name)
		e.owners.counts = append(e.owners.counts, 0)
	}
	e.owners.index[name] = id
	return id
}

// leave counts an MEID off an owner; one without MEIDs goes.
func (e *mapEdit) leave(id uint32) {
	if e.owners.counts[id]--; e.owners.counts[id] == 0 {
		e.forget(id)
	}
}

func (e *mapEdit) forget(id uint32) {
	e.own()
	delete(e.owners.index, e.owners.names[id])
	e.owners.names[id] = ""
	e.owners.free = append(e.owners.free, id)
}

// own makes the names ours to write: they are shared between versions as
// long as no owner comes or goes.
func (e *mapEdit) own() {
	if e.ownIndex {
		return
	}
	e.owners.names = slices.Clone(e.owners.names)
	e.owners.free = slices.Clone(e.owners.free)
	e.owners.index = maps.Clone(e.owners.index)
	if e.owners.index == nil {
		e.owners.index = map[string]uint32{}
	}
	e.ownIndex = true
}

// commit ends the edit and returns the map and the MEIDs it touched, in the
// order of the changes.
func (e *mapEdit) commit() (*MEIDMap, []string) {
	if len(e.touched) == 0 {
		return e.was, nil
	}
	return &MEIDMap{hashed: *e.hash.now, owners: e.owners, digest: e.digest}, e.touched
}
