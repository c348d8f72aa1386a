package cluster

import (
	"context"
	"errors"
	"time"

	"floe/fsm"
)

// UseJoinToken has the node show this token where it asks to join, in place
// of that of [Config].
func (n *Node) UseJoinToken(token string) { n.methods.joinToken.Store(&token) }

func (n *Node) joinToken() string {
	if token := n.methods.joinToken.Load(); token != nil {
		return *token
	}
	return n.cfg.JoinToken
}

// checkToken says why the leader does not let a node join with the token it
// shows, without using the token up.
func (h *half) checkToken(r joinRequest) error {
	view := h.n.View()
	if r.Token == "" {
		if !view.TakesTokens() || !h.n.cfg.JoinByToken && !view.HasRights() || h.founding(view) {
			return nil
		}
		return refused(CodeToken, "cluster %s takes a node by a join token alone: `floe token join` there makes one, for --join-token here", h.n.clusterID())
	}
	t, known := view.Token(r.Token)
	switch {
	case !known || !t.Joins():
		return refused(CodeToken, "cluster %s does not know this join token; one is good for one node, once, and for the cluster that made it", h.n.clusterID())
	case t.Ended(time.Now()):
		return refused(CodeToken, "the join token %s ended %s", t.Name, time.Unix(0, t.Ends).UTC().Format(time.RFC3339))
	}
	return nil
}

// founding tells whether nodes are still waited for that found this cluster
// together: fewer are there than this node was told to expect, and nobody has
// anything to lose.
func (h *half) founding(view *fsm.View) bool {
	return len(view.Servers) < h.n.cfg.BootstrapExpect && view.UserChanges == 0
}

// enter records a node that joins, and uses its token up in the same step.
func (h *half) enter(ctx context.Context, member fsm.Member, token string) error {
	var op fsm.Op = fsm.SetMember{Member: member}
	if known, ok := h.n.View().Member(member.ID); token != "" && (!ok || known.Incarnation != member.Incarnation) {
		op = fsm.Batch{Ops: []fsm.Op{fsm.SpendToken{Hash: fsm.HashToken(token), Now: time.Now().UnixNano()}, op}}
	}
	_, err := h.n.Propose(ctx, op, "join of node "+member.ID)
	var no *fsm.Refusal
	if errors.As(err, &no) && no.Kind == fsm.ErrNoToken {
		return refused(CodeToken, "%v", err)
	}
	return err
}
