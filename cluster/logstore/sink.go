package logstore

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// sink writes one snapshot into a directory that gets its final name last.
type sink struct {
	store  *Snapshots
	meta   *snapshotMeta
	tmp    string
	file   *os.File
	buf    *bufio.Writer
	hash   hash.Hash
	closed bool
	// unchecked counts bytes since the last look for room.
	unchecked int
}

// Create starts a snapshot. Any error in writing it ends the storage's service; Cancel does not.
func (s *Snapshots) Create(version raft.SnapshotVersion, index, term uint64, conf raft.Configuration,
	confIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	if version != 1 {
		return nil, fmt.Errorf("snapshot version %d is not supported", version)
	}
	if err := s.checkRoom(); err != nil {
		return nil, err
	}
	k := &sink{store: s, hash: sha256.New()}
	err := s.health.do("create snapshot", func() (err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		id := s.newID(term, index)
		k.meta = &snapshotMeta{SnapshotMeta: raft.SnapshotMeta{Version: version, ID: id, Index: index, Term: term,
			Configuration: conf, ConfigurationIndex: confIndex}}
		k.tmp = filepath.Join(s.dir, id+tmpSuffix)
		if err := os.Mkdir(k.tmp, 0o700); err != nil {
			return err
		}
		k.file, err = os.OpenFile(filepath.Join(k.tmp, stateFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return nil, err
	}
	k.buf = bufio.NewWriterSize(k.file, 64<<10)
	return k, nil
}

// ID returns the id to open the snapshot by.
func (k *sink) ID() string { return k.meta.ID }

// Write adds to the state.
func (k *sink) Write(b []byte) (n int, err error) {
	if k.unchecked += len(b); k.unchecked > 1<<20 {
		k.unchecked = 0
		if err := k.store.checkRoom(); err != nil {
			return 0, err
		}
	}
	err = k.store.health.do("write snapshot", func() error {
		n, err = k.buf.Write(b)
		k.hash.Write(b[:n])
		k.meta.Size += int64(n)
		return err
	})
	return n, err
}

// Close makes the snapshot durable and gives it its name.
func (k *sink) Close() error {
	if k.closed {
		return nil
	}
	k.closed = true
	err := k.store.health.do("finish snapshot", k.finish)
	if err != nil {
		return errors.Join(err, k.discard())
	}
	return nil
}

func (k *sink) finish() error {
	if err := k.buf.Flush(); err != nil {
		return err
	}
	if err := k.file.Sync(); err != nil {
		return err
	}
	if err := k.file.Close(); err != nil {
		return err
	}
	k.meta.SHA256 = hex.EncodeToString(k.hash.Sum(nil))
	b, err := encodeSealed(k.meta)
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(k.tmp, metaFile), b); err != nil {
		return err
	}
	if err := syncDir(k.tmp); err != nil {
		return err
	}
	if err := os.Rename(k.tmp, filepath.Join(k.store.dir, k.meta.ID)); err != nil {
		return err
	}
	if err := syncDir(k.store.dir); err != nil {
		return err
	}
	return k.store.keep(k.meta)
}

// Cancel throws the snapshot away.
func (k *sink) Cancel() error {
	if k.closed {
		return nil
	}
	k.closed = true
	return k.discard()
}

func (k *sink) discard() error {
	k.file.Close() // at times for the second time
	return os.RemoveAll(k.tmp)
}
