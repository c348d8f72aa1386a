package clustertest

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/cluster/logstore/faulty"
)

// Disk holds a node's log in memory, and loses what was not synced when the
// power goes. A write takes as long as Delay says, of virtual time in a bubble,
// and is durable when it returns, not before. Use its Open as
// cluster.Config.Backend. Safe for concurrent use.
type Disk struct {
	// Delay is asked how long a write takes; it may be called concurrently.
	Delay func() time.Duration
	// Lands is asked when the power goes whether a write under way, which
	// nobody was told of, is there afterwards.
	Lands func() bool

	mu  sync.Mutex
	mem *faulty.Mem
	now *session // of the newest Open
}

var errPower = errors.New("the power is off")

// Open gives the contents left by the power cut or the Close before; a file at
// path that is gone, as after a wipe, takes them along.
func (d *Disk) Open(path string) (logstore.Backend, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := os.Stat(path); err != nil {
		d.mem = faulty.NewMem()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return nil, err
		}
	}
	d.now = &session{Mem: d.mem, disk: d, off: make(chan struct{})}
	return d.now, nil
}

// PowerOff ends all writes under way, and all that are tried before the next
// Open.
func (d *Disk) PowerOff() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now != nil {
		d.now.once.Do(func() { close(d.now.off) })
	}
}

// session is the database from one Open to the next power cut.
type session struct {
	*faulty.Mem
	disk *Disk
	off  chan struct{}
	once sync.Once
}

// write makes a change durable.
func (s *session) write(change func() error) error {
	timer := time.NewTimer(s.disk.Delay())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.off:
	}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	select {
	case <-s.off:
		if s.disk.now == s && s.disk.Lands() { // else somebody has read what is there
			return errors.Join(change(), errPower)
		}
		return errPower
	default:
		return change()
	}
}

// StoreLog implements logstore.Backend.
func (s *session) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements logstore.Backend.
func (s *session) StoreLogs(logs []*raft.Log) error {
	return s.write(func() error { return s.Mem.StoreLogs(logs) })
}

// DeleteRange implements logstore.Backend.
func (s *session) DeleteRange(lo, hi uint64) error {
	return s.write(func() error { return s.Mem.DeleteRange(lo, hi) })
}

// Set implements logstore.Backend.
func (s *session) Set(key, value []byte) error {
	return s.write(func() error { return s.Mem.Set(key, value) })
}

// PowerOff ends the node as a power cut does: it is off the network, writes
// under way are lost, and what it does while it ends is in no file that the next
// Start sees. disk is the one in its Config.
func (n *Node) PowerOff(disk *Disk) {
	n.c.T.Helper()
	n.host.Close()
	disk.PowerOff()
	left := n.c.T.TempDir()
	if err := copyDir(left, n.Config.DataDir); err != nil {
		n.c.T.Fatalf("data of %s: %v", n.Name, err)
	}
	n.Config.DataDir = left
	n.Stop()
}

// copyDir copies files and directories. Those that go meanwhile are left out.
func copyDir(to, from string) error {
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if e.IsDir() {
			err = errors.Join(err, os.MkdirAll(target, 0o700), copyDir(target, source))
			continue
		}
		b, failed := os.ReadFile(source)
		if failed == nil {
			failed = os.WriteFile(target, b, 0o600)
		}
		if !errors.Is(failed, os.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}
