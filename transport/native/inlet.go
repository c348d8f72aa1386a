package native

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"floe/topics"
	"floe/transport/delivery"
)

// The pause between two tries to open a stream grows from the first to the second.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
	openTimeout  = 2 * time.Second
)

// inlet is the receiving end: the stream to one other node, for as long as
// this node has subscribers.
type inlet struct {
	node    string
	cancel  context.CancelFunc
	acked   uint64 // the last interest the other node acknowledged
	failing bool   // the last try to reach it failed
}

// Run keeps streams to all other nodes while there are subscribers. It
// returns, when ctx ends, once all of them are closed.
func (n *Native) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		state := n.config.Group.Changed()
		n.mu.Lock()
		changed := n.changed
		n.reconcile(ctx, &wg)
		n.mu.Unlock()
		select {
		case <-state:
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// others are the ids of the other nodes; n.mu may be held.
func (n *Native) others() []string {
	var ids []string
	for _, m := range n.config.Group.View().Members {
		if m.ID != n.config.Node {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// reconcile starts and ends inlets; n.mu is held.
func (n *Native) reconcile(ctx context.Context, wg *sync.WaitGroup) {
	n.tellDestroyed()
	var needed []string
	if len(n.local) > 0 {
		needed = n.others()
	}
	for id, in := range n.inlets {
		if !slices.Contains(needed, id) {
			in.cancel()
			delete(n.inlets, id)
		}
	}
	for _, id := range needed {
		if n.inlets[id] != nil {
			continue
		}
		in := &inlet{node: id}
		var own context.Context
		own, in.cancel = context.WithCancel(ctx)
		n.inlets[id] = in
		wg.Go(func() { n.keep(own, in) })
	}
}

// tellDestroyed tells subscribers, once, of topics that are gone for good;
// n.mu is held.
func (n *Native) tellDestroyed() {
	g := n.config.Group.View().Graph
	for s := range n.local {
		for id, name := range s.names {
			if g.ByID(id) == nil && !s.gone[id] {
				s.gone[id] = true
				s.queue.note(0, fmt.Sprintf("topic %q was destroyed", name))
			}
		}
	}
}

// keep opens the stream again and again until ctx ends.
func (n *Native) keep(ctx context.Context, in *inlet) {
	pause := firstPause
	for ctx.Err() == nil {
		began := time.Now()
		err := n.receive(ctx, in)
		if ctx.Err() != nil {
			return
		}
		n.lost(in, err)
		if time.Since(began) > longestPause {
			pause = firstPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		pause = min(2*pause, longestPause)
	}
}

// lost notes that a stream ended. Subscribers are told if it had stood.
func (n *Native) lost(in *inlet, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if in.acked > 0 {
		n.gap(fmt.Sprintf("the connection to node %s was lost: %v", in.node, err))
		n.log.Warn("event stream from another node lost", "node", in.node, "error", err)
	} else {
		n.log.Debug("no event stream from another node", "node", in.node, "error", err)
	}
	in.acked, in.failing = 0, true
	n.tell()
}

// receive opens one stream and takes events until it ends.
func (n *Native) receive(ctx context.Context, in *inlet) error {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	s, err := n.config.Open(opening, in.node)
	cancel()
	if err != nil {
		return err
	}
	ctx, cancel = context.WithCancel(ctx)
	defer context.AfterFunc(ctx, s.Abort)()
	var writer sync.WaitGroup
	writer.Go(func() {
		n.sendInterests(ctx, s)
		s.Abort() // wakes the reader
	})
	err = n.takeEvents(in, s)
	cancel()
	writer.Wait()
	s.Abort()
	return err
}

// sendInterests tells the other node what this one wants, at each change.
func (n *Native) sendInterests(ctx context.Context, s Stream) {
	told := uint64(0)
	for {
		n.mu.Lock()
		ids, seq := n.wanted()
		changed := n.changed
		n.mu.Unlock()
		if seq != told {
			if s.WriteFrame(interestFrame(seq, ids)) != nil || s.Flush() != nil {
				return
			}
			told = seq
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

var errNoTail = errors.New("an event is to be repeated before there was one")

// takeEvents hands the events of a stream to the subscribers of this node.
func (n *Native) takeEvents(in *inlet, s Stream) error {
	var last *delivery.Event
	for {
		b, err := s.ReadFrame()
		if err != nil {
			return err
		}
		f, err := parseFrame(b)
		if err != nil {
			return err
		}
		switch f.kind {
		case frameAck:
			n.noteAck(in, f.number)
			continue
		case frameMissed:
			n.noteMissed(f.number)
			continue
		case frameEvent:
			if last, err = n.config.Hub.NewEvent(f.tail); err != nil {
				return err
			}
		case frameRepeat:
			if last == nil {
				return errNoTail
			}
		default:
			return fmt.Errorf("%w: type %q from a publisher's node", errFrame, f.kind)
		}
		n.pushLocal(n.wants.Load(), topics.ID(f.number), last)
	}
}

func (n *Native) noteAck(in *inlet, seq uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	in.acked, in.failing = seq, false
	n.tell()
}

// noteMissed tells all subscribers: which of them would have got the
// dropped events is not known.
func (n *Native) noteMissed(count uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for s := range n.local {
		s.queue.note(count, "")
	}
}
