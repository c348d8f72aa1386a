package relay

import (
	"encoding/binary"

	"floe/routing"
	"floe/transport/rmr/proto"
)

// mode says which members of groups messages are for.
type mode int

const (
	everybody  mode = iota
	topicsOnly      // messages whose sender has served the rest
	noTopics        // messages made from a topic's events
)

// maxOrigins is how many senders a connection's router remembers; after that
// it begins anew.
const maxOrigins = 1024

// router routes the messages of one goroutine, without memory of its own for each.
type router struct {
	relay  *Relay
	mode   mode
	health func(endpoint string) routing.Health

	origins map[originKey]*origin
	of      uint64 // the version of apps that origins were made with
	last    *origin

	// What follows is about the message that is being routed.
	snap   *snapshot
	origin *origin
	frame  []byte
	msg    *proto.Message
	from   *inlet // nil: it is our own
	debts  *debts
}

// debts are the outboxes that one goroutine owes a flush.
type debts struct{ list []*outbox }

func (d *debts) add(o *outbox) { d.list = append(d.list, o) }

func (d *debts) settle() {
	for i, o := range d.list {
		o.flush()
		d.list[i] = nil
	}
	d.list = d.list[:0]
}

type originKey struct{ src, srcIP string }

func newRouter(r *Relay, m mode, d *debts) *router {
	t := &router{relay: r, mode: m, debts: d}
	t.health = t.judge
	return t
}

// route gives a message to all it is for; from is where its answers go, nil:
// it is our own. It returns false, and why, if it is for nobody; then nothing
// was counted.
func (t *router) route(frame []byte, m *proto.Message, from *inlet) (Reason, bool) {
	t.frame, t.msg, t.from = frame, m, from
	t.snap = t.relay.newest()
	t.origin = t.sender(m)
	reason, ok := t.byEntry()
	t.frame, t.msg, t.snap = nil, nil, nil // a silent connection keeps no old table
	return reason, ok
}

// sender returns the origin of a message, without allocating if it is known.
func (t *router) sender(m *proto.Message) *origin {
	if t.of != t.snap.apps.version {
		t.of, t.last, t.origins = t.snap.apps.version, nil, nil
	}
	if o := t.last; o != nil && o.Source == string(m.Src) && o.Address == string(m.SrcIP) {
		return o
	}
	o := t.origins[originKey{string(m.Src), string(m.SrcIP)}]
	if o == nil {
		if t.origins == nil || len(t.origins) >= maxOrigins {
			t.origins = map[originKey]*origin{}
		}
		key := originKey{string(m.Src), string(m.SrcIP)}
		o = t.snap.apps.origin(key.src, key.srcIP)
		t.origins[key] = o
	}
	t.last = o
	return o
}

func (t *router) byEntry() (Reason, bool) {
	e := t.snap.table.Lookup(t.msg.Type, t.msg.SubID, t.origin.Sender)
	if e == nil {
		return NoEntry, false
	}
	t.relay.routes.add(e)
	switch {
	case t.mode == topicsOnly:
		return NoEntry, t.publishAll(e)
	case e.ByMEID:
		return t.byMEID()
	}
	served := false
	for group := range e.Groups {
		served = t.serve(e, group) || served
	}
	return NoEntry, served
}

func (t *router) byMEID() (Reason, bool) {
	owner, ok := t.snap.meids.Owner(string(t.msg.MEID))
	if !ok {
		return UnknownMEID, false
	}
	if t.barred(owner) {
		return DeadEndpoint, false
	}
	t.send(owner)
	return 0, true
}

// serve gives a copy to one group. It returns false if the group is not for
// this kind of message.
func (t *router) serve(e *routing.Entry, group int) bool {
	if t.mode == noTopics && allTopics(e.Groups[group]) {
		return false
	}
	t.relay.mu.RLock()
	member, ok := t.relay.turns.Pick(e, group, t.health)
	t.relay.mu.RUnlock()
	if !ok {
		t.relay.dropped[DeadEndpoint].Add(1)
		return true
	}
	if topic, is := routing.Topic(member); is {
		t.publish(topic)
	} else {
		t.send(member)
	}
	return true
}

// publishAll gives a copy to one topic of each group that has any.
func (t *router) publishAll(e *routing.Entry) (served bool) {
	for group := range e.Groups {
		member, ok := t.relay.topicTurns.Pick(e, group, onlyTopics)
		if !ok {
			continue
		}
		topic, _ := routing.Topic(member)
		t.publish(topic)
		served = true
	}
	return served
}

func (t *router) publish(topic string) {
	t.relay.published.Add(1)
	t.relay.cfg.Publish(topic, t.msg)
}

func onlyTopics(member string) routing.Health {
	if _, is := routing.Topic(member); is {
		return routing.Alive
	}
	return routing.Barred
}

func allTopics(group []string) bool {
	for _, member := range group {
		if _, is := routing.Topic(member); !is {
			return false
		}
	}
	return true
}

// judge says whether a member may get the message. The relay's lock is held,
// at least for reading.
func (t *router) judge(member string) routing.Health {
	if _, is := routing.Topic(member); is {
		if t.mode == noTopics {
			return routing.Barred
		}
		return routing.Alive
	}
	if t.barred(member) {
		return routing.Barred
	}
	if t.snap.isDead(member) {
		return routing.Dead
	}
	if e := t.relay.endpoints[member]; e != nil && (e.dead.Load() || e.full.Load()) {
		return routing.Dead
	}
	return routing.Alive
}

// barred tells whether an endpoint is the sender's own, or a listener of this
// cluster, where the message would go round.
func (t *router) barred(endpoint string) bool {
	_, ours := t.snap.own[endpoint]
	return ours || t.origin.has(endpoint)
}

// send puts the frame into an endpoint's queue.
func (t *router) send(name string) {
	for {
		e := t.relay.endpoint(name)
		if e == nil {
			t.relay.dropped[Stopped].Add(1)
			return
		}
		if t.from != nil {
			t.relay.remember(e.id, t.from.id, t.msg)
		}
		switch e.put(t.frame) {
		case owing:
			t.debts.add(&e.outbox)
			return
		case taken, refused:
			return
		}
		// It was closed for being idle just now: there will be another one.
	}
}

// setLength has a frame begin with its length in little endian, by which the
// library goes: it waits for ever for the rest of one that has it otherwise.
func setLength(frame []byte) {
	if n := uint32(len(frame)); binary.LittleEndian.Uint32(frame) != n {
		binary.LittleEndian.PutUint32(frame, n)
	}
}
