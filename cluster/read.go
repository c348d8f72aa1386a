package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"floe/fsm"
)

// Read returns a View that has every change acknowledged, on any node, before
// the call. It asks the leader how far that is and waits for the local copy.
// Errors: *[NoQuorum], or ctx's. Without a deadline ctx gets DefaultTimeout.
func (n *Node) Read(ctx context.Context) (*fsm.View, error) {
	if readUnverified {
		return n.View(), nil
	}
	whole, cancel := withTimeout(ctx)
	defer cancel()
	ctx, cancelAsk := n.leaveTimeToAsk(whole)
	defer cancelAsk()
	asked := time.Now()
	for {
		changed := n.leaders.changed.next()
		leader, err := n.awaitLeader(ctx, asked)
		if err != nil {
			return nil, err
		}
		index, err := n.readIndexAt(ctx, leader)
		if err == nil {
			return n.awaitIndex(whole, index)
		}
		if !waitFor(ctx, changed, retryPause) {
			return nil, n.outOfTime(ctx, err)
		}
	}
}

// awaitIndex waits until this node's own copy is that far.
func (n *Node) awaitIndex(ctx context.Context, index uint64) (*fsm.View, error) {
	v, err := n.state.Wait(ctx, index)
	if room := n.space.room(); err != nil && room != nil {
		return nil, refused(CodeNoSpace, "node %s has no changes since index %d: %v", n.id, n.View().Index, room)
	}
	return v, err
}

func (n *Node) readIndexAt(ctx context.Context, leader string) (uint64, error) {
	if leader == n.id {
		return n.readIndexHere(ctx)
	}
	ctx, cancel := n.leaders.during(ctx, leader)
	defer cancel()
	reply, err := n.Call(ctx, leader, "cluster.read", nil)
	if err != nil {
		return 0, err
	}
	if len(reply) != 8 {
		return 0, fmt.Errorf("read index of %d bytes", len(reply))
	}
	return binary.BigEndian.Uint64(reply), nil
}

// readIndex answers a node that reads.
func (n *Node) readIndex(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	index, err := n.readIndexHere(ctx)
	return binary.BigEndian.AppendUint64(nil, index), err
}

func (n *Node) readIndexHere(ctx context.Context) (uint64, error) {
	h := n.half.Load()
	if h == nil || !h.leads() {
		return 0, errNotLeader
	}
	return h.readIndex(ctx)
}

// reads lets reads that come while leadership is being verified share the
// next verification.
type reads struct {
	mu      sync.Mutex
	running bool
	next    *verification
}

type verification struct {
	done  chan struct{}
	index uint64
	err   error
}

// readIndex returns an index that covers all changes acknowledged before the
// call: taken first, it counts if this node is the leader afterwards. A
// leader whose barrier is not applied yet could miss changes of its
// predecessor; see leads.
func (h *half) readIndex(ctx context.Context) (uint64, error) {
	v := h.joinVerification()
	if v == nil {
		return 0, errNotLeader
	}
	select {
	case <-v.done:
		return v.index, v.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (h *half) joinVerification() *verification {
	h.reads.mu.Lock()
	defer h.reads.mu.Unlock()
	if h.reads.next == nil {
		h.reads.next = &verification{done: make(chan struct{})}
	}
	v := h.reads.next
	if !h.reads.running {
		if !h.spawn(h.verify) {
			return nil
		}
		h.reads.running = true
	}
	return v
}

// verify works until nobody waits.
func (h *half) verify() {
	for {
		h.reads.mu.Lock()
		v := h.reads.next
		h.reads.next = nil
		if v == nil {
			h.reads.running = false
			h.reads.mu.Unlock()
			return
		}
		h.reads.mu.Unlock()
		v.index = h.n.View().Index
		v.err = h.verifyLeader()
		close(v.done)
	}
}

// verifyLeader asks a majority whether this node is the leader.
func (h *half) verifyLeader() error {
	if !h.leads() {
		return errNotLeader
	}
	if _, err := h.await(context.Background(), h.raft.VerifyLeader); err != nil {
		return refused(codeNotLeader, "%v", err)
	}
	if !h.leads() {
		return errNotLeader
	}
	return nil
}

// Ready returns nil while this node is a member that has a leader and has
// caught up with it, else the reason why not, in words.
func (n *Node) Ready() error {
	h := n.half.Load()
	if h == nil {
		return n.errOutOfService()
	}
	if halt := n.state.Halted(); halt != nil {
		return halt
	}
	switch leader := n.LeaderID(); {
	case n.Identity().State != "member":
		return errors.New("not a member yet")
	case leader == "":
		return errors.New("no leader")
	case !h.caughtUp.Load():
		return fmt.Errorf("catching up with leader %s", leader)
	case h.raft.State() != raft.Leader:
		if err := h.progress.lag(time.Now(), h.raft.AppliedIndex()); err != nil {
			return fmt.Errorf("catching up with leader %s: %w", leader, err)
		}
	}
	return nil
}

// catchUp notes when the node has been as far as a leader since it started.
func (h *half) catchUp(ctx context.Context) {
	for ctx.Err() == nil {
		changed, poked := h.n.leaders.changed.next(), h.n.poke.next()
		if h.n.LeaderID() != "" && h.n.Identity().State == "member" {
			if _, err := h.n.Read(ctx); err == nil {
				h.caughtUp.Store(true)
				h.n.poke.fire()
				return
			}
		}
		select {
		case <-changed:
		case <-poked:
		case <-time.After(lookLater):
		case <-ctx.Done():
		}
	}
}
