package routing

import (
	"iter"
	"slices"
)

// Tombstones are the MEIDs that were deleted, each with the index at which it
// was. A program never forgets an MEID unless it is told to, so a deletion
// is remembered until every program that may know the MEID has been told.
// Tombstones never change and may be shared freely; nil is none.
type Tombstones struct {
	hashed[uint64]
	digest Digest
}

// Len returns how many there are.
func (t *Tombstones) Len() int {
	if t == nil {
		return 0
	}
	return t.n
}

// Has says whether an MEID is among them.
func (t *Tombstones) Has(meid string) bool {
	if t == nil || len(meid) > MaxMEID {
		return false
	}
	k := keyOf(meid)
	_, ok := t.get(&k)
	return ok
}

// Digest returns the digest of all tombstones.
func (t *Tombstones) Digest() Digest {
	if t == nil {
		return Digest{}
	}
	return t.digest
}

// After returns the tombstones after a change at index that touched meids
// and led to now: what has no owner any more is buried, what has one again
// is not.
func (t *Tombstones) After(index uint64, meids []string, now *MEIDMap) *Tombstones {
	e := t.edit()
	for _, meid := range meids {
		if _, lives := now.Owner(meid); lives {
			e.raise(meid)
		} else {
			e.bury(meid, index)
		}
	}
	return e.commit()
}

// Restore returns t with more tombstones, as read from a snapshot.
func (t *Tombstones) Restore(all iter.Seq2[string, uint64]) *Tombstones {
	e := t.edit()
	for meid, index := range all {
		e.bury(meid, index)
	}
	return e.commit()
}

// Prune returns t without what was buried at index or before: every program
// has been told.
func (t *Tombstones) Prune(index uint64) *Tombstones {
	e := t.edit()
	for meid, buried := range t.All() {
		if buried <= index {
			e.raise(meid)
		}
	}
	return e.commit()
}

// Since returns the MEIDs that were buried after index, sorted.
func (t *Tombstones) Since(index uint64) []string {
	var meids []string
	for meid, buried := range t.All() {
		if buried > index {
			meids = append(meids, meid)
		}
	}
	slices.Sort(meids)
	return meids
}

// All yields MEIDs and indexes in an order that follows from the content.
func (t *Tombstones) All() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		if t == nil {
			return
		}
		for k, index := range t.all() {
			if !yield(k.String(), index) {
				return
			}
		}
	}
}

type tombstoneEdit struct {
	was     *Tombstones
	hash    *hashEdit[uint64]
	digest  Digest
	changed bool
}

func (t *Tombstones) edit() *tombstoneEdit {
	if t == nil {
		t = new(Tombstones)
	}
	return &tombstoneEdit{was: t, hash: t.hashed.edit(), digest: t.digest}
}

func (e *tombstoneEdit) bury(meid string, index uint64) {
	if CheckMEID(meid) != nil {
		return // no map ever held it
	}
	k := keyOf(meid)
	if old, had := e.hash.put(&k, k.hash(), index); had {
		e.digest = e.digest.Sub(hashTombstone(meid, old))
	}
	e.digest = e.digest.Add(hashTombstone(meid, index))
	e.changed = true
}

func (e *tombstoneEdit) raise(meid string) {
	if len(meid) > MaxMEID {
		return
	}
	k := keyOf(meid)
	if old, had := e.hash.drop(&k); had {
		e.digest = e.digest.Sub(hashTombstone(meid, old))
		e.changed = true
	}
}

func (e *tombstoneEdit) commit() *Tombstones {
	if !e.changed {
		return e.was
	}
	return &Tombstones{hashed: *e.hash.now, digest: e.digest}
}
