package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/fsm"
)

// joinRequest asks a cluster to take a node. Incarnation 0 asks only whether
// it would, and under which incarnation; nothing is changed then.
type joinRequest struct {
	ID          string `json:"id"`
	Nonce       string `json:"nonce"`
	Cluster     string `json:"cluster,omitempty"` // the one meant, "" for any
	Incarnation uint64 `json:"incarnation,omitempty"`
	Address     string `json:"address"`
	NonVoter    bool   `json:"non_voter,omitempty"`
	Program     string `json:"program,omitempty"`
	Supports    uint32 `json:"supports"`
	Forwarded   bool   `json:"forwarded,omitempty"`
	Token       string `json:"token,omitempty"`
}

type joinReply struct {
	Cluster     string            `json:"cluster"`
	Version     uint32            `json:"version"`
	Incarnation uint64            `json:"incarnation"`
	Leader      string            `json:"leader"`
	Addresses   map[string]string `json:"addresses"`
}

// joinOrder has the node's keeper take it to the cluster that accepted it.
type joinOrder struct {
	accepted joinReply
	done     chan error
}

func (n *Node) requestJoin(ctx context.Context, address string, incarnation uint64, cluster string) (joinReply, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	return ask[joinReply](ctx, n, address, "cluster.join", joinRequest{
		ID: n.id, Nonce: n.nonce, Cluster: cluster, Incarnation: incarnation, Address: n.cfg.Network.Address,
		NonVoter: n.cfg.NonVoter, Program: n.cfg.Program, Supports: fsm.ProgramVersion,
		Token: n.joinToken(),
	})
}

// join answers a node that wants to enter; the leader decides.
func (n *Node) join(ctx context.Context, caller string, r joinRequest) (joinReply, error) {
	if r.ID != caller && !r.Forwarded {
		return joinReply{}, refused(codeInvalid, "node %s asks to join as node %s", caller, r.ID)
	}
	id := n.Identity()
	if id.State != logstore.Member {
		return joinReply{}, refused(codeNoCluster, "node %s is in no cluster itself (%s)", n.id, id.State)
	}
	if r.Cluster != "" && r.Cluster != id.ClusterID {
		return joinReply{}, refused(CodeOtherCluster, "this is cluster %s, not %s", id.ClusterID, r.Cluster)
	}
	if CheckID(r.ID) != nil || r.ID == "" || CheckAddress(r.Address) != nil {
		return joinReply{}, refused(codeInvalid, "join of node %q at %q", r.ID, r.Address)
	}
	if h := n.half.Load(); h != nil && h.leads() {
		return h.admit(ctx, r)
	}
	leader := n.LeaderID()
	if r.Forwarded || leader == "" || leader == n.id {
		return joinReply{}, refused(codeNoQuorum, "cluster %s has no leader now", id.ClusterID)
	}
	r.Forwarded = true
	return askNode[joinReply](ctx, n, leader, "cluster.join", r)
}

// admit decides on a join as the leader.
func (h *half) admit(ctx context.Context, r joinRequest) (joinReply, error) {
	view := h.n.View()
	if r.Supports < view.Version {
		return joinReply{}, refused(CodeVersion, "the cluster is at version %d, node %s can only work with %d; run a newer program", view.Version, r.ID, r.Supports)
	}
	if err := h.n.mayEnter(r); err != nil {
		return joinReply{}, err
	}
	member, known := view.Member(r.ID)
	if h.inGroup(r.ID) {
		if r.Incarnation != 0 && known && member.Incarnation == r.Incarnation {
			return h.accepted(r.Incarnation), nil // asked again
		}
		return joinReply{}, h.taken(ctx, r)
	}
	if !known || member.Incarnation != r.Incarnation { // else it got this far before
		if err := h.checkToken(r); err != nil {
			return joinReply{}, err
		}
	}
	if r.Incarnation == 0 {
		return h.accepted(newIncarnation(h.raft.LastIndex())), nil
	}
	if known && member.Incarnation > r.Incarnation {
		return joinReply{}, refused(CodeDuplicate, "a newer incarnation of node %s is known", r.ID)
	}
	return h.add(ctx, r)
}

func (h *half) add(ctx context.Context, r joinRequest) (joinReply, error) {
	member := fsm.Member{
		ID: r.ID, Incarnation: r.Incarnation, Addresses: map[string][]string{"peer": {r.Address}},
		Program: r.Program, Supports: r.Supports, NonVoter: r.NonVoter,
	}
	h.n.book.heard(r.ID, r.Address)
	if err := h.enter(ctx, member, r.Token); err != nil {
		return joinReply{}, err
	}
	if err := h.change(ctx, func(timeout time.Duration) raft.IndexFuture {
		return h.raft.AddNonvoter(raft.ServerID(r.ID), raft.ServerAddress(r.ID), 0, timeout)
	}); err != nil {
		return joinReply{}, err
	}
	h.n.log.Info("node added", "node", r.ID, "address", r.Address, "incarnation", r.Incarnation)
	return h.accepted(r.Incarnation), nil
}

func (h *half) accepted(incarnation uint64) joinReply {
	_, addresses := h.n.book.all()
	addresses[h.n.id] = h.n.cfg.Network.Address
	view := h.n.View()
	return joinReply{Cluster: h.n.clusterID(), Version: view.Version, Incarnation: incarnation, Leader: h.n.id, Addresses: addresses}
}

// taken says why a node of a known id is refused.
func (h *half) taken(ctx context.Context, r joinRequest) error {
	address, _ := h.n.PeerAddress(r.ID)
	how := "which does not answer"
	if info, ok := h.n.askAround(ctx, []string{r.ID})[r.ID]; ok && info.Nonce != r.Nonce {
		how = "which is running"
	}
	return refused(CodeDuplicate, "node %s is a member, at %s, %s", r.ID, address, how) // the remedy is for who asked to tell
}

// newIncarnation returns a number that is larger than any given out before:
// the log's last index with random bits below, so that two at once differ.
func newIncarnation(index uint64) uint64 {
	var b [8]byte
	rand.Read(b[5:]) // never fails
	return (index+1)<<20 | binary.BigEndian.Uint64(b[:])&(1<<20-1)
}

func (h *half) inGroup(id string) bool {
	for _, s := range h.servers() {
		if string(s.ID) == id {
			return true
		}
	}
	return false
}

// change makes one change of Raft's configuration and waits for it.
func (h *half) change(ctx context.Context, f func(timeout time.Duration) raft.IndexFuture) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	deadline, _ := ctx.Deadline()
	_, err := h.await(ctx, func() raft.Future { return f(max(time.Until(deadline), time.Millisecond)) })
	switch {
	case err == nil:
		return nil
	case notHanded(err):
		return errNotLeader
	}
	return &Unknown{Cause: err}
}

// withTimeout gives a context without a deadline the default one.
func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, DefaultTimeout)
}

// Join has this node enter the cluster of the node at a peer address, and
// returns once it is a member that has caught up. It is for a node that left
// or was removed, or the only node of a cluster in which no user changed
// anything; any other is refused (*[Refused]) and stays what it is. Old data
// is dropped only after the other cluster has accepted the node. An address
// where nobody answers is an *[Unreachable].
func (n *Node) Join(ctx context.Context, address string) error {
	if err := CheckAddress(address); err != nil {
		return err
	}
	if err := n.mayJoin(ctx, address); err != nil {
		return err
	}
	accepted, err := n.requestJoin(ctx, address, 0, "")
	if codeOf(err) == CodeDuplicate {
		err = refused(CodeDuplicate, "%v; if it is gone for good, run `floe remove %s --force` there first", err, n.id)
	}
	if err != nil {
		return unreachable(address, err)
	}
	if h := n.half.Load(); h != nil {
		if err := n.updateIdentity(func(id *logstore.Identity) { id.State, id.VoteTerm, id.CommitIndex = logstore.Left, 0, 0 }); err != nil {
			return err
		}
		h.finish()
	}
	order := &joinOrder{accepted: accepted, done: make(chan error, 1)}
	select {
	case n.joins <- order:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := <-order.done; err != nil {
		return err
	}
	return n.awaitReady(ctx)
}

// mayJoin refuses a node that has something to lose.
func (n *Node) mayJoin(ctx context.Context, address string) error {
	id, view := n.Identity(), n.View()
	if id.State != logstore.Member && id.State != logstore.Joining {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timing.askTime()+time.Second)
	defer cancel()
	info, err := ask[nodeInfo](ctx, n, address, "cluster.hello", n.info())
	if err != nil {
		return unreachable(address, err)
	}
	if info.Cluster == id.ClusterID {
		return refused(CodeAlready, "node %s is a member of cluster %s already", n.id, id.ClusterID)
	}
	if id.State == logstore.Member && len(view.Servers) == 1 && view.UserChanges == 0 {
		return nil
	}
	remedy := "run `floe leave` first, or start it with an empty data directory and --join " + address
	if len(view.Servers) < 2 {
		remedy = "save its graph with `floe graph`, if it is still needed, and start it with an empty data directory and --join " + address
	}
	return refused(CodeOtherCluster, "node %s belongs to cluster %s, %s to cluster %s; nothing was changed. To have it enter that one, %s",
		n.id, id.ClusterID, address, info.Cluster, remedy)
}

// awaitReady waits until the node is a member that has caught up.
func (n *Node) awaitReady(ctx context.Context) error {
	for {
		changed, poked, leader := n.Changed(), n.poke.next(), n.leaders.changed.next()
		err := n.Ready()
		if err == nil {
			return nil
		}
		select {
		case <-changed:
		case <-poked:
		case <-leader:
		case <-ctx.Done():
			return fmt.Errorf("accepted, but not caught up yet: %v: %w", err, ctx.Err())
		}
	}
}
