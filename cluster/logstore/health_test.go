package logstore_test

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"floe/cluster/logstore"
	"floe/cluster/logstore/faulty"

	"github.com/hashicorp/raft"
)

var errIO = errors.New("input/output error")

// failing opens a store whose operation op fails once fail is set, and counts all operations.
func failing(t *testing.T, op string) (s *logstore.Store, fail *atomic.Bool, ops, calls *atomic.Int32) {
	t.Helper()
	fail, ops, calls = new(atomic.Bool), new(atomic.Int32), new(atomic.Int32)
	hook := func(o string) error {
		ops.Add(1)
		if fail.Load() && o == op {
			return errIO
		}
		return nil
	}
	h := logstore.NewHealth(func(*logstore.FailedError) { calls.Add(1) })
	s, err := logstore.Open(t.TempDir(), logstore.Config{Health: h, Backend: faulty.Wrap(logstore.OpenBolt, hook)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.StoreLog(&raft.Log{Index: 1, Term: 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetUint64([]byte("k"), 1); err != nil {
		t.Fatal(err)
	}
	return s, fail, ops, calls
}

// TestFirstErrorIsFinal makes each operation fail once and then tries all: none reaches the database again.
func TestFirstErrorIsFinal(t *testing.T) {
	do := map[string]func(*logstore.Store) error{
		faulty.FirstIndex:  func(s *logstore.Store) error { _, err := s.FirstIndex(); return err },
		faulty.LastIndex:   func(s *logstore.Store) error { _, err := s.LastIndex(); return err },
		faulty.GetLog:      func(s *logstore.Store) error { return s.GetLog(1, new(raft.Log)) },
		faulty.StoreLogs:   func(s *logstore.Store) error { return s.StoreLog(&raft.Log{Index: 2, Term: 1}) },
		faulty.DeleteRange: func(s *logstore.Store) error { return s.DeleteRange(1, 1) },
		faulty.Set:         func(s *logstore.Store) error { return s.SetUint64([]byte("k"), 2) },
		faulty.Get:         func(s *logstore.Store) error { _, err := s.GetUint64([]byte("k")); return err },
	}
	for op, first := range do {
		t.Run(op, func(t *testing.T) {
			s, fail, ops, calls := failing(t, op)
			fail.Store(true)
			if err := first(s); !errors.Is(err, errIO) {
				t.Fatalf("got %v, want the error of the disk", err)
			}
			fail.Store(false)
			before := ops.Load()
			for other, again := range do {
				f := (*logstore.FailedError)(nil)
				if err := again(s); !errors.As(err, &f) || !errors.Is(err, errIO) {
					t.Errorf("%s after failure: got %v, want FailedError", other, err)
				}
			}
			if got := ops.Load(); got != before {
				t.Errorf("got %d operations after the failure, want none", got-before)
			}
			if got := calls.Load(); got != 1 {
				t.Errorf("got %d calls of onFailure, want 1", got)
			}
			select {
			case <-s.Health().Done():
			default:
				t.Error("Done is open, want closed")
			}
		})
	}
}

func TestPanicOfDatabaseIsDamage(t *testing.T) {
	var armed atomic.Bool
	hook := func(string) error {
		if armed.Load() {
			panic("page 7 already freed")
		}
		return nil
	}
	s, err := logstore.Open(t.TempDir(), logstore.Config{Backend: faulty.Wrap(faulty.NewMem().Open, hook)})
	if err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	err = s.StoreLog(&raft.Log{Index: 1})
	if c := (*logstore.CorruptError)(nil); !errors.As(err, &c) {
		t.Errorf("got %v, want CorruptError", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestStalledIsTheAgeOfTheOldest(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var armed atomic.Bool
		hook := func(op string) error {
			if armed.Load() && op == faulty.StoreLogs {
				<-release
			}
			return nil
		}
		s, err := logstore.Open(dir, logstore.Config{Backend: faulty.Wrap(faulty.NewMem().Open, hook)})
		if err != nil {
			t.Fatal(err)
		}
		armed.Store(true)
		done := make(chan error)
		go func() { done <- s.StoreLog(&raft.Log{Index: 1}) }()
		synctest.Wait()
		time.Sleep(3 * time.Second) // virtual
		if _, err := s.LastIndex(); err != nil {
			t.Error(err)
		}
		if got := s.Health().Stalled(); got != 3*time.Second {
			t.Errorf("got %v, want 3s", got)
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := s.Health().Stalled(); got != 0 {
			t.Errorf("got %v after the end, want 0", got)
		}
	})
}

func TestMemForgetsWhatWasNotSynced(t *testing.T) {
	mem := faulty.NewMem()
	s, err := logstore.Open(t.TempDir(), logstore.Config{Backend: mem.Open})
	if err != nil {
		t.Fatal(err)
	}
	s.StoreLog(&raft.Log{Index: 1})
	mem.DropSyncs()
	s.StoreLog(&raft.Log{Index: 2})
	mem.Crash()
	if got, err := s.LastIndex(); got != 1 || err != nil {
		t.Errorf("got %d, %v, want 1", got, err)
	}
}

// A full disk is no reason to restart: the node opens its data anew.
func TestFailureInWords(t *testing.T) {
	for want, err := range map[string]error{
		"storage out of service until there is space, after append: write f: no space left on device": &fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC},
		"storage out of service until restart, after append: sync f: input/output error":              &fs.PathError{Op: "sync", Path: "f", Err: syscall.EIO},
	} {
		if got := (&logstore.FailedError{Op: "append", Err: err}).Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
