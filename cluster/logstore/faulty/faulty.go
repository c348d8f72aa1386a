// Package faulty holds databases for tests that fail on purpose: [Backend]
// injects errors, delays and hangs around a real one, [Mem] lives in memory
// and can forget what was never synced. Both are logstore.Backends and go into
// logstore.Config.Backend.
package faulty

import (
	"maps"
	"slices"
	"sync"

	"floe/cluster/logstore"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// The operations that a Hook is asked about.
const (
	FirstIndex  = "FirstIndex"
	LastIndex   = "LastIndex"
	GetLog      = "GetLog"
	StoreLogs   = "StoreLogs"
	DeleteRange = "DeleteRange"
	Set         = "Set"
	Get         = "Get"
)

// Hook is called before each operation and decides its fate: nil lets it run,
// an error is its result, and as long as the hook does not return, it hangs.
// It may be called concurrently.
type Hook func(op string) error

// Backend runs a hook before each operation of another one.
type Backend struct {
	inner logstore.Backend
	hook  Hook
}

var _ logstore.Backend = (*Backend)(nil)

// Wrap returns a function for logstore.Config.Backend that opens the database with open and puts hook before it.
func Wrap(open func(path string) (logstore.Backend, error), hook Hook) func(string) (logstore.Backend, error) {
	return func(path string) (logstore.Backend, error) {
		b, err := open(path)
		if err != nil {
			return nil, err
		}
		return &Backend{inner: b, hook: hook}, nil
	}
}

// FirstIndex implements logstore.Backend.
func (b *Backend) FirstIndex() (uint64, error) {
	if err := b.hook(FirstIndex); err != nil {
		return 0, err
	}
	return b.inner.FirstIndex()
}

// LastIndex implements logstore.Backend.
func (b *Backend) LastIndex() (uint64, error) {
	if err := b.hook(LastIndex); err != nil {
		return 0, err
	}
	return b.inner.LastIndex()
}

// GetLog implements logstore.Backend.
func (b *Backend) GetLog(index uint64, l *raft.Log) error {
	if err := b.hook(GetLog); err != nil {
		return err
	}
	return b.inner.GetLog(index, l)
}

// StoreLog implements logstore.Backend.
func (b *Backend) StoreLog(l *raft.Log) error { return b.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements logstore.Backend.
func (b *Backend) StoreLogs(logs []*raft.Log) error {
	if err := b.hook(StoreLogs); err != nil {
		return err
	}
	return b.inner.StoreLogs(logs)
}

// DeleteRange implements logstore.Backend.
func (b *Backend) DeleteRange(lo, hi uint64) error {
	if err := b.hook(DeleteRange); err != nil {
		return err
	}
	return b.inner.DeleteRange(lo, hi)
}

// Set implements logstore.Backend.
func (b *Backend) Set(key, value []byte) error {
	if err := b.hook(Set); err != nil {
		return err
	}
	return b.inner.Set(key, value)
}

// Get implements logstore.Backend.
func (b *Backend) Get(key []byte) ([]byte, error) {
	if err := b.hook(Get); err != nil {
		return nil, err
	}
	return b.inner.Get(key)
}

// Close implements logstore.Backend. No hook: tests must be able to end.
func (b *Backend) Close() error { return b.inner.Close() }

// Mem is a database in memory. It outlives Close, so that a restarted node can
// be given the same one. Safe for concurrent use; make it with NewMem.
type Mem struct {
	mu     sync.Mutex
	now    contents  // what reads see
	synced *contents // what a crash leaves, nil while that is the same
}

type contents struct {
	logs   map[uint64]raft.Log
	values map[string][]byte
}

var _ logstore.Backend = (*Mem)(nil)

// NewMem returns an empty database.
func NewMem() *Mem {
	return &Mem{now: contents{logs: map[uint64]raft.Log{}, values: map[string][]byte{}}}
}

// Open has the shape of logstore.Config.Backend.
func (m *Mem) Open(string) (logstore.Backend, error) { return m, nil }

// DropSyncs has all writes from now on acknowledged without being durable, as
// by a disk that lies, until Sync or Crash.
func (m *Mem) DropSyncs() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.synced == nil {
		m.synced = &contents{logs: maps.Clone(m.now.logs), values: maps.Clone(m.now.values)}
	}
}

// Sync makes all writes so far durable, and those to come.
func (m *Mem) Sync() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.synced = nil
}

// Crash loses what is not durable; writes to come are durable again.
func (m *Mem) Crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.synced != nil {
		m.now, m.synced = *m.synced, nil
	}
}

// FirstIndex implements logstore.Backend.
func (m *Mem) FirstIndex() (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.now.logs) == 0 {
		return 0, nil
	}
	return slices.Min(slices.Collect(maps.Keys(m.now.logs))), nil
}

// LastIndex implements logstore.Backend.
func (m *Mem) LastIndex() (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.now.logs) == 0 {
		return 0, nil
	}
	return slices.Max(slices.Collect(maps.Keys(m.now.logs))), nil
}

// GetLog implements logstore.Backend.
func (m *Mem) GetLog(index uint64, l *raft.Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.now.logs[index]
	if !ok {
		return raft.ErrLogNotFound
	}
	*l = found
	return nil
}

// StoreLog implements logstore.Backend.
func (m *Mem) StoreLog(l *raft.Log) error { return m.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements logstore.Backend.
func (m *Mem) StoreLogs(logs []*raft.Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range logs {
		m.now.logs[l.Index] = *l
	}
	return nil
}

// DeleteRange implements logstore.Backend.
func (m *Mem) DeleteRange(lo, hi uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.now.logs, func(i uint64, _ raft.Log) bool { return lo <= i && i <= hi })
	return nil
}

// Set implements logstore.Backend.
func (m *Mem) Set(key, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.values[string(key)] = slices.Clone(value)
	return nil
}

// Get implements logstore.Backend.
func (m *Mem) Get(key []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.now.values[string(key)]
	if !ok {
		return nil, raftboltdb.ErrKeyNotFound
	}
	return slices.Clone(v), nil
}

// Close implements logstore.Backend and keeps the contents.
func (m *Mem) Close() error { return nil }
