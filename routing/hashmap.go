package routing

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"math/bits"
	"slices"
)

const mapShards = 4096

// meidKey is an MEID in a fixed room: its bytes, zeros, its length. The
// zero value is no MEID.
type meidKey [MaxMEID + 1]byte

func keyOf(meid string) (k meidKey) {
	k[MaxMEID] = byte(copy(k[:MaxMEID], meid))
	return k
}

func (k *meidKey) String() string { return string(k[:k[MaxMEID]]) }

// hash mixes the four words of a key. It is the same on every node and in
// every run, since the order in which a map is walked follows from it.
func (k *meidKey) hash() uint64 {
	a := mix(binary.LittleEndian.Uint64(k[0:])^0x2d358dccaa6c78a5, binary.LittleEndian.Uint64(k[8:])^0x8bb84b93962eacc9)
	b := mix(binary.LittleEndian.Uint64(k[16:])^0x4b33a62ed433d4a3, binary.LittleEndian.Uint64(k[24:])^0x4d5a2da51de1aa47)
	return mix(a^0x9e3779b97f4a7c15, b^0xa0761d6478bd642f)
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hashed is a map from MEIDs to numbers: shards of open addressing without a
// pointer in them, which a million MEIDs fit into 60 MB of and the garbage
// collector does not look at.
type hashed[V uint32 | uint64] struct {
	shards [mapShards]*shard[V]
	n      int
}

type shard[V uint32 | uint64] struct {
	slots []slot[V]
	used  int
}

type slot[V uint32 | uint64] struct {
	key   meidKey
	value V
}

func (s *slot[V]) free() bool { return s.key[MaxMEID] == 0 }

// find returns the place of a key, or the free one where it would go.
func (s *shard[V]) find(k *meidKey, h uint64) int {
	for i := s.home(h); ; {
		if sl := &s.slots[i]; sl.free() || sl.key == *k {
			return i
		}
		if i++; i == len(s.slots) {
			i = 0
		}
	}
}

// home returns where the search for a hash begins.
func (s *shard[V]) home(h uint64) int {
	hi, _ := bits.Mul64(h<<12, uint64(len(s.slots)))
	return int(hi)
}

func (m *hashed[V]) get(k *meidKey) (V, bool) {
	h := k.hash()
	s := m.shards[h>>52]
	if s == nil {
		return 0, false
	}
	sl := &s.slots[s.find(k, h)]
	return sl.value, !sl.free()
}

// all yields keys and values: shard by shard, sorted within each, so in an
// order that follows from the content alone.
func (m *hashed[V]) all() iter.Seq2[*meidKey, V] {
	return func(yield func(*meidKey, V) bool) {
		var sorted []*slot[V]
		for _, s := range m.shards {
			if s == nil {
				continue
			}
			sorted = sorted[:0]
			for i := range s.slots {
				if !s.slots[i].free() {
					sorted = append(sorted, &s.slots[i])
				}
			}
			slices.SortFunc(sorted, func(a, b *slot[V]) int { return a.key.compare(&b.key) })
			for _, sl := range sorted {
				if !yield(&sl.key, sl.value) {
					return
				}
			}
		}
	}
}

func (k *meidKey) compare(o *meidKey) int { return bytes.Compare(k[:], o[:]) }

// hashEdit is a map being made from another. Shards are copied when they are
// first written, and written in place from then on.
type hashEdit[V uint32 | uint64] struct {
	now   *hashed[V]
	owned [mapShards]bool
	room  int // slots that a shard which grows gets at least
}

func (m *hashed[V]) edit() *hashEdit[V] {
	now := *m
	return &hashEdit[V]{now: &now}
}

// expect has shards grow at once to what they need where the map comes to
// hold n keys: as many as two standard deviations over the mean, at most
// three quarters full. It is a hint.
func (e *hashEdit[V]) expect(n int) {
	mean := float64(n) / mapShards
	e.room = int((mean+2*math.Sqrt(mean))*4/3) + 1
}

// warm reads the slots that a search for the hashes begins at, so that the
// reads, most of which miss the processor's caches, go on side by side.
func (e *hashEdit[V]) warm(hashes []uint64) (sum byte) {
	for _, h := range hashes {
		if s := e.now.shards[h>>52]; s != nil {
			sum += s.slots[s.home(h)].key[MaxMEID]
		}
	}
	return sum
}

// put sets a value and returns the one before. h is the key's hash. A value
// that is there already is not written.
func (e *hashEdit[V]) put(k *meidKey, h uint64, v V) (old V, had bool) {
	s := e.now.shards[h>>52]
	if s == nil {
		s = e.writable(h >> 52)
	}
	i := s.find(k, h)
	if sl := &s.slots[i]; !sl.free() {
		if old = sl.value; old != v {
			e.writable(h >> 52).slots[i].value = v // a copy has its slots at the same places
		}
		return old, true
	}
	s = e.writable(h >> 52)
	if s.used+1 > len(s.slots)*3/4 {
		s.grow(e.room)
		i = s.find(k, h)
	}
	s.slots[i] = slot[V]{*k, v}
	s.used++
	e.now.n++
	return 0, false
}

// drop removes a key and returns its value.
func (e *hashEdit[V]) drop(k *meidKey) (old V, had bool) {
	old, had = e.now.get(k)
	if !had {
		return 0, false
	}
	h := k.hash()
	e.writable(h>>52).drop(k, h)
	e.now.n--
	return old, true
}

func (e *hashEdit[V]) writable(i uint64) *shard[V] {
	s := e.now.shards[i]
	switch {
	case s == nil:
		s = &shard[V]{slots: make([]slot[V], 4)}
	case !e.owned[i]:
		s = &shard[V]{slots: slices.Clone(s.slots), used: s.used}
	default:
		return s
	}
	e.now.shards[i], e.owned[i] = s, true
	return s
}

func (s *shard[V]) grow(room int) {
	old := s.slots
	s.slots = make([]slot[V], max(len(old)*5/4+4, room))
	for i := range old {
		if !old[i].free() {
			s.slots[s.find(&old[i].key, old[i].key.hash())] = old[i]
		}
	}
}

// drop frees a slot and moves up those behind it which a search would no
// longer reach.
func (s *shard[V]) drop(k *meidKey, h uint64) {
	n := len(s.slots)
	hole := s.home(h)
	for s.slots[hole].key != *k {
		hole = (hole + 1) % n
	}
	for i := (hole + 1) % n; !s.slots[i].free(); i = (i + 1) % n {
		home := s.home(s.slots[i].key.hash())
		if (i-home+n)%n >= (i-hole+n)%n {
			s.slots[hole], hole = s.slots[i], i
		}
	}
	s.slots[hole] = slot[V]{}
	s.used--
}
