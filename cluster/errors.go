package cluster

import (
	"errors"
	"fmt"
)

// NoQuorum says that a request failed, and will never take effect, because
// no leader was to be found.
type NoQuorum struct {
	// Voters is the number of nodes that count for quorum, Reachable how many
	// of them could be reached, this one included.
	Voters, Reachable int
	// LastLeader is the id of the last leader known, "" for none.
	LastLeader string
	// Reason says more where there is more to say.
	Reason string
}

// Error is one line for people.
func (e *NoQuorum) Error() string {
	text := fmt.Sprintf("no quorum: %d of %d voters reachable", e.Reachable, e.Voters)
	if e.Voters > 0 {
		text += fmt.Sprintf(", %d needed", e.Voters/2+1)
	}
	if e.LastLeader != "" {
		text += ", last leader " + e.LastLeader
	}
	if e.Reason != "" {
		text += "; " + e.Reason
	}
	return text
}

// Unknown says that a change was handed to Raft and that nobody knows what
// became of it: it may take effect, or have taken effect already. It does
// not unwrap: a cause such as [NoQuorum] would be taken for a firm failure.
type Unknown struct{ Cause error }

// Error is one line for people.
func (e *Unknown) Error() string {
	return fmt.Sprintf("outcome unknown: the change was handed to Raft, then: %v", e.Cause)
}

// DuplicateID says that two live processes claim one node id.
type DuplicateID struct {
	// ID is the id, Address where the other process lives ("" if it can't be reached).
	ID, Address string
	// Dir is the data directory of this process.
	Dir string
	// Detail says more.
	Detail string
}

// Error names node, path and remedy.
func (e *DuplicateID) Error() string {
	where := ""
	if e.Address != "" {
		where = " at " + e.Address
	}
	return fmt.Sprintf("node %q, data directory %s: the id belongs to a member%s%s; choose another --id, or, if that member is gone for good, run `floe remove %s --force` on the cluster first",
		e.ID, e.Dir, where, e.Detail, e.ID)
}

// WrongID says that --id is not the id in the data directory.
type WrongID struct{ Given, Stored, Dir string }

// Error names node, path and remedy.
func (e *WrongID) Error() string {
	return fmt.Sprintf("node %q, data directory %s: belongs to node %q; start without --id or with --id %s, or name another directory",
		e.Given, e.Dir, e.Stored, e.Stored)
}

// OtherCluster says that two nodes belong to different clusters.
type OtherCluster struct {
	// Node is this node, Dir its data directory.
	Node, Dir string
	// Ours and Theirs are the cluster ids.
	Ours, Theirs string
	// Address is where the other cluster was met.
	Address string
}

// Error names both clusters and the remedy.
func (e *OtherCluster) Error() string {
	return fmt.Sprintf("node %q, data directory %s: belongs to cluster %s, but %s belongs to cluster %s; nothing was changed. Name members of its own cluster, or start with an empty data directory to enter the other",
		e.Node, e.Dir, e.Ours, e.Address, e.Theirs)
}

// Refused says that a membership operation was refused, and why. Nothing
// was changed.
type Refused struct {
	// Code tells refusals apart: one of the Code constants.
	Code string
	// Text is one line for people.
	Text string
}

// Error is the text.
func (e *Refused) Error() string { return e.Text }

// ErrorCode is the code, for its way between nodes.
func (e *Refused) ErrorCode() string { return e.Code }

// Is tells whether the target is a Refused of the same code.
func (e *Refused) Is(target error) bool {
	r, ok := target.(*Refused)
	return ok && r.Code == e.Code
}

// Codes of [Refused], and of errors between nodes.
const (
	CodeDuplicate     = "duplicate_id"
	CodeOtherCluster  = "other_cluster"
	CodeVersion       = "version"
	CodeAlready       = "already_member"
	CodeUnknownNode   = "unknown_node"
	CodeQuorum        = "would_lose_quorum"
	CodeLastNode      = "last_node"
	CodeNotVoter      = "not_voter"
	CodeLagging       = "lagging"
	CodeUnchanged     = "unchanged"
	CodeNotMember     = "not_member"
	CodeUnknownMethod = "unknown_method"

	codeNotLeader = "not_leader"
	codeUnknown   = "outcome_unknown"
	codeInvalid   = "invalid"
	codeNoCluster = "no_cluster"
	codeNoQuorum  = "no_quorum"
)

func refused(code, format string, args ...any) *Refused {
	return &Refused{Code: code, Text: fmt.Sprintf(format, args...)}
}

// errNotLeader: the request was not handed to Raft, for want of leadership here.
var errNotLeader = &Refused{Code: codeNotLeader, Text: "this node is not the leader"}

// codeOf returns the code an error carries, "" for none.
func codeOf(err error) string {
	var coded interface{ ErrorCode() string }
	if errors.As(err, &coded) {
		return coded.ErrorCode()
	}
	return ""
}

// notSent tells whether a call certainly reached no handler.
func notSent(err error) bool {
	var e interface{ NotSent() bool }
	return errors.As(err, &e) && e.NotSent()
}

// refusedBy turns the error of a call into a *Refused where the other node's
// handler refused.
func refusedBy(err error) error {
	code := codeOf(err)
	switch code {
	case "", "deadline", "canceled":
		return err
	}
	return &Refused{Code: code, Text: err.Error()}
}
