package logstore

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	// lockWait bounds the wait for bbolt's own file lock; Lock is taken before, so it is free.
	lockWait = time.Second
	// mapSize is address space, not memory: below this size the database grows in
	// steps of 16 MiB, so an append seldom pays the extra fsync of growing.
	mapSize = 128 << 20
)

// OpenBolt checks the database file at path, see inspect, compacts it where
// that is worth while, and opens it. It is the Backend of every real node.
func OpenBolt(path string) (Backend, error) {
	if err := removeIfThere(path + tmpSuffix); err != nil {
		return nil, err
	}
	if err := inspect(path); err != nil {
		return nil, err
	}
	db, err := openBolt(path)
	if err != nil {
		return nil, err
	}
	b := &boltBackend{path: path, db: db}
	if size, free := b.size(); worthCompacting(size, free) {
		err = b.compact()
	}
	return b, err
}

func openBolt(path string) (*raftboltdb.BoltStore, error) {
	var (
		file *os.File
		db   *raftboltdb.BoltStore
	)
	err := protect(func() (err error) {
		opts := boltOptions()
		opts.OpenFile = keepFile(&file)
		db, err = raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: opts, MsgpackUseNewTimeFormat: true})
		return err
	})
	if err != nil {
		return nil, openError(path, file, err)
	}
	return db, nil
}

// boltOptions are the options for writing. The free list is kept on disk: with
// NoFreelistSync bbolt rebuilds it at start on a goroutine of its own, where a
// damaged page would end the process with a bare panic. NoSync is never set.
func boltOptions() *bbolt.Options {
	return &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType, InitialMmapSize: mapSize}
}

// keepFile is os.OpenFile that remembers the file, so that it can be closed after a panic inside bbolt.
func keepFile(file **os.File) func(string, int, os.FileMode) (*os.File, error) {
	return func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
		f, err = os.OpenFile(name, flag, mode)
		*file = f
		return f, err
	}
}

// openError names the path and tells damage from what the system refused. A panic of bbolt leaves the file open.
func openError(path string, file *os.File, err error) error {
	if p := (*panicError)(nil); errors.As(err, &p) {
		if file != nil {
			file.Close()
		}
		return &CorruptError{File: path, Err: err}
	}
	var system syscall.Errno
	if errors.As(err, &system) || errors.Is(err, berrors.ErrTimeout) {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return &CorruptError{File: path, Err: err}
}
