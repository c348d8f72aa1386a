package cluster

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// badFor is how long an address that could not be dialled comes last.
const badFor = 2 * time.Second

// addressBook finds the socket address of a node id. What a node said of
// itself, directly or by gossip, counts most, then what the state says, then
// what others said. Safe for concurrent use.
type addressBook struct {
	self string
	mu   sync.Mutex
	// fresh, replicated and hearsay map node ids to addresses.
	fresh, replicated, hearsay map[string]string
	// bad maps addresses to the time of the last failure.
	bad map[string]time.Time
}

func newAddressBook(self string) *addressBook {
	return &addressBook{self: self, fresh: map[string]string{}, replicated: map[string]string{}, hearsay: map[string]string{}, bad: map[string]time.Time{}}
}

// heard notes what a node says of itself.
func (b *addressBook) heard(id, address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id != b.self && address != "" {
		b.fresh[id] = address
		delete(b.bad, address)
	}
}

// told notes what others say of nodes.
func (b *addressBook) told(addresses map[string]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, address := range addresses {
		if id != b.self && address != "" && len(b.hearsay) < 1024 {
			b.hearsay[id] = address
		}
	}
}

// setReplicated notes what the state says.
func (b *addressBook) setReplicated(addresses map[string]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicated = addresses
}

// failed notes that an address could not be dialled.
func (b *addressBook) failed(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.bad) > 1024 {
		clear(b.bad)
	}
	b.bad[address] = time.Now()
}

// worked notes that an address could be dialled.
func (b *addressBook) worked(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.bad, address)
}

// pick returns the best address of a node.
func (b *addressBook) pick(id string) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	best := ""
	var failed time.Time
	for _, book := range []map[string]string{b.fresh, b.replicated, b.hearsay} {
		address, ok := book[id]
		if !ok {
			continue
		}
		at := b.bad[address]
		if time.Since(at) > badFor {
			return address, true
		}
		if best == "" || at.Before(failed) {
			best, failed = address, at
		}
	}
	return best, best != ""
}

// all returns every address known, sorted, and the best one of each node.
func (b *addressBook) all() (addresses []string, best map[string]string) {
	b.mu.Lock()
	set := map[string]bool{}
	ids := map[string]bool{}
	for _, book := range []map[string]string{b.fresh, b.replicated, b.hearsay} {
		for id, address := range book {
			if id != b.self {
				set[address], ids[id] = true, true
			}
		}
	}
	b.mu.Unlock()
	best = map[string]string{}
	for id := range ids {
		if address, ok := b.pick(id); ok {
			best[id] = address
		}
	}
	return slices.Sorted(maps.Keys(set)), best
}

// ServerAddr is raft's question: its own address stays its id.
func (b *addressBook) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	if string(id) == b.self {
		return raft.ServerAddress(id), nil
	}
	if address, ok := b.pick(string(id)); ok {
		return raft.ServerAddress(address), nil
	}
	return raft.ServerAddress(id), nil // dialling an id fails in words
}
