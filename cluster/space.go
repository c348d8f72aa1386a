package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// reserveBytes and reserveShare say how much of a file system is kept
	// free for what has to be written whatever happens (terms, votes, members):
	// the one that is less.
	reserveBytes = 16 << 20
	reserveShare = 20 // 5 %
	// spacePoll is how often free space is looked at. What is written in
	// between is counted twice over, since a database copies pages.
	spacePoll = 200 * time.Millisecond
)

// space watches how much room there is for the data directory.
type space struct {
	look func(dir string) (free, size uint64, err error)
	dir  string

	free    atomic.Uint64
	reserve atomic.Uint64
	written atomic.Uint64 // bytes taken in since the last look
	full    atomic.Bool
	unknown atomic.Bool // the file system does not tell
}

func newSpace(cfg Config) *space {
	s := &space{look: cfg.FreeSpace, dir: cfg.DataDir}
	s.measure()
	return s
}

// measure looks. Room counts as back only when there is a quarter more than
// the reserve, or it would come and go.
func (s *space) measure() {
	s.written.Store(0)
	free, size, err := s.look(s.dir)
	s.unknown.Store(err != nil)
	if err != nil {
		return
	}
	reserve := min(reserveBytes, size/reserveShare)
	s.free.Store(free)
	s.reserve.Store(reserve)
	s.full.Store(free < reserve || s.full.Load() && free < reserve+reserve/4)
}

// admit is room for what is about to be written, and counts it.
func (s *space) admit(bytes int) error {
	if err := s.room(); err != nil {
		return err
	}
	s.written.Add(uint64(bytes))
	return nil
}

// roomNow is room after a fresh look, for who writes much in one go.
func (s *space) roomNow() error {
	s.measure()
	return s.room()
}

// room says why nothing may be added, nil where there is room.
func (s *space) room() error {
	if s.unknown.Load() {
		return nil
	}
	reserve := s.reserve.Load()
	if !s.full.Load() && s.free.Load() >= reserve+2*s.written.Load() {
		return nil
	}
	return fmt.Errorf("no space: the file system of data directory %s has no more left than the reserve of %.1f MiB; free some, and changes are taken again", s.dir, float64(reserve)/(1<<20))
}

// watchSpace looks, until ctx ends, how much space is left. A leader that has
// no room, or stopped applying, hands over to a node that is better off, as
// long as there is one.
func (n *Node) watchSpace(ctx context.Context) {
	var tried time.Time
	for pause(ctx, spacePoll) {
		n.space.measure()
		full := n.space.full.Load()
		if full {
			n.setProblem("space", n.space.room().Error())
		} else {
			n.setProblem("space", "")
		}
		unfit := full || n.state.Halted() != nil
		if h := n.half.Load(); unfit && h != nil && h.leads() && time.Since(tried) > time.Second {
			tried = time.Now()
			h.yieldLead(ctx)
		}
	}
}

// yieldLead gives leadership to a node with room that applies.
func (h *half) yieldLead(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, h.n.cfg.Timing.askTime()+2*h.n.cfg.Timing.Election)
	defer cancel()
	best, err := h.successor(ctx)
	if err != nil || best.Full || best.Halted {
		return
	}
	if err := h.transferTo(ctx, best.ID); err != nil {
		h.n.log.Info("leadership not handed over", "reason", err)
	}
}

// checkRoom refuses a change where this node, or so many followers that no
// majority is left, have no room for it.
func (h *half) checkRoom(size int) error {
	if err := h.n.space.admit(size); err != nil {
		return refused(CodeNoSpace, "node %s: %v", h.n.id, err)
	}
	voters, without, why := 0, 0, ""
	for _, s := range h.servers() {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		if text := h.trans.withoutRoom(string(s.ID)); text != "" {
			without++
			why = fmt.Sprintf("node %s: %s", s.ID, text)
		}
	}
	if 2*(voters-without) <= voters {
		return refused(CodeNoSpace, "%d of %d voters have no room for changes; %s", without, voters, why)
	}
	return nil
}
