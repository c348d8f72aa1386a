package manager

import (
	"net/netip"
	"sync"
	"time"
)

// buckets hand out turns to client addresses, so many a second to each.
type buckets struct {
	rate int

	mu   sync.Mutex
	next map[netip.Addr]time.Time // when the bucket of an address is full again
}

// take returns how long an address has to wait for its turn. A second's worth of
// turns is had without waiting.
func (b *buckets) take(a netip.Addr, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.next) > 1000 {
		for a, full := range b.next {
			if full.Before(now) {
				delete(b.next, a)
			}
		}
	}
	if b.next == nil {
		b.next = map[netip.Addr]time.Time{}
	}
	full := latest(b.next[a], now).Add(time.Second / time.Duration(b.rate))
	b.next[a] = full
	return max(0, full.Sub(now)-time.Second)
}
