package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"floe/fsm"
)

// transferTimeout bounds a change of the leader that somebody asked for.
const transferTimeout = 10 * time.Second

// maxLag is how many entries the next leader may be behind.
const maxLag = 1024

// Transfer makes another voter the leader: the one of that id, or, where it
// is empty, the one that is furthest. After an error other than ctx's the
// leader is the old one (*[Refused]), or there was none (*[NoQuorum]).
func (n *Node) Transfer(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	if n.half.Load() == nil {
		return refused(CodeNotMember, "%v", n.errOutOfService())
	}
	old, err := n.requestTransfer(ctx, id)
	if err != nil {
		return err
	}
	for {
		changed := n.leaders.changed.next()
		now := n.LeaderID()
		if now != "" && now != old && (id == "" || now == id) {
			n.awaitAgreement(ctx)
			return nil
		}
		if !waitFor(ctx, changed, transferTimeout) {
			return refused(CodeUnchanged, "leadership did not pass to %s within %v; the leader is %s", orAny(id), transferTimeout, n.LeaderID())
		}
	}
}

// requestTransfer has the leader, whoever that is by now, give leadership
// away, and returns its id.
func (n *Node) requestTransfer(ctx context.Context, id string) (string, error) {
	asked := time.Now()
	for {
		changed := n.leaders.changed.next()
		leader, err := n.awaitLeader(ctx, asked)
		if err != nil {
			return "", err
		}
		_, err = askNode[struct{}](ctx, n, leader, "cluster.transfer", transferRequest{ID: id})
		if err == nil {
			return leader, nil
		}
		again := codeOf(err) == codeNotLeader || notSent(err)
		if !again || !waitFor(ctx, changed, 5*retryPause) {
			return "", err
		}
	}
}

func orAny(id string) string {
	if id == "" {
		return "another node"
	}
	return id
}

type transferRequest struct {
	ID string `json:"id"`
}

// transfer answers as the leader.
func (n *Node) transfer(ctx context.Context, _ string, r transferRequest) (struct{}, error) {
	h := n.half.Load()
	if h == nil || !h.leads() {
		return struct{}{}, errNotLeader
	}
	if r.ID == "" {
		return struct{}{}, h.transferAny(ctx)
	}
	if r.ID == n.id {
		return struct{}{}, refused(CodeUnchanged, "node %s is the leader already", n.id)
	}
	voter, found := h.suffrage(r.ID)
	if !found {
		return struct{}{}, refused(CodeUnknownNode, "node %s is not in the cluster; floe members lists those that are", r.ID)
	}
	if !voter {
		return struct{}{}, refused(CodeNotVoter, "node %s has no vote and can't lead", r.ID)
	}
	info, ok := n.askAround(ctx, []string{r.ID})[r.ID]
	if !ok {
		return struct{}{}, refused(CodeLagging, "node %s does not answer and can't lead now", r.ID)
	}
	if view := n.View(); info.Applied+maxLag < view.Index {
		return struct{}{}, refused(CodeLagging, "node %s is %d entries behind and can't lead now", r.ID, view.Index-info.Applied)
	}
	return struct{}{}, h.transferTo(ctx, r.ID)
}

// transferTries is how often leadership is offered: Raft gives up after an
// election time-out, which is little on a busy machine.
const transferTries = 3

// transferTo asks Raft for it once the other node has taken all there is, each
// time. One that takes no entries, for want of room for example, must not be
// asked for twice: Raft v1.8.0 (leadershipTransfer) puts a question to what
// sends that node entries, and waits for ever to put the next one, while which
// this leader would refuse all changes.
func (h *half) transferTo(ctx context.Context, id string) (err error) {
	for range transferTries {
		if err := h.awaitCaughtUp(ctx, id); err != nil {
			return err
		}
		_, err = h.await(ctx, func() raft.Future {
			return h.raft.LeadershipTransferToServer(raft.ServerID(id), raft.ServerAddress(id))
		})
		if err == nil || !h.leads() { // it went after all, or to somebody else: who asked sees
			return nil
		}
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, raft.ErrLeadershipTransferInProgress) || errors.Is(err, raft.ErrEnqueueTimeout) { // somebody else asked too, or Raft is not done with the try before
			pause(ctx, h.n.cfg.Timing.Election/2)
		}
	}
	if err != nil {
		return refused(CodeUnchanged, "leadership stays with %s: %v", h.n.id, err)
	}
	return nil
}

// awaitCaughtUp waits until a node has all that is applied here by now, as long
// as Raft's tries would take. One that stopped applying takes entries all the same.
func (h *half) awaitCaughtUp(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, transferTries*h.n.cfg.Timing.Election)
	defer cancel()
	index, applied := h.n.View().Index, uint64(0)
	for h.leads() {
		info, ok := h.n.askAround(ctx, []string{id})[id]
		if ok {
			applied = info.Applied
		}
		if applied >= index || info.Halted && !info.Full {
			break
		}
		if !pause(ctx, 10*time.Millisecond) {
			return refused(CodeLagging, "node %s is %d entries behind, does not catch up, and can't lead now", id, index-applied)
		}
	}
	return nil
}

// transferAny gives leadership to the live voter that is furthest; nodes
// that drain, have no room or stopped applying come last.
func (h *half) transferAny(ctx context.Context) error {
	best, err := h.successor(ctx)
	if err != nil {
		return err
	}
	return h.transferTo(ctx, best.ID)
}

// successor returns the voter that is to lead next.
func (h *half) successor(ctx context.Context) (nodeInfo, error) {
	var voters []string
	for _, s := range h.servers() {
		if s.Suffrage == raft.Voter && string(s.ID) != h.n.id {
			voters = append(voters, string(s.ID))
		}
	}
	if len(voters) == 0 {
		return nodeInfo{}, refused(CodeUnchanged, "node %s is the only voter", h.n.id)
	}
	var best *nodeInfo
	for _, info := range h.n.askAround(ctx, voters) {
		if best == nil || better(info, *best) {
			best = &info
		}
	}
	if best == nil {
		return nodeInfo{}, refused(CodeUnchanged, "no other voter answers")
	}
	return *best, nil
}

func better(a, b nodeInfo) bool {
	switch {
	case a.Halted != b.Halted:
		return b.Halted
	case a.Unproven != b.Unproven:
		return b.Unproven
	case a.Full != b.Full:
		return b.Full
	case a.Draining != b.Draining:
		return b.Draining
	case a.Applied != b.Applied:
		return a.Applied > b.Applied
	}
	return a.ID < b.ID
}

// handOver gives leadership away before this node's Raft stops. It may fail:
// the others then elect.
func (h *half) handOver() {
	if h.raft.State() != raft.Leader || len(h.servers()) == 1 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.n.cfg.Timing.askTime()+2*h.n.cfg.Timing.Election)
	defer cancel()
	if err := h.transferAny(ctx); err != nil {
		h.n.log.Info("leadership not handed over", "reason", err)
	}
}

// Drain prepares for this node's stop: leadership goes elsewhere and others
// see it as draining. It stays a member. undo takes it back. Where it led,
// another leader stands when it returns.
func (n *Node) Drain(ctx context.Context, undo bool) error {
	n.draining.Store(!undo)
	n.poke.fire()
	h := n.half.Load()
	if undo || h == nil || !h.leads() || len(h.servers()) == 1 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	if err := h.transferAny(ctx); err != nil {
		return err
	}
	n.awaitAgreement(ctx)
	return nil
}

// agreementTime bounds the wait for all nodes to know a new leader.
const agreementTime = 2 * time.Second

// awaitAgreement waits, for a while, until every node that answers names one
// and the same leader: whoever looks then finds one.
func (n *Node) awaitAgreement(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, agreementTime)
	defer cancel()
	for !n.agreed(ctx) && pause(ctx, retryPause) {
	}
}

func (n *Node) agreed(ctx context.Context) bool {
	leader := n.LeaderID()
	for _, info := range n.askAround(ctx, serverNames(n.View())) {
		if info.Leader != leader {
			return false
		}
	}
	return leader != ""
}

func serverNames(v *fsm.View) []string {
	ids := make([]string, 0, len(v.Servers))
	for _, s := range v.Servers {
		ids = append(ids, s.ID)
	}
	return ids
}

// Draining tells whether Drain was called.
func (n *Node) Draining() bool { return n.draining.Load() }
