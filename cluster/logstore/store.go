package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// logFile is the name of the database in the data directory.
const logFile = "raft.db"

// Config is what Open takes. The zero value is fit for use.
type Config struct {
	// Logger gets a line when the storage goes out of service; nil means silence.
	Logger hclog.Logger
	// Health is shared with Snapshots; nil makes one of the store's own.
	Health *Health
	// Backend opens the database at path; nil means OpenBolt. Tests put faults here.
	Backend func(path string) (Backend, error)
	// OnVote is called after raft's vote of a term is durable and before raft sends
	// it: the place to write Identity.VoteTerm. An error ends the storage. nil: none.
	OnVote func(term uint64) error
}

// Store is raft's log and stable store with checksums, a commit index and an
// end of service at the first error. Safe for concurrent use. Hand raft the
// value of ForRaft, not the Store.
type Store struct {
	path   string
	log    hclog.Logger
	health *Health
	db     Backend
	onVote func(term uint64) error
	commit atomic.Uint64 // staged, to ride with the next append
}

var (
	_ raft.CommitTrackingLogStore = (*Store)(nil)
	_ raft.StableStore            = (*Store)(nil)
)

// Open opens or makes raft.db in dir, which must exist, and reads all of it:
// structure, entries and values. What is damaged is a *CorruptError.
func Open(dir string, cfg Config) (*Store, error) {
	s := &Store{path: filepath.Join(dir, logFile), log: cfg.Logger, health: cfg.Health, onVote: cfg.OnVote}
	if s.log == nil {
		s.log = hclog.NewNullLogger()
	}
	if s.health == nil {
		s.health = NewHealth(nil)
	}
	open := cfg.Backend
	if open == nil {
		open = OpenBolt
	}
	db, err := open(s.path)
	if err != nil {
		return nil, err
	}
	s.db = db
	if err := s.Verify(); err != nil {
		return nil, errors.Join(cause(err), s.Close())
	}
	return s, syncDir(dir)
}

// cause takes a *FailedError off: at the opening, storage was never in service.
func cause(err error) error {
	if f := (*FailedError)(nil); errors.As(err, &f) {
		return f.Err
	}
	return err
}

// Close releases the database. After a failure that was a panic of the
// database nothing is released, since its locks may be held; the process has to end.
func (s *Store) Close() error {
	if p := (*panicError)(nil); errors.As(s.health.Err(), &p) {
		return nil
	}
	return s.db.Close()
}

// Path returns the path of the database.
func (s *Store) Path() string { return s.path }

// Health returns the state of the storage.
func (s *Store) Health() *Health { return s.health }

// do runs one operation on the database and logs the one that ends its service.
func (s *Store) do(op string, fn func() error) error {
	was := s.health.Err()
	err := s.health.do(op, func() error {
		err := protect(fn)
		if p := (*panicError)(nil); errors.As(err, &p) {
			return &CorruptError{File: s.path, Err: err}
		}
		return err
	})
	if was == nil && err != nil && !benign(err) {
		s.log.Error("storage out of service", "op", op, "file", s.path, "error", cause(err))
	}
	return err
}

// FirstIndex returns the first index of the log, 0 when it is empty.
func (s *Store) FirstIndex() (index uint64, err error) {
	err = s.do("first index", func() error { index, err = s.db.FirstIndex(); return err })
	return index, err
}

// LastIndex returns the last index of the log, 0 when it is empty.
func (s *Store) LastIndex() (index uint64, err error) {
	err = s.do("last index", func() error { index, err = s.db.LastIndex(); return err })
	return index, err
}

// GetLog reads and verifies the entry at index. raft.ErrLogNotFound says that there is none.
func (s *Store) GetLog(index uint64, l *raft.Log) error {
	_, err := s.read(index, l)
	return err
}

func (s *Store) read(index uint64, l *raft.Log) (commit uint64, err error) {
	err = s.do("read log entry", func() error {
		var entry raft.Log // fresh: the decoder would write into slices that l already has
		if err := s.db.GetLog(index, &entry); errors.Is(err, raft.ErrLogNotFound) {
			return err
		} else if err != nil {
			return &CorruptError{File: s.path, Index: index, Err: err}
		}
		if commit, err = unsealLog(&entry, index); err != nil {
			return &CorruptError{File: s.path, Index: index, Err: err}
		}
		*l = entry
		return nil
	})
	return commit, err
}

// StoreLog appends one entry.
func (s *Store) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs appends the entries and the staged commit index in one synced
// transaction. The entries of the caller are not changed.
func (s *Store) StoreLogs(logs []*raft.Log) error {
	return s.do("append", func() error {
		return s.wrap(s.db.StoreLogs(sealLogs(logs, s.commit.Load())))
	})
}

// Replace puts other data into the entry at index; all else in it stays. It
// is for recovery by hand: no raft may be running.
func (s *Store) Replace(index uint64, data []byte) error {
	var l raft.Log
	commit, err := s.read(index, &l)
	if err != nil {
		return err
	}
	l.Data = data
	return s.do("replace", func() error { return s.wrap(s.db.StoreLogs(sealLogs([]*raft.Log{&l}, commit))) })
}

// DeleteRange deletes the entries from lo to hi, both included.
func (s *Store) DeleteRange(lo, hi uint64) error {
	return s.do("delete log entries", func() error { return s.wrap(s.db.DeleteRange(lo, hi)) })
}

// StageCommitIndex has index written with the next append. A lower one than
// staged before changes nothing: what was committed stays so.
func (s *Store) StageCommitIndex(index uint64) error {
	for {
		old := s.commit.Load()
		if index <= old || s.commit.CompareAndSwap(old, index) {
			return s.health.Err()
		}
	}
}

// GetCommitIndex returns the commit index written with the last entry, at most
// that entry's own index; 0 for an empty log.
func (s *Store) GetCommitIndex() (uint64, error) {
	last, err := s.LastIndex()
	if err != nil || last == 0 {
		return 0, err
	}
	var l raft.Log
	commit, err := s.read(last, &l)
	return min(commit, last), err
}

// Set stores value under key, synced.
func (s *Store) Set(key, value []byte) error {
	return s.do("store value", func() error { return s.wrap(s.db.Set(key, sealValue(key, value))) })
}

// Get reads and verifies the value under key. Where there is none the error is
// raftboltdb.ErrKeyNotFound itself, since raft compares its text.
func (s *Store) Get(key []byte) (value []byte, err error) {
	err = s.do("read value", func() error {
		sealed, err := s.db.Get(key)
		if err != nil {
			return err
		}
		if value, err = unsealValue(key, sealed); err != nil {
			return &CorruptError{File: s.path, Key: string(key), Err: err}
		}
		return nil
	})
	return value, err
}

// SetUint64 is Set for a number.
func (s *Store) SetUint64(key []byte, value uint64) error {
	if voteForgotten {
		return nil
	}
	if err := s.Set(key, binary.BigEndian.AppendUint64(nil, value)); err != nil {
		return err
	}
	if s.onVote == nil || string(key) != string(keyVoteTerm) {
		return nil
	}
	return s.do("record vote", func() error { return s.onVote(value) })
}

// GetUint64 is Get for a number.
func (s *Store) GetUint64(key []byte) (uint64, error) {
	b, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(b) != 8 {
		err := &CorruptError{File: s.path, Key: string(key), Err: fmt.Errorf("%d bytes where 8 belong", len(b))}
		return 0, s.health.Fail("read value", err)
	}
	return binary.BigEndian.Uint64(b), nil
}

// wrap names the file in an error of the database.
func (s *Store) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.path, err)
}

// Sizes are figures of the database for metrics.
type Sizes struct {
	// FileBytes is the length of the file; holes count.
	FileBytes int64
	// FreePages and PendingPages are pages that can be used again, at once or after open reads end.
	FreePages, PendingPages int
	// FreeBytes is the size of the free pages.
	FreeBytes int64
	// Writes counts writes to the file, WriteTime is how long they and the
	// flushes to the disk took in all. Both begin at 0 when the file is opened or
	// replaced by a smaller one.
	Writes    uint64
	WriteTime time.Duration
	// OpenReads are the reads of the file that are under way.
	OpenReads int
}

// Sizes returns the figures as they are now.
func (s *Store) Sizes() (Sizes, error) {
	var z Sizes
	info, err := os.Stat(s.path)
	if err != nil {
		return z, err
	}
	z.FileBytes = info.Size()
	if b, ok := s.db.(statsBackend); ok {
		st := b.Stats()
		z.FreePages, z.PendingPages, z.FreeBytes = st.FreePageN, st.PendingPageN, int64(st.FreeAlloc)
		z.Writes, z.WriteTime, z.OpenReads = uint64(st.TxStats.GetWrite()), st.TxStats.GetWriteTime(), st.OpenTxN
	}
	return z, nil
}
