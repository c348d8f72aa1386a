package logstore

import (
	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// Backend is the database below a Store. It is the seam for tests: package
// faulty wraps one to inject errors, delays and hangs, and has one in memory
// that can forget what was never synced.
//
// A call that returns nil has made its change durable and atomic. GetLog
// answers raft.ErrLogNotFound, Get answers raftboltdb.ErrKeyNotFound for what
// is not there. Slices handed out belong to the caller.
type Backend interface {
	raft.LogStore
	// Set stores a value under key.
	Set(key, value []byte) error
	// Get returns the value under key.
	Get(key []byte) ([]byte, error)
	// Close releases the database.
	Close() error
}

// statsBackend is a Backend with bbolt's figures.
type statsBackend interface{ Stats() bbolt.Stats }
