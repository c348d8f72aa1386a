package routing

import (
	"iter"
	"math/bits"
	"slices"
)

const tableShards = 1024

// tableShard is the routes of some keys: open addressing, at most half full, so
// that a lookup which finds nothing is short too: it is the first one of every
// message whose subscription id no entry names.
type tableShard struct {
	slots []tableSlot
	used  int
}

type tableSlot struct {
	key   uint64
	route *route // nil: free
}

// hashKey spreads packed keys, most of which differ in few bits. The high bits
// choose the shard.
func hashKey(key uint64) uint64 { return mix(key^0x2d358dccaa6c78a5, 0x9e3779b97f4a7c15) }

func shardOf(hash uint64) int { return int(hash >> 54) }

// home returns where the search for a hash begins.
func (s *tableShard) home(hash uint64) int {
	hi, _ := bits.Mul64(hash<<10, uint64(len(s.slots)))
	return int(hi)
}

// find returns the place of a key, or the free one where it would go.
func (s *tableShard) find(key, hash uint64) int {
	i := s.home(hash)
	for s.slots[i].route != nil && s.slots[i].key != key {
		i = s.after(i)
	}
	return i
}

func (s *tableShard) after(i int) int {
	if i++; i < len(s.slots) {
		return i
	}
	return 0
}

// get returns the route of a key, nil if there is none; nil is an empty shard.
func (s *tableShard) get(key, hash uint64) *route {
	if s == nil {
		return nil
	}
	return s.slots[s.find(key, hash)].route
}

// all yields the slots in use, in no order that means something.
func (s *tableShard) all() iter.Seq2[uint64, *route] {
	return func(yield func(uint64, *route) bool) {
		if s == nil {
			return
		}
		for _, sl := range s.slots {
			if sl.route != nil && !yield(sl.key, sl.route) {
				return
			}
		}
	}
}

// clone returns a shard that may be written; one of nil is new.
func (s *tableShard) clone() *tableShard {
	if s == nil {
		return &tableShard{slots: make([]tableSlot, 4)}
	}
	return &tableShard{slots: slices.Clone(s.slots), used: s.used}
}

// put sets the route of a key.
func (s *tableShard) put(key, hash uint64, r *route) {
	i := s.find(key, hash)
	if s.slots[i].route == nil {
		if s.used++; s.used > len(s.slots)/2 {
			s.grow()
			i = s.find(key, hash)
		}
	}
	s.slots[i] = tableSlot{key, r}
}

func (s *tableShard) grow() {
	old := s.slots
	s.slots = make([]tableSlot, 2*len(old))
	for _, sl := range old {
		if sl.route != nil {
			s.slots[s.find(sl.key, hashKey(sl.key))] = sl
		}
	}
}

// drop removes a key that is there. What stands behind it is placed anew, up to
// the next free slot: a search would end at the hole.
func (s *tableShard) drop(key, hash uint64) {
	i := s.find(key, hash)
	s.slots[i] = tableSlot{}
	s.used--
	for i = s.after(i); s.slots[i].route != nil; i = s.after(i) {
		sl := s.slots[i]
		s.slots[i] = tableSlot{}
		s.slots[s.find(sl.key, hashKey(sl.key))] = sl
	}
}
