package logstore

import (
	"os"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// OpenBoltReadOnly is [OpenBolt] for who only looks: nothing in the file is
// changed, and writing fails. The file has to be there.
func OpenBoltReadOnly(path string) (Backend, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	if err := inspect(path); err != nil {
		return nil, err
	}
	var (
		file *os.File
		db   *raftboltdb.BoltStore
	)
	err := protect(func() (err error) {
		opts := boltOptions()
		opts.ReadOnly, opts.OpenFile, opts.PreLoadFreelist = true, keepFile(&file), true
		db, err = raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: opts, MsgpackUseNewTimeFormat: true})
		return err
	})
	if err != nil {
		return nil, openError(path, file, err)
	}
	return db, nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error { return syncDir(dir) }
