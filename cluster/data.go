package cluster

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/fsm"
)

// disk is the open half of a data directory: log, stable values, snapshots.
type disk struct {
	health *logstore.Health
	store  *logstore.Store
	snaps  *logstore.Snapshots
}

func (n *Node) openDisk() (*disk, error) {
	health := logstore.NewHealth(nil)
	snaps, err := logstore.OpenSnapshots(n.cfg.DataDir, n.log.Named("snapshots"), health)
	if err != nil {
		return nil, err
	}
	store, err := logstore.Open(n.cfg.DataDir, logstore.Config{
		Logger: n.log.Named("logstore"), Health: health, Backend: n.cfg.Backend, OnVote: n.voted,
	})
	if err != nil {
		return nil, err
	}
	snaps.CheckRoom(n.space.roomNow)
	return &disk{health: health, store: store, snaps: snaps}, nil
}

// voted keeps the term of a vote in the identity, so that an emptied log
// can't make the node vote twice.
func (n *Node) voted(term uint64) error {
	return n.updateIdentity(func(id *logstore.Identity) { id.VoteTerm = term })
}

// readIdentity reads or makes the identity and checks it against the log.
func (n *Node) readIdentity() error {
	stored, readErr := logstore.ReadIdentity(n.cfg.DataDir)
	history, err := n.disk.store.History(n.disk.snaps.Newest())
	if err != nil {
		return err
	}
	if err := logstore.CheckHistory(n.cfg.DataDir, stored, readErr, history); err != nil {
		return err
	}
	if errors.Is(readErr, fs.ErrNotExist) {
		return n.makeIdentity()
	}
	if n.cfg.ID != "" && n.cfg.ID != stored.NodeID {
		return n.rename(stored, history)
	}
	n.identity.Store(&stored)
	return nil
}

// rename gives a node that no cluster ever heard of the id it is started
// with, so that one who was refused for its id can take another. The id of
// any other node is for life.
func (n *Node) rename(stored logstore.Identity, history logstore.History) error {
	if stored.State != logstore.New || stored.PromisedTo != "" || history != (logstore.History{}) {
		return &WrongID{Given: n.cfg.ID, Stored: stored.NodeID, Dir: n.cfg.DataDir}
	}
	return n.makeIdentity()
}

func (n *Node) makeIdentity() error {
	id := n.cfg.ID
	if id == "" {
		id = "node-" + randomHex(4)
	}
	made := logstore.Identity{NodeID: id, Incarnation: "0", State: logstore.New}
	n.identity.Store(&made)
	return logstore.WriteIdentity(n.cfg.DataDir, made)
}

// updateIdentity changes the identity in memory and on disk.
func (n *Node) updateIdentity(change func(*logstore.Identity)) error {
	n.identityMu.Lock()
	defer n.identityMu.Unlock()
	before := n.Identity()
	next := before
	change(&next)
	if next == before {
		return nil
	}
	if err := logstore.WriteIdentity(n.cfg.DataDir, next); err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	n.identity.Store(&next)
	return nil
}

// Identity returns who the node is, as its data directory says. It never
// waits for the disk.
func (n *Node) Identity() logstore.Identity { return *n.identity.Load() }

func incarnationOf(id logstore.Identity) uint64 {
	v, _ := strconv.ParseUint(id.Incarnation, 10, 64) // made by this package
	return v
}

// restore brings the state to what was known to be committed when the node
// stopped, so that it serves before it has a leader, or without one.
func (n *Node) restore() error {
	list, err := n.disk.snaps.List()
	if err != nil {
		return err
	}
	snapshot := uint64(0)
	if len(list) > 0 {
		_, from, err := n.disk.snaps.Open(list[0].ID)
		if err != nil {
			return err
		}
		if err := n.state.Restore(from); err != nil {
			return fmt.Errorf("snapshot %s: %w", list[0].ID, err)
		}
		snapshot = list[0].Index
	}
	if err := n.disk.store.CheckContinuity(snapshot); err != nil {
		return err
	}
	return n.replay(snapshot)
}

// replayBatch is how many entries are applied for one View.
const replayBatch = 512

// replay applies the entries from after the snapshot up to the commit index
// on disk, or the one in the identity, which a clean stop notes. It stands in
// for raft's own replay; see DESIGN.md of logstore.
func (n *Node) replay(snapshot uint64) error {
	commit, err := n.disk.store.GetCommitIndex()
	if err != nil {
		return err
	}
	commit = max(commit, n.Identity().CommitIndex)
	return replayInto(n.state, n.disk.store, snapshot+1, commit)
}

// replayInto applies the entries from one index to another, both included.
func replayInto(state *fsm.State, store *logstore.Store, from, to uint64) error {
	var batch []*raft.Log
	for i := from; i <= to; i++ {
		l := new(raft.Log)
		if err := store.GetLog(i, l); err != nil {
			return fmt.Errorf("replay entry %d: %w", i, err)
		}
		if l.Index > state.View().Index && (l.Type == raft.LogCommand || l.Type == raft.LogConfiguration) {
			batch = append(batch, l)
		}
		if len(batch) == replayBatch || i == to && len(batch) > 0 {
			state.ApplyBatch(batch)
			batch = batch[:0:0]
		}
	}
	return nil
}

// wipe forgets all Raft data, for a node that enters a cluster anew. No raft
// half may be running. The identity must be one that needs no data.
func (n *Node) wipe() error {
	if err := n.disk.store.Close(); err != nil {
		return err
	}
	for _, name := range []string{filepath.Base(n.disk.store.Path()), "snapshots"} {
		if err := os.RemoveAll(filepath.Join(n.cfg.DataDir, name)); err != nil {
			return err
		}
	}
	d, err := n.openDisk()
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.disk = d
	n.mu.Unlock()
	n.state.Reset()
	n.marks.reset()
	n.vouched.Store(false)
	return nil
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// newUUID returns a random (version 4) UUID.
func newUUID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func newRequestID() fsm.RequestID {
	var id fsm.RequestID
	rand.Read(id[:]) // never fails
	return id
}
