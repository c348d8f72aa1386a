package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/fsm"
)

// Leave takes this node out of its cluster: it hands leadership over, is
// removed, keeps its data, and idles. It is refused (*[Refused]) where the
// live voters left would be no majority, and on the last node.
func (n *Node) Leave(ctx context.Context) error {
	h := n.half.Load()
	if h == nil || n.Identity().State != logstore.Member {
		return refused(CodeNotMember, "%v", n.errOutOfService())
	}
	if len(n.View().Servers) == 1 {
		return refused(CodeLastNode, "node %s is the last of its cluster and can't leave; stop it instead, its data stays", n.id)
	}
	n.leaving.Store(true)
	defer n.leaving.Store(false)
	if _, err := n.onLeader(ctx, removeRequest{ID: n.id, Leave: true}); err != nil {
		return err
	}
	if err := n.updateIdentity(func(id *logstore.Identity) { id.State = logstore.Left }); err != nil {
		return err
	}
	n.log.Info("left the cluster", "cluster", n.clusterID())
	h.finish()
	return nil
}

// Removal says what Remove did.
type Removal struct {
	// Online says that the node was running; it now idles.
	Online bool `json:"online"`
	// Voter says that it counted for quorum.
	Voter bool `json:"voter"`
}

// Remove takes another node out of the cluster, running or not. It is refused
// (*[Refused]) for a node that is not in the cluster, and where the live
// voters left would be no majority, who could not agree on it; with force they
// have 3 s to answer. A node that removes itself leaves.
func (n *Node) Remove(ctx context.Context, id string, force bool) (Removal, error) {
	if n.half.Load() == nil {
		return Removal{}, refused(CodeNotMember, "%v", n.errOutOfService())
	}
	if id == n.id && !force {
		return Removal{Online: true, Voter: true}, n.Leave(ctx)
	}
	return n.onLeader(ctx, removeRequest{ID: id, Force: force})
}

type removeRequest struct {
	ID    string `json:"id"`
	Force bool   `json:"force,omitempty"`
	Leave bool   `json:"leave,omitempty"`
}

// onLeader has the leader remove a node, over changes of the leader.
func (n *Node) onLeader(ctx context.Context, r removeRequest) (Removal, error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	asked := time.Now()
	for doubt := error(nil); ; {
		changed := n.leaders.changed.next()
		leader, err := n.awaitLeader(ctx, asked)
		if err != nil {
			return Removal{}, inDoubt(doubt, err)
		}
		removal, err := n.askLeader(ctx, leader, r)
		if err == nil {
			return removal, nil
		}
		code := codeOf(err)
		if code == CodeUnknownNode && (doubt != nil || r.Leave) {
			return Removal{}, nil // done by an attempt before
		}
		if code != codeNotLeader && code != codeUnknown && code != "" {
			return Removal{}, err
		}
		if code != codeNotLeader && !notSent(err) {
			doubt = err
		}
		if !waitFor(ctx, changed, 5*retryPause) {
			return Removal{}, inDoubt(doubt, err)
		}
	}
}

// askLeader has a node remove another, as long as it leads. A removal of this
// node itself is awaited: it may see its own end before the answer comes.
func (n *Node) askLeader(ctx context.Context, leader string, r removeRequest) (Removal, error) {
	if r.ID != n.id && leader != n.id {
		during, cancel := n.leaders.during(ctx, leader)
		defer cancel()
		ctx = during
	}
	return askNode[Removal](ctx, n, leader, "cluster.remove", r)
}

func inDoubt(doubt, err error) error {
	if doubt == nil {
		return err
	}
	return &Unknown{Cause: errors.Join(doubt, err)}
}

// remove answers, as the leader, a request to remove a node.
func (n *Node) remove(ctx context.Context, _ string, r removeRequest) (Removal, error) {
	h := n.half.Load()
	if h == nil || !h.leads() {
		return Removal{}, errNotLeader
	}
	voter, found := h.suffrage(r.ID)
	if !found {
		return Removal{}, h.forget(ctx, r.ID)
	}
	// One at a time: who is counted as left for one may go by another, and Raft
	// would carry out a promotion that came late by adding the node again.
	select {
	case h.voting <- struct{}{}:
		defer func() { <-h.voting }()
	case <-ctx.Done():
		return Removal{}, errNotLeader
	}
	live, err := h.whoLives(ctx, r)
	if err != nil {
		return Removal{}, err
	}
	_, online := live[r.ID]
	if r.ID == n.id {
		if err := h.transferAny(ctx); err != nil {
			return Removal{}, err
		}
		return Removal{}, errNotLeader // the next one does it
	}
	if err := h.change(ctx, func(timeout time.Duration) raft.IndexFuture {
		return h.raft.RemoveServer(raft.ServerID(r.ID), 0, timeout)
	}); err != nil {
		return Removal{}, codedUnknown(err)
	}
	n.log.Info("node removed", "node", r.ID, "online", online, "forced", r.Force)
	if _, err := n.Propose(ctx, fsm.DropMember{ID: r.ID}, "remove"); err != nil {
		n.log.Warn("record of a removed node stays", "node", r.ID, "error", err)
	}
	if online && !r.Leave {
		h.notify(ctx, r.ID, live[r.ID].Address)
	}
	return Removal{Online: online, Voter: voter}, nil
}

// codedUnknown gives an unknown outcome its code for the way between nodes.
func codedUnknown(err error) error {
	var u *Unknown
	if errors.As(err, &u) {
		return refused(codeUnknown, "%v", u.Cause)
	}
	return err
}

// forget drops the record of a node that is in the group no more.
func (h *half) forget(ctx context.Context, id string) error {
	if _, known := h.n.View().Member(id); known {
		if _, err := h.n.Propose(ctx, fsm.DropMember{ID: id}, "remove"); err != nil {
			return err
		}
		return nil
	}
	return refused(CodeUnknownNode, "node %s is not in the cluster; floe members lists those that are", id)
}

// notify has a removed node ask whether it was.
func (h *half) notify(ctx context.Context, id, address string) {
	ctx, cancel := context.WithTimeout(ctx, h.n.cfg.Timing.askTime())
	defer cancel()
	if _, err := h.n.callAddress(ctx, address, "cluster.recheck", nil); err != nil {
		h.n.log.Debug("removed node not told", "node", id, "error", err)
	}
}

func (h *half) suffrage(id string) (voter, found bool) {
	for _, s := range h.servers() {
		if string(s.ID) == id {
			return s.Suffrage == raft.Voter, true
		}
	}
	return false, false
}

func serverIDs(servers []raft.Server) []string {
	ids := make([]string, 0, len(servers))
	for _, s := range servers {
		ids = append(ids, string(s.ID))
	}
	return ids
}

// checkQuorum refuses a removal that leaves no live majority.
func (h *half) checkQuorum(r removeRequest, live map[string]nodeInfo) error {
	voters, alive := 0, 0
	for _, s := range h.servers() {
		if s.Suffrage != raft.Voter || string(s.ID) == r.ID {
			continue
		}
		voters++
		if _, ok := live[string(s.ID)]; ok {
			alive++
		}
	}
	if voters == 0 {
		return refused(CodeLastNode, "node %s is the last voter of its cluster and can't go", r.ID)
	}
	if need := voters/2 + 1; alive < need {
		return refused(CodeQuorum, "without node %s the cluster would have %d voters, %d of them reachable, and needs %d: it would lose quorum; bring nodes back first%s",
			r.ID, voters, alive, need, onlyRecovery[r.Force])
	}
	return nil
}

// onlyRecovery is what is left to do, without and with force. Not even force
// does it: those left could not agree on the change, and one of them that was
// down when another joined might never give that its vote.
var onlyRecovery = map[bool]string{false: ", or remove --force, which waits longer for them to answer", true: ", or see floe recover if they are lost for good"}

// forcedWait is how long a forced removal waits for voters to answer.
const forcedWait = 3 * time.Second

// whoLives asks the nodes of the group; with force again and again, until
// enough of them answer.
func (h *half) whoLives(ctx context.Context, r removeRequest) (live map[string]nodeInfo, err error) {
	for until := time.Now().Add(forcedWait); ; {
		live = h.n.askAround(ctx, serverIDs(h.servers()))
		if err = h.checkQuorum(r, live); err == nil || !r.Force || time.Now().After(until) {
			return live, err
		}
		if !pause(ctx, retryPause) {
			return live, err
		}
	}
}

// belongsRequest asks the leader whether a node is in the group.
type belongsRequest struct {
	ID          string `json:"id"`
	Incarnation uint64 `json:"incarnation"`
	Forwarded   bool   `json:"forwarded,omitempty"`
}

type belongsReply struct {
	Member bool `json:"member"`
}

// belongs answers with leadership verified; others pass the question on.
func (n *Node) belongs(ctx context.Context, _ string, r belongsRequest) (belongsReply, error) {
	h := n.half.Load()
	if h == nil {
		return belongsReply{}, errNotLeader
	}
	if !h.leads() {
		leader := n.LeaderID()
		if r.Forwarded || leader == "" || leader == n.id || leader == r.ID {
			return belongsReply{}, errNotLeader
		}
		r.Forwarded = true
		return askNode[belongsReply](ctx, n, leader, "cluster.belongs", r)
	}
	if err := h.verifyLeader(); err != nil {
		return belongsReply{}, err
	}
	view := n.View()
	member, known := view.Member(r.ID)
	in := inServers(view, r.ID) || h.inGroup(r.ID)
	return belongsReply{Member: in && (!known || member.Incarnation <= r.Incarnation)}, nil
}

// askBelonging asks members whether this node is one, and stops the raft half
// where a leader says no: a removed node must never campaign.
func (h *half) askBelonging(ctx context.Context) {
	n := h.n
	id := n.Identity()
	if id.State != logstore.Member {
		return
	}
	for _, address := range n.places() {
		short, cancel := context.WithTimeout(ctx, n.cfg.Timing.askTime())
		reply, err := ask[belongsReply](short, n, address, "cluster.belongs", belongsRequest{ID: n.id, Incarnation: incarnationOf(id)})
		cancel()
		if err != nil {
			continue
		}
		if !reply.Member && !n.leaving.Load() {
			h.removed()
		}
		return
	}
}

func (h *half) removed() {
	n := h.n
	err := n.updateIdentity(func(id *logstore.Identity) {
		if id.State == logstore.Member {
			id.State = logstore.Removed
		}
	})
	if err != nil {
		n.end(err)
		return
	}
	n.log.Warn("this node was removed from its cluster", "cluster", n.clusterID())
	h.finish()
}

// recheck is told by the leader that removed this node.
func (n *Node) recheck(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	if h := n.half.Load(); h != nil {
		h.spawn(func() { h.askBelonging(context.WithoutCancel(ctx)) })
	}
	return nil, nil
}
