package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// identityFile is the name of the identity in the data directory.
const identityFile = "identity.json"

// Phase is how far a node's membership has come.
type Phase string

// The phases of a node. Only a Member and a Joining node may have raft data that counts.
const (
	New     Phase = "new"     // made, in no cluster yet
	Joining Phase = "joining" // a cluster was asked to take it
	Member  Phase = "member"  // was seen in the cluster's configuration
	Left    Phase = "left"    // left by its own wish
	Removed Phase = "removed" // was removed by others
)

func (p Phase) valid() bool {
	switch p {
	case New, Joining, Member, Left, Removed:
		return true
	}
	return false
}

// Identity says who a node is. It lives in identity.json of the data
// directory, apart from the log, so that either can testify against the other.
type Identity struct {
	// ClusterID is the cluster's UUID, "" before there is one.
	ClusterID string `json:"cluster_id"`
	// NodeID is the node's name for life.
	NodeID string `json:"node_id"`
	// Incarnation is never used twice: a node that enters anew gets another.
	Incarnation string `json:"incarnation"`
	// State is how far its membership has come.
	State Phase `json:"state"`
	// PromisedTo names the cluster or bootstrap round that a node promised to enter, "" for none.
	PromisedTo string `json:"promised_to,omitempty"`
	// VoteTerm is a term that this node voted in, at most the last one, 0 for none. See Config.OnVote.
	VoteTerm uint64 `json:"vote_term,omitempty"`
	// CommitIndex is an index known to be committed: log or snapshot must reach it. 0 for none.
	CommitIndex uint64 `json:"commit_index,omitempty"`
	// Checksum is filled in by WriteIdentity.
	Checksum string `json:"checksum"`
}

func (id *Identity) sum() *string { return &id.Checksum }

func (id Identity) owner() string {
	return id.ClusterID + "/" + id.NodeID + "/" + id.Incarnation
}

// ReadIdentity reads identity.json of dir. Where there is none the error is
// fs.ErrNotExist; a damaged one is a *CorruptError.
func ReadIdentity(dir string) (Identity, error) {
	path := filepath.Join(dir, identityFile)
	b, err := readSmall(path)
	if err != nil {
		return Identity{}, err
	}
	var id Identity
	if err := decodeSealed(b, &id); err != nil {
		return Identity{}, &CorruptError{File: path, Err: err}
	}
	if err := id.check(); err != nil {
		return Identity{}, &CorruptError{File: path, Err: err}
	}
	return id, nil
}

// WriteIdentity replaces identity.json of dir, atomically and synced.
func WriteIdentity(dir string, id Identity) error {
	if err := id.check(); err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	b, err := encodeSealed(&id)
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(dir, identityFile), b)
}

func (id Identity) check() error {
	switch {
	case id.NodeID == "":
		return errors.New("no node id")
	case id.Incarnation == "":
		return errors.New("no incarnation")
	case !id.State.valid():
		return fmt.Errorf("unknown state %q", id.State)
	case id.State == Member && id.ClusterID == "":
		return errors.New("member of no cluster")
	}
	return nil
}

// History is what the log and the snapshots know of their past.
type History struct {
	// Last is the last index of the log, 0 for an empty one.
	Last uint64
	// Snapshot is the index of the newest readable snapshot, 0 for none.
	Snapshot uint64
	// VoteTerm is the last term that the stable store knows a vote of.
	VoteTerm uint64
	// Owner is what SetOwner wrote, "" for nothing.
	Owner string
}

// ForeignDataError says that identity, log and snapshots in a data directory
// do not belong together. A node that started on them could vote twice or
// forget what it acknowledged.
type ForeignDataError struct {
	// Node is the id of the node, "" when the identity is missing.
	Node string
	// Dir is the data directory.
	Dir string
	// Reason says what does not fit.
	Reason string
}

func (e *ForeignDataError) Error() string {
	if e.Node == "" {
		return fmt.Sprintf("data directory %s: %s; put the missing file back, or start with an empty directory and --join", e.Dir, e.Reason)
	}
	return fmt.Sprintf("node %q, data directory %s: %s; run `floe remove %s --force` on the other nodes, then start it with an empty directory and --join",
		e.Node, e.Dir, e.Reason, e.Node)
}

// CheckHistory decides whether a node may start as id with the data in dir
// and returns a *ForeignDataError where it may not: an emptied, older, half
// copied or foreign directory. identityErr is what ReadIdentity returned.
func CheckHistory(dir string, id Identity, identityErr error, h History) error {
	if errors.Is(identityErr, fs.ErrNotExist) {
		if h == (History{}) {
			return nil
		}
		return &ForeignDataError{Dir: dir, Reason: "there is raft data but no " + identityFile}
	}
	if identityErr != nil {
		return identityErr
	}
	if reason := id.mismatch(h); reason != "" {
		return &ForeignDataError{Node: id.NodeID, Dir: dir, Reason: reason}
	}
	return nil
}

// mismatch says in words why id and h do not fit, "" where they do.
func (id Identity) mismatch(h History) string {
	reach := max(h.Last, h.Snapshot)
	switch {
	case h.Owner != "" && h.Owner != id.owner():
		return fmt.Sprintf("the raft data belongs to %s, the identity is %s", h.Owner, id.owner())
	case id.State == Member && reach == 0:
		return "it is a member of a cluster, but its raft log and snapshots are empty"
	case reach < id.CommitIndex:
		return fmt.Sprintf("its raft log and snapshots end at index %d, but index %d was committed", reach, id.CommitIndex)
	case h.VoteTerm < id.VoteTerm:
		return fmt.Sprintf("its raft data knows of no vote after term %d, but it voted in term %d", h.VoteTerm, id.VoteTerm)
	}
	return ""
}
