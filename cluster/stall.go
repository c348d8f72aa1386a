package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// giveUpAgain is how long a leader that gave up because its disk hung does not
// do so again: where all disks are slow, going round helps nobody.
const giveUpAgain = 10 * time.Minute

// watchDisk keeps the node silent in Raft while an operation on its disk
// hangs. Raft alone would stay leader for ever: its heartbeats need no disk,
// its main loop waits. Once silent, the others elect; a follower that is
// silent votes for nobody and confirms nobody. What hung may still succeed:
// then the node finds a newer term, and follows.
func (h *half) watchDisk(ctx context.Context) {
	limit := h.n.cfg.DiskStall
	for pause(ctx, limit/8) {
		stalled := h.disk.health.Stalled()
		if stalled < limit {
			if h.trans.silent.Swap(false) {
				h.n.log.Info("the disk answers again", "dir", h.n.cfg.DataDir)
			}
			h.n.setProblem("stall", "")
			continue
		}
		h.n.setProblem("stall", fmt.Sprintf("a disk operation in %s hangs for more than %v", h.n.cfg.DataDir, limit))
		if !h.trans.silent.Load() && h.mayFallSilent() {
			h.trans.silent.Store(true)
			h.n.leaders.set(h.leader())
		}
	}
}

// awaitShutdown waits until Raft has stopped, and tells whether it has: not
// while an operation hangs for longer than --disk-stall.
func (h *half) awaitShutdown(shutdown raft.Future) bool {
	done := make(chan error, 1)
	go func() { done <- shutdown.Error() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				h.n.log.Warn("raft did not stop cleanly", "error", err)
			}
			return true
		case <-time.After(h.n.cfg.DiskStall / 8):
			if h.disk.health.Stalled() >= h.n.cfg.DiskStall {
				return false
			}
		}
	}
}

// mayFallSilent tells whether it would help, and is not too soon.
func (h *half) mayFallSilent() bool {
	if len(h.n.voters()) < 2 {
		return false
	}
	if h.raft.State() != raft.Leader {
		return true
	}
	now := time.Now()
	if last := h.n.gaveUp.Load(); last != nil && now.Sub(*last) < giveUpAgain {
		return false
	}
	h.n.gaveUp.Store(&now)
	h.n.log.Warn("leadership given up, as a disk operation hangs", "dir", h.n.cfg.DataDir)
	return true
}
