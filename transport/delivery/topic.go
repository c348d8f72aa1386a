package delivery

import (
	"sync/atomic"

	"floe/topics"
)

// Topic is one topic as publishers use it. It may be kept for the topic's
// life. All methods are safe for concurrent use.
type Topic struct {
	hub    *Hub
	id     topics.ID
	name   string
	fanout atomic.Pointer[fanout]

	published atomic.Uint64
	arrived   atomic.Uint64

	// Guarded by hub.mu.
	receivers map[uint64]*Receiver // own subscriptions and links that leave the graph, by serial
	seen      *topics.Topic        // what receivers was last compared with
	passed    map[uint64]*atomic.Uint64
}

// ID returns the topic's id.
func (t *Topic) ID() topics.ID { return t.id }

// Name returns the topic's name.
func (t *Topic) Name() string { return t.name }

// Alive tells whether the topic still exists.
func (t *Topic) Alive() bool { return t.current().plan != nil }

// Publish brings an event that was published on this topic to the topic's
// subscribers, and over its links that let the event's cost pass to theirs.
// It never blocks. What it gives to send is gathered in b; see [Burst].
func (t *Topic) Publish(ev *Event, b *Burst) {
	f, now := t.current(), t.hub.nanos()
	t.published.Add(1)
	t.deliver(f, ev, now, b)
	for i := range f.hops {
		if hop := &f.hops[i]; topics.Passes(hop.cost, ev.Cost) {
			t.pass(hop, ev, now, b)
		}
	}
}

// Deliver brings an event that arrived over a link, or as a message, to the topic's
// subscribers. It goes over no further link.
func (t *Topic) Deliver(ev *Event, b *Burst) {
	t.arrived.Add(1)
	t.deliver(t.current(), ev, t.hub.nanos(), b)
}

// PublishTo brings an event to one subscriber alone and reports whether the
// topic has it.
func (t *Topic) PublishTo(id topics.Identity, ev *Event, b *Burst) bool {
	r := t.current().subscriber(id)
	if r == nil {
		return false
	}
	r.offer(ev, t.hub.nanos(), b)
	return true
}

func (t *Topic) deliver(f *fanout, ev *Event, now int64, b *Burst) {
	for _, r := range f.own {
		r.offer(ev, now, b)
	}
	if f.plan != nil {
		t.hub.tap(t.id, ev)
	}
}

// pass takes an event over one link.
func (t *Topic) pass(hop *hop, ev *Event, now int64, b *Burst) {
	hop.passed.Add(1)
	for _, r := range hop.receivers {
		r.offer(ev, now, b)
	}
	if hop.target != 0 {
		t.hub.tap(hop.target, ev)
	}
}

func (h *Hub) tap(id topics.ID, ev *Event) {
	for _, tap := range h.taps {
		if tap.Wants(id) {
			tap.Push(id, ev)
		}
	}
}
