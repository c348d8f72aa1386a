package logstore

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// The names of raft's stable values, raft.go and api.go of hashicorp/raft.
var (
	keyCurrentTerm = []byte("CurrentTerm")
	keyVoteTerm    = []byte("LastVoteTerm")
	keyVoteCand    = []byte("LastVoteCand")
)

// Verify reads every entry and raft's stable values, and returns the first
// damage as a *FailedError around a *CorruptError. Gaps in the log are fine
// here: raft leaves one where a snapshot of the leader jumped over entries.
func (s *Store) Verify() error {
	first, last, err := s.bounds()
	if err != nil {
		return err
	}
	// The last one first: a damaged key must not make us count to 2^63.
	if last > 0 {
		if _, err := s.read(last, new(raft.Log)); err != nil {
			return s.lost(last, err)
		}
	}
	if first > 0 {
		if _, err := s.read(first, new(raft.Log)); err != nil {
			return s.lost(first, err)
		}
	}
	for i := first + 1; i < last; i++ {
		if _, err := s.read(i, new(raft.Log)); err != nil && !benign(err) {
			return err
		}
	}
	return s.verifyValues()
}

// lost turns "not found" for an index that the database itself named into damage.
func (s *Store) lost(index uint64, err error) error {
	if !benign(err) {
		return err
	}
	return s.health.Fail("verify", &CorruptError{File: s.path, Index: index, Err: errors.New("not found by its index")})
}

func (s *Store) verifyValues() error {
	for _, key := range [][]byte{keyCurrentTerm, keyVoteTerm} {
		if _, err := s.GetUint64(key); err != nil && !benign(err) {
			return err
		}
	}
	for _, key := range [][]byte{keyVoteCand, keyOwner} {
		if _, err := s.Get(key); err != nil && !benign(err) {
			return err
		}
	}
	return nil
}

func (s *Store) bounds() (first, last uint64, err error) {
	if first, err = s.FirstIndex(); err != nil {
		return 0, 0, err
	}
	last, err = s.LastIndex()
	return first, last, err
}

// CheckContinuity returns a *GapError where an entry after the snapshot index
// is missing: with an older snapshot in place of a damaged one, or with no
// snapshot at all, the log may not reach back far enough. Call it before raft
// starts: raft panics on such a gap.
func (s *Store) CheckContinuity(snapshot uint64) error {
	_, last, err := s.bounds()
	if err != nil {
		return err
	}
	var l raft.Log
	for i := snapshot + 1; i <= last; i++ {
		err := s.GetLog(i, &l)
		if errors.Is(err, raft.ErrLogNotFound) {
			return &GapError{File: s.path, Snapshot: snapshot, Missing: i, Last: last}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Replay calls apply with each command from after the snapshot index up to the
// persisted commit index, in order, and returns the index reached. A node that
// starts cut off serves this state. It stands in for raft's own replay under
// RestoreCommittedLogs, which forgets the cluster's configuration; see DESIGN.md.
func (s *Store) Replay(snapshot uint64, apply func(*raft.Log) error) (uint64, error) {
	commit, err := s.GetCommitIndex()
	if err != nil {
		return snapshot, err
	}
	for i := snapshot + 1; i <= commit; i++ {
		l := new(raft.Log)
		if err := s.GetLog(i, l); err != nil {
			return i - 1, fmt.Errorf("replay entry %d: %w", i, err)
		}
		if l.Type != raft.LogCommand {
			continue
		}
		if err := apply(l); err != nil {
			return i - 1, fmt.Errorf("replay entry %d: %w", i, err)
		}
	}
	return max(snapshot, commit), nil
}

// keyOwner is the stable value that ties the log to an identity.
var keyOwner = []byte("floe.owner")

// History returns what CheckHistory compares with the identity. snapshot is the index of the newest readable snapshot, 0 for none.
func (s *Store) History(snapshot uint64) (History, error) {
	h := History{Snapshot: snapshot}
	var err error
	if h.Last, err = s.LastIndex(); err != nil {
		return h, err
	}
	if h.VoteTerm, err = s.GetUint64(keyVoteTerm); err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return h, err
	}
	owner, err := s.Get(keyOwner)
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return h, err
	}
	h.Owner = string(owner)
	return h, nil
}

// SetOwner ties the log to id, so that a log copied beside another identity is refused.
func (s *Store) SetOwner(id Identity) error { return s.Set(keyOwner, []byte(id.owner())) }
