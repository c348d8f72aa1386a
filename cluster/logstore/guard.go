package logstore

import (
	"runtime"
	"sync"

	"github.com/hashicorp/raft"
)

const (
	// cacheEntries and cacheBytes bound the cache of recent entries: at most 8 MiB of data.
	cacheEntries = 512
	cacheBytes   = 16 << 10
)

// ForRaft is the store as raft gets it, as log store and as stable store. It
// differs from Store in three ways, each for a reason in raft v1.8.0 that
// DESIGN.md gives:
//
//   - A GetLog or SetUint64 that fails, which raft would answer with a panic, ends
//     its goroutine by runtime.Goexit. Only raft's own goroutines may call it,
//     and NewRaft runs within Start.
//   - GetCommitIndex answers 0, so that raft stages commit indexes and does not replay. Store.Replay does.
//   - Recent entries are cached, as raft.LogCache does not pass commit tracking on.
type ForRaft struct {
	*Store
	mu    sync.RWMutex
	cache [cacheEntries]*raft.Log
}

var (
	_ raft.CommitTrackingLogStore = (*ForRaft)(nil)
	_ raft.StableStore            = (*ForRaft)(nil)
)

// ForRaft returns the store as raft has to get it. Call it once per raft.
func (s *Store) ForRaft() *ForRaft { return &ForRaft{Store: s} }

// Start runs newRaft, which calls raft.NewRaft, on a goroutine of its own and
// waits for it. What raft answers with a panic or what ends that goroutine
// comes back as an error. From then on the owner watches Health.Done and shuts raft down.
func (r *ForRaft) Start(newRaft func() error) error {
	var err error
	ended := false
	var wg sync.WaitGroup
	wg.Go(func() {
		err = protect(newRaft)
		ended = true
	})
	wg.Wait()
	if !ended {
		return r.health.Err()
	}
	return err
}

// GetCommitIndex returns 0: the owner replays, not raft.
func (r *ForRaft) GetCommitIndex() (uint64, error) { return 0, r.health.Err() }

// GetLog reads the entry at index, from the cache where it is there.
func (r *ForRaft) GetLog(index uint64, l *raft.Log) error {
	if err := r.health.Err(); err != nil {
		return r.end(err)
	}
	r.mu.RLock()
	cached := r.cache[index%cacheEntries]
	r.mu.RUnlock()
	if cached != nil && cached.Index == index {
		*l = *cached
		return nil
	}
	return r.end(r.Store.GetLog(index, l))
}

// StoreLog appends one entry.
func (r *ForRaft) StoreLog(l *raft.Log) error { return r.StoreLogs([]*raft.Log{l}) }

// StoreLogs appends entries. Its error is returned: raft steps down on it.
func (r *ForRaft) StoreLogs(logs []*raft.Log) error {
	if err := r.Store.StoreLogs(logs); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range logs {
		slot := &r.cache[l.Index%cacheEntries]
		if *slot = l; len(l.Data)+len(l.Extensions) > cacheBytes {
			*slot = nil
		}
	}
	return nil
}

// DeleteRange deletes entries, from the cache first.
func (r *ForRaft) DeleteRange(lo, hi uint64) error {
	r.mu.Lock()
	clear(r.cache[:])
	r.mu.Unlock()
	return r.Store.DeleteRange(lo, hi)
}

// SetUint64 stores a number: the current term among them, whose failure raft answers with a panic.
func (r *ForRaft) SetUint64(key []byte, value uint64) error {
	return r.end(r.Store.SetUint64(key, value))
}

// end returns err, or never returns where raft would panic.
func (r *ForRaft) end(err error) error {
	if err != nil && !benign(err) {
		runtime.Goexit() // runs raft's deferred steps: a leader stops replicating, a caller is answered
	}
	return err
}
