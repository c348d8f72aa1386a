package cluster

import (
	"errors"
	"fmt"
	"strings"

	"floe/cluster/logstore"
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
	if e.Voters == 0 && e.Reason != "" {
		return "no quorum: " + e.Reason
	}
	text := fmt.Sprintf("no quorum: %d of %d voters reachable", e.Reachable, e.Voters)
	if e.Voters > 0 {
		text += fmt.Sprintf(", %d needed", e.Voters/2+1)
	}
	if e.LastLeader != "" {
		text += ", last leader " + e.LastLeader
	}
	if missing := e.Voters/2 + 1 - e.Reachable; e.Voters > 0 && missing > 0 {
		text += fmt.Sprintf("; start %d more, or see floe recover if they are lost for good", missing)
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
	mine := ""
	if strings.Contains(e.Detail, "does not answer") {
		mine = "; if it is this very node, whose data is elsewhere (another --data, a disk that is not mounted), start it with that"
	}
	return fmt.Sprintf("node %q, data directory %s: the id belongs to a member%s%s%s; choose another --id, or, if that member is gone for good, run `floe remove %s --force` on the cluster first",
		e.ID, e.Dir, where, e.Detail, mine, e.ID)
}

// howTaken is a refused join in the words of [DuplicateID.Detail].
func howTaken(err error) string {
	if _, how, found := strings.Cut(err.Error(), " is a member,"); found {
		return how
	}
	return " (" + err.Error() + ")"
}

// WrongID says that --id is not the id in the data directory.
type WrongID struct{ Given, Stored, Dir string }

// Error names node, path and remedy.
func (e *WrongID) Error() string {
	return fmt.Sprintf("node %q, data directory %s: belongs to node %q; start without --id or with --id %s, or name another directory",
		e.Given, e.Dir, e.Stored, e.Stored)
}

// DamagedData says that what a data directory holds can't be used.
type DamagedData struct {
	// Node is the node's id, "" where that can't be read either.
	Node string
	// Dir is the data directory.
	Dir string
	// Cause names the file and says what is wrong with it.
	Cause error
}

// Error names node, path and remedy.
func (e *DamagedData) Error() string {
	node, id := "", "ID"
	if e.Node != "" {
		node, id = fmt.Sprintf("node %q, ", e.Node), e.Node
	}
	return fmt.Sprintf("%sdata directory %s: %v; if the node has fellows, run `floe remove %s --force` there, then start it with an empty directory and --join; if it stood alone, put a backup of the whole directory in its place",
		node, e.Dir, e.Cause, id)
}

// Unwrap returns the cause.
func (e *DamagedData) Unwrap() error { return e.Cause }

// explain gives an error of the data directory node, path and remedy.
func (n *Node) explain(err error) error { return explainDir(n.cfg.DataDir, err) }

func explainDir(dir string, err error) error {
	var corrupt *logstore.CorruptError
	var gap *logstore.GapError
	if !errors.As(err, &corrupt) && !errors.As(err, &gap) {
		return err
	}
	id, _ := logstore.ReadIdentity(dir) // may be what is damaged
	return &DamagedData{Node: id.NodeID, Dir: dir, Cause: err}
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
	if recoveredFrom(e.Ours, e.Theirs) {
		return fmt.Sprintf("node %q, data directory %s: its cluster was recovered without it, as %s shows (group %s, this node is in %s); nothing was changed. Start it with an empty data directory and --join %s",
			e.Node, e.Dir, e.Address, e.Theirs, e.Ours, e.Address)
	}
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

// Unreachable says that no floe node answered at an address. Nothing was
// changed.
type Unreachable struct {
	// Address is the host:port asked.
	Address string
	// Cause says what went wrong.
	Cause error
}

// Error names address and cause.
func (e *Unreachable) Error() string { return fmt.Sprintf("join through %s: %v", e.Address, e.Cause) }

// Unwrap returns the cause.
func (e *Unreachable) Unwrap() error { return e.Cause }

// unreachable makes an error of a question that changes nothing: what no
// handler answered with is an *Unreachable.
func unreachable(address string, err error) error {
	var r *Refused
	if errors.As(err, &r) {
		return fmt.Errorf("join through %s: %w", address, err)
	}
	return &Unreachable{Address: address, Cause: err}
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
	CodeNoSpace       = "no_space"
	CodeToken         = "join_token"
	CodeKeys          = "gossip_keys"

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
