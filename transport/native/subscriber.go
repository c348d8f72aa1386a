package native

import (
	"context"
	"time"

	"floe/fsm"
	"floe/topics"
)

// settleTime is how long Subscribe waits for other nodes to take note.
const settleTime = 2 * time.Second

// Subscriber is one native subscription of some topics. Next is for one
// goroutine; Close is safe to call from any.
type Subscriber struct {
	native *Native
	names  map[topics.ID]string
	gone   map[topics.ID]bool // destroyed; guarded by native.mu
	queue  *queue
}

// Line is what a subscriber is told at once: an event, or what it missed
// before the next one.
type Line struct {
	// Event is nil in lines that only count.
	Event *Received
	// Missed is how many events were dropped.
	Missed uint64
	// Gap says why events of an unknown number may be missing.
	Gap string
}

// Subscribe subscribes to topics. It returns once every other node that can
// be reached has taken note, so that what is published anywhere from then on
// arrives. Error: *fsm.Refusal where there is no such topic, those of
// Group.Read, ctx's. The caller has to Close the subscriber.
func (n *Native) Subscribe(ctx context.Context, names []string) (*Subscriber, error) {
	ids, err := n.resolve(ctx, names)
	if err != nil {
		return nil, err
	}
	s := &Subscriber{native: n, names: ids, gone: map[topics.ID]bool{}, queue: newQueue(n.config.QueueEvents, n.config.QueueBytes, &n.counts.dropped)}
	n.mu.Lock()
	n.local[s] = struct{}{}
	n.seq++
	seq := n.seq
	n.compile()
	n.mu.Unlock()
	n.settle(ctx, seq)
	if err := ctx.Err(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// resolve finds the topics' ids; a missing one is confirmed with the leader.
func (n *Native) resolve(ctx context.Context, names []string) (map[topics.ID]string, error) {
	ids, missing := find(n.config.Group.View(), names)
	if missing == nil {
		return ids, nil
	}
	v, err := n.config.Group.Read(ctx)
	if err != nil {
		return nil, err
	}
	if ids, missing = find(v, names); missing != nil {
		return nil, missing
	}
	return ids, nil
}

func find(v *fsm.View, names []string) (map[topics.ID]string, error) {
	ids := make(map[topics.ID]string, len(names))
	for _, name := range names {
		t := v.Graph.Topic(name)
		if t == nil {
			return nil, &fsm.Refusal{Kind: topics.ErrNoTopic, Name: name}
		}
		ids[t.ID] = name
	}
	return ids, nil
}

// settle waits until the nodes that can be reached know of interest seq.
func (n *Native) settle(ctx context.Context, seq uint64) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for {
		n.mu.Lock()
		done, changed := n.settled(seq), n.changed
		n.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// settled tells whether every other node knows of interest seq or can't be
// reached; n.mu is held.
func (n *Native) settled(seq uint64) bool {
	for _, id := range n.others() {
		in := n.inlets[id]
		if in == nil || in.acked < seq && !in.failing {
			return false
		}
	}
	return true
}

// Next returns the next line, or ctx's error. An event's bytes must not be
// changed: other subscribers share them.
func (s *Subscriber) Next(ctx context.Context) (Line, error) {
	b, err := s.queue.wait(ctx, 1)
	if err != nil {
		return Line{}, err
	}
	line := Line{Missed: b.missed, Gap: b.gap}
	if len(b.items) > 0 {
		r := received(s.names[b.items[0].topic], b.items[0].event)
		line.Event = &r
		s.native.counts.delivered.add(1)
	}
	return line, nil
}

// Close ends the subscription. What is still queued counts as dropped.
func (s *Subscriber) Close() {
	n := s.native
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, open := n.local[s]; !open {
		return
	}
	delete(n.local, s)
	n.seq++
	n.compile()
	s.queue.close()
}

// gap tells all subscribers that events may be missing; n.mu is held.
func (n *Native) gap(text string) {
	for s := range n.local {
		s.queue.note(0, text)
	}
}
