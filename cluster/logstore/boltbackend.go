package logstore

import (
	"errors"
	"os"
	"sync"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// boltBackend is a database of raft-boltdb that can be put in the place of
// itself, smaller.
type boltBackend struct {
	path string
	mu   sync.RWMutex // held for writing while the file is replaced
	db   *raftboltdb.BoltStore
}

var _ statsBackend = (*boltBackend)(nil)

// FirstIndex implements Backend.
func (b *boltBackend) FirstIndex() (uint64, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.db.FirstIndex()
}

// LastIndex implements Backend.
func (b *boltBackend) LastIndex() (uint64, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.db.LastIndex()
}

// GetLog implements Backend.
func (b *boltBackend) GetLog(index uint64, l *raft.Log) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.db.GetLog(index, l)
}

// StoreLog implements Backend.
func (b *boltBackend) StoreLog(l *raft.Log) error { return b.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements Backend.
func (b *boltBackend) StoreLogs(logs []*raft.Log) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.db.StoreLogs(logs)
}

// DeleteRange implements Backend. Where it leaves little in a large file, the
// file is replaced by a small one; appends wait for that.
func (b *boltBackend) DeleteRange(lo, hi uint64) error {
	b.mu.RLock()
	err := b.db.DeleteRange(lo, hi)
	b.mu.RUnlock()
	if err != nil {
		return err
	}
	if size, free := b.size(); worthCompacting(size, free) && size-free <= compactLive {
		return b.compact()
	}
	return nil
}

// Set implements Backend.
func (b *boltBackend) Set(key, value []byte) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.db.Set(key, value)
}

// Get implements Backend.
func (b *boltBackend) Get(key []byte) ([]byte, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.db.Get(key)
}

// Close implements Backend.
func (b *boltBackend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.db.Close()
}

// Stats returns bbolt's figures.
func (b *boltBackend) Stats() bbolt.Stats {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.db.Stats()
}

// size returns how many bytes the file has and how many of them are free.
func (b *boltBackend) size() (size, free int64) {
	info, err := os.Stat(b.path)
	if err != nil {
		return 0, 0 // no reason to do anything
	}
	st := b.Stats()
	return info.Size(), int64(st.FreePageN+st.PendingPageN) * int64(os.Getpagesize())
}

// compact replaces the file by one without free pages, if there is room for
// both. Where that fails with the old one in place, all goes on with it.
func (b *boltBackend) compact() error {
	size, used := b.size()
	if free, _, err := FreeSpace(b.path); err != nil || free < 2*uint64(size-used)+compactFree {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.db.Close(); err != nil {
		return err
	}
	failed := compact(b.path)
	db, err := openBolt(b.path)
	if err != nil {
		return err
	}
	b.db = db
	if renamed := (*renameError)(nil); errors.As(failed, &renamed) {
		return failed
	}
	return nil
}
