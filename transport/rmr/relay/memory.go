package relay

import (
	"encoding/binary"
	"hash/maphash"
	"sync"

	"floe/transport/rmr/proto"
)

// memory remembers from which connection messages came that went to an
// endpoint, so that an answer on the endpoint's connection can be passed on.
// It holds a fixed number of the latest; within a shard and bucket the oldest makes room.
type memory struct {
	seed   maphash.Seed
	shards [memoryShards]memoryShard
	size   uint64 // buckets of a shard
	age    int64  // after which an asker is forgotten, in nanoseconds
}

const (
	memoryShards = 16
	bucketSlots  = 4
)

type memoryShard struct {
	mu      sync.Mutex
	buckets [][bucketSlots]asker // made at the first message
}

// asker is who waits for an answer. It holds no pointer, so that the garbage
// collector has nothing to do with it and no connection outlives its end.
type asker struct {
	xid      [32]byte
	endpoint uint64 // by its id
	inlet    uint64 // by its id; 0: the slot is free
	at       int64  // by the relay's clock
	call     byte
}

func newMemory(messages int, age int64) *memory {
	n := (messages + memoryShards*bucketSlots - 1) / (memoryShards * bucketSlots)
	return &memory{seed: maphash.MakeSeed(), size: uint64(max(1, n)), age: age}
}

func (m *memory) place(k *asker) (*memoryShard, uint64) {
	var key [41]byte
	copy(key[:], k.xid[:])
	binary.LittleEndian.PutUint64(key[32:], k.endpoint)
	key[40] = k.call
	sum := maphash.Bytes(m.seed, key[:])
	return &m.shards[sum%memoryShards], sum / memoryShards % m.size
}

func (a *asker) is(k *asker) bool {
	return a.inlet != 0 && a.endpoint == k.endpoint && a.call == k.call && a.xid == k.xid
}

// put remembers an asker. The latest of equal ones counts.
func (m *memory) put(k *asker) {
	s, at := m.place(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buckets == nil {
		s.buckets = make([][bucketSlots]asker, m.size)
	}
	b := &s.buckets[at]
	slot := &b[0]
	for i := range b {
		if b[i].is(k) {
			slot = &b[i]
			break
		}
		if b[i].inlet == 0 || slot.inlet != 0 && b[i].at < slot.at {
			slot = &b[i]
		}
	}
	*slot = *k
}

// find returns the id of the connection an answer is for, 0 if it is unknown.
// The asker stays: it may get several answers.
func (m *memory) find(k *asker, now int64) (inlet uint64) {
	s, at := m.place(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buckets == nil {
		return 0
	}
	for i := range s.buckets[at] {
		if a := &s.buckets[at][i]; a.is(k) && now-a.at <= m.age {
			return a.inlet
		}
	}
	return 0
}

// remember notes that an answer to m may come on the connection to an
// endpoint. Calls, and messages without a source, whose answer must come
// there, are kept apart from the many others, whose answers mostly go
// straight to the source.
func (r *Relay) remember(endpoint, inlet uint64, m *proto.Message) {
	k := asker{xid: m.XID, endpoint: endpoint, inlet: inlet, at: r.clock.Load(), call: m.CallID()}
	switch {
	case m.IsCall() || len(m.Src) == 0:
		r.calls.put(&k)
	case k.call != 0 || k.xid != [32]byte{}:
		r.others.put(&k)
	}
	// Else nothing tells its answer from others.
}

// asked returns the connection that an answer from an endpoint is for, nil if
// it is unknown or gone.
func (r *Relay) asked(endpoint uint64, m *proto.Message) *inlet {
	k := asker{xid: m.XID, endpoint: endpoint, call: m.CallID()}
	now := r.clock.Load()
	id := r.calls.find(&k, now)
	if id == 0 {
		id = r.others.find(&k, now)
	}
	if id == 0 || m.IsCall() {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.inlets[id]
}
