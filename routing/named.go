package routing

import "math/bits"

// named finds the MEIDs that a block names more than once. It holds where an
// MEID stands in the place of its text: for a million of them 20 MB that the
// garbage collector does not look at, and one look into memory each.
type named struct {
	lists []namedList // of the records so far
	slots []namedAt
	used  int
}

// namedList is what one record names.
type namedList struct {
	owner string // empty: released
	line  int
	meids []string
}

// namedAt is the last place of an MEID: the word of a list, which counts from
// 1, so that the zero value is free.
type namedAt struct{ hash, list, word uint32 }

// begin begins a record.
func (n *named) begin(owner string, line int) {
	n.lists = append(n.lists, namedList{owner: owner, line: line})
}

// again notes the last of the MEIDs that the present record has named so far.
// It returns the record that named it before, nil if none did.
func (n *named) again(meids []string) *namedList {
	now := &n.lists[len(n.lists)-1]
	now.meids = meids
	if n.used+1 > len(n.slots)*2/3 {
		n.grow()
	}
	meid := meids[len(meids)-1]
	k := keyOf(meid)
	at := namedAt{uint32(k.hash() >> 32), uint32(len(n.lists)), uint32(len(meids) - 1)}
	s := n.find(at.hash, meid)
	was := *s
	*s = at
	if was.list == 0 {
		n.used++
		return nil
	}
	return &n.lists[was.list-1]
}

// find returns the slot of an MEID, or the free one where it would go.
func (n *named) find(hash uint32, meid string) *namedAt {
	for i := n.home(hash); ; {
		s := &n.slots[i]
		if s.list == 0 || s.hash == hash && n.lists[s.list-1].meids[s.word] == meid {
			return s
		}
		if i++; i == len(n.slots) {
			i = 0
		}
	}
}

func (n *named) home(hash uint32) int {
	hi, _ := bits.Mul64(uint64(hash)<<32, uint64(len(n.slots)))
	return int(hi)
}

// grow doubles the room. All that is there differs, so texts are not compared.
func (n *named) grow() {
	old := n.slots
	n.slots = make([]namedAt, 2*len(old)+64)
	for _, s := range old {
		if s.list == 0 {
			continue
		}
		i := n.home(s.hash)
		for n.slots[i].list != 0 {
			if i++; i == len(n.slots) {
				i = 0
			}
		}
		n.slots[i] = s
	}
}
