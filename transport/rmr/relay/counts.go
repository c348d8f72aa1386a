package relay

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"floe/routing"
)

// RouteStats is how many messages went by the entries of one type and
// subscription id.
type RouteStats struct {
	MType, SubID int32
	// Messages counts each message once, however many copies it became, since
	// there are such entries.
	Messages uint64
}

// routeCounts count messages by entry. As entries are replaced by others of
// the same key, what those that are gone counted is kept by key.
type routeCounts struct {
	entries sync.Map // *routing.Entry to *atomic.Uint64

	mu   sync.Mutex // of pruning and listing
	past map[routing.Key]uint64
}

func (c *routeCounts) add(e *routing.Entry) {
	n, known := c.entries.Load(e)
	if !known {
		n, _ = c.entries.LoadOrStore(e, new(atomic.Uint64))
	}
	n.(*atomic.Uint64).Add(1)
}

// prune moves the counts of entries that the table does not hold to their
// keys, and forgets keys without entries.
func (c *routeCounts) prune(t *routing.Table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Range(func(k, v any) bool {
		e := k.(*routing.Entry)
		if slices.Contains(t.Entries(e.Key), e) {
			return true
		}
		c.entries.Delete(k)
		if c.past == nil {
			c.past = map[routing.Key]uint64{}
		}
		c.past[e.Key] += v.(*atomic.Uint64).Load()
		return true
	})
	for key := range c.past {
		if len(t.Entries(key)) == 0 {
			delete(c.past, key)
		}
	}
}

// list returns those that counted something, sorted by type and subscription.
func (c *routeCounts) list() []RouteStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := map[routing.Key]uint64{}
	for key, n := range c.past {
		by[key] = n
	}
	c.entries.Range(func(k, v any) bool {
		by[k.(*routing.Entry).Key] += v.(*atomic.Uint64).Load()
		return true
	})
	out := make([]RouteStats, 0, len(by))
	for key, n := range by {
		out = append(out, RouteStats{key.MType, key.SubID, n})
	}
	slices.SortFunc(out, func(a, b RouteStats) int {
		return cmp.Or(cmp.Compare(a.MType, b.MType), cmp.Compare(a.SubID, b.SubID))
	})
	return out
}
