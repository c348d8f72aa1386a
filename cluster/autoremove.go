package cluster

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

// AutoRemove says when a leader removes nodes by itself. The zero value is never.
type AutoRemove struct {
	// After is how long a node has to be silent, seen from one leader; 0: nodes
	// are never removed.
	After time.Duration
	// Min is how many voters are left at the least, 3 if zero. Nodes without
	// a vote are removed whatever it says.
	Min int
}

// removeDead removes nodes that have been silent for long, while this node is
// the leader. A new leader counts anew, so one that was itself cut off removes
// nobody for it. A removal that would leave no live majority is refused like
// one by hand.
func (h *half) removeDead(ctx context.Context) {
	limit := h.n.cfg.AutoRemove
	if limit.After <= 0 {
		return
	}
	heard := map[string]time.Time{}
	for pause(ctx, min(limit.After/4, time.Second)); ctx.Err() == nil; pause(ctx, min(limit.After/4, time.Second)) {
		if !h.leads() {
			clear(heard)
			continue
		}
		servers := h.servers()
		live := h.n.askAround(ctx, serverIDs(servers))
		now := time.Now()
		for _, s := range servers {
			id := string(s.ID)
			if _, online := live[id]; online || heard[id].IsZero() {
				heard[id] = now
				continue
			}
			if now.Sub(heard[id]) >= limit.After && h.mayGo(s, servers) {
				h.removeSilent(ctx, id, now.Sub(heard[id]))
				break // the next look begins with who is left
			}
		}
	}
}

// mayGo tells whether enough voters are left without a node.
func (h *half) mayGo(s raft.Server, servers []raft.Server) bool {
	voters := 0
	for _, other := range servers {
		if other.Suffrage == raft.Voter {
			voters++
		}
	}
	return s.Suffrage != raft.Voter || voters > h.n.cfg.AutoRemove.Min
}

func (h *half) removeSilent(ctx context.Context, id string, silent time.Duration) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	h.n.log.Warn("a silent node is removed", "node", id, "silent", silent.Round(time.Second))
	if _, err := h.n.remove(ctx, id, removeRequest{ID: id}); err != nil {
		h.n.log.Warn("the silent node was not removed", "node", id, "error", err)
	}
}
