package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/fsm"
)

// Skipped says what Skip did.
type Skipped struct {
	// Node is the node the data directory belongs to.
	Node string
	// Index is the entry.
	Index uint64
	// Copy is the file that holds what the entry said, "" where it was
	// skipped already.
	Copy string
}

// Skip has a node that does not run pass over one log entry, for good: the way
// out where an entry can't be applied and every node stops before it. What the
// entry said is replaced in the log by a change that changes nothing, so that
// nodes that enter later get that, too, and kept in a file beside it. It has
// to be done on every node of the cluster before any of them starts, or their
// states differ.
//
// Errors: *logstore.LockedError where the node runs, those of [Open], and in
// words where the entry is not there or may not be skipped. Nothing is changed
// then.
func Skip(dataDir string, index uint64) (Skipped, error) {
	s := Skipped{Index: index}
	id, err := logstore.ReadIdentity(dataDir)
	if err != nil {
		return s, fmt.Errorf("data directory %s: %w", dataDir, err)
	}
	s.Node = id.NodeID
	lock, err := logstore.Lock(dataDir)
	if err != nil {
		return s, err
	}
	s.Copy, err = skip(dataDir, id.NodeID, index)
	return s, errors.Join(err, lock.Release())
}

func skip(dir, node string, index uint64) (copied string, err error) {
	health := logstore.NewHealth(nil)
	snaps, err := logstore.OpenSnapshots(dir, nil, health)
	if err != nil {
		return "", err
	}
	store, err := logstore.Open(dir, logstore.Config{Health: health})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	entry, err := skippable(store, snaps.Newest(), node, index)
	if err != nil {
		return "", err
	}
	nothing, err := emptyCommand(index)
	if err != nil || string(nothing) == string(entry.Data) {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("skipped-%d", index))
	if err := os.WriteFile(path, entry.Data, 0o600); err != nil {
		return "", err
	}
	return path, store.Replace(index, nothing)
}

// skippable returns the entry, or says why it can't be skipped.
func skippable(store *logstore.Store, snapshot uint64, node string, index uint64) (*raft.Log, error) {
	last, err := store.LastIndex()
	if err != nil {
		return nil, err
	}
	switch {
	case index > last:
		return nil, fmt.Errorf("node %q has no entry %d: its log ends at %d; nothing was changed", node, index, last)
	case index <= snapshot:
		return nil, fmt.Errorf("entry %d is in the snapshot at %d of node %q already: it was applied there; nothing was changed", index, snapshot, node)
	}
	entry := new(raft.Log)
	if err := store.GetLog(index, entry); err != nil {
		return nil, err
	}
	if entry.Type != raft.LogCommand {
		return nil, fmt.Errorf("entry %d of node %q is one of Raft's own (%v) and can't be skipped; nothing was changed", index, node, entry.Type)
	}
	return entry, nil
}

// emptyCommand is what stands in the place of a skipped entry: the same bytes
// on every node.
func emptyCommand(index uint64) ([]byte, error) {
	c := fsm.Command{Base: index, From: "floe recover --skip", Op: fsm.Barrier{}}
	copy(c.Request[:], "skip")
	binary.BigEndian.PutUint64(c.Request[8:], index)
	return c.Encode()
}
