package delivery

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/topics"
)

// fanout is who gets the events of one topic, as of one view.
type fanout struct {
	view *fsm.View
	plan *topics.Plan // nil: there is no such topic
	own  []*Receiver
	hops []hop
	// byIdentity finds a subscriber of the topic; made at first use.
	byIdentity func() map[topics.Identity]*Receiver
}

// hop is one link out of the topic.
type hop struct {
	cost      int32
	receivers []*Receiver
	target    topics.ID // 0: outside the graph
	passed    *atomic.Uint64
}

func (f *fanout) subscriber(id topics.Identity) *Receiver { return f.byIdentity()[id] }

// current returns the fan-out for the view as it stands.
func (t *Topic) current() *fanout {
	f := t.fanout.Load()
	v := t.hub.group.View()
	if f != nil && f.view == v {
		return f
	}
	if f != nil && f.plan != nil && f.plan.Current(v.Graph) {
		still := *f
		still.view = v
		t.fanout.Store(&still)
		return &still
	}
	return t.compile()
}

// compile works the fan-out out anew. It takes the view under the hub's
// lock, as the sweep does, so that no receiver is opened after its removal.
func (t *Topic) compile() *fanout {
	h := t.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.group.View()
	if v.ClusterID != h.cluster {
		h.closeOpen(Removed)
		h.cluster = v.ClusterID
	}
	f := &fanout{view: v, plan: v.Graph.Plan(t.id)}
	if f.plan != nil && f.plan.Topic.Name != t.name {
		f.plan = nil
	}
	if f.plan != nil && !h.stopped {
		f.own = t.subscribers(f.plan.Topic)
		f.hops = t.hopsOf(f.plan)
	}
	f.byIdentity = sync.OnceValue(f.index)
	t.fanout.Store(f)
	return f
}

func (f *fanout) index() map[topics.Identity]*Receiver {
	m := make(map[topics.Identity]*Receiver, len(f.own))
	for _, r := range f.own {
		m[r.id] = r
	}
	return m
}

func (t *Topic) hopsOf(plan *topics.Plan) []hop {
	hops := make([]hop, len(plan.Hops))
	for i := range plan.Hops {
		h := &plan.Hops[i]
		hops[i] = hop{cost: h.Link.Cost, passed: t.passedOver(h.Link.Serial)}
		if h.Target == nil {
			hops[i].receivers = []*Receiver{t.outward(plan.Topic, &h.Link)}
			continue
		}
		hops[i].target = h.Target.ID
		hops[i].receivers = t.hub.handle(h.Target).subscribers(h.Target)
	}
	return hops
}

func (t *Topic) passedOver(serial uint64) *atomic.Uint64 {
	if t.passed == nil {
		t.passed = make(map[uint64]*atomic.Uint64)
	}
	if t.passed[serial] == nil {
		t.passed[serial] = new(atomic.Uint64)
	}
	return t.passed[serial]
}

// subscribers returns the receivers of a topic's own subscriptions, opening
// those that are new.
func (t *Topic) subscribers(g *topics.Topic) []*Receiver {
	list := make([]*Receiver, len(g.Subscriptions))
	for i := range g.Subscriptions {
		s := &g.Subscriptions[i]
		if list[i] = t.receivers[s.Serial]; list[i] != nil {
			continue
		}
		r := t.newReceiver(s.Identity, s.Serial, s.Proxy)
		r.rules.Retry = retries(s)
		r.queue = NewQueue(*t.hub.limits.Load())
		r.sender = t.hub.config.Opener.Subscriber(r, g, s)
		t.add(r)
		list[i] = r
	}
	return list
}

// retries reads the QoS retryCount as IceStorm does, with C's atoi: what is
// no number, or less than -1, forgives nothing.
func retries(s *topics.Subscription) int {
	n := int(topics.ParseCost([]byte(s.Setting("retryCount"))))
	if n < -1 {
		return 0
	}
	return n
}

// outward returns the receiver of a link that leaves the graph.
func (t *Topic) outward(g *topics.Topic, l *topics.Link) *Receiver {
	if r := t.receivers[l.Serial]; r != nil {
		if sameTarget(r.remote, l.Remote) {
			return r
		}
		t.drop(l.Serial, r, Removed) // the link was given another address
	}
	r := t.newReceiver(l.Remote.Identity, l.Serial, l.Remote.Proxy)
	r.link, r.remote, r.rules.Retry = true, l.Remote, -1
	r.queue = NewQueue(t.hub.config.LinkQueue)
	if m := l.Remote.Messages; m != nil {
		r.exit, r.sender = &exit{to: *m, send: t.hub.config.Messages}, idle{}
	} else {
		r.sender = t.hub.config.Opener.Link(r, g, l)
	}
	t.add(r)
	return r
}

// sameTarget compares two targets of one identity.
func sameTarget(a, b *topics.Remote) bool {
	return a == b || bytes.Equal(a.Proxy, b.Proxy) && a.Cluster == b.Cluster && a.Topic == b.Topic && (a.Messages == nil) == (b.Messages == nil)
}

func (t *Topic) newReceiver(id topics.Identity, serial uint64, proxy []byte) *Receiver {
	c := &t.hub.config
	return &Receiver{
		hub: t.hub, log: c.Log, topic: t.id, name: t.name, id: id, serial: serial, proxy: proxy,
		rules: Rules{Interval: c.Interval, FirstDelay: c.FirstDelay, MaxDelay: c.MaxDelay},
	}
}

func (t *Topic) add(r *Receiver) {
	t.receivers[r.serial] = r
	t.hub.open[t] = struct{}{}
}

// drop closes a receiver and keeps its counts.
func (t *Topic) drop(serial uint64, r *Receiver, reason Reason) {
	delete(t.receivers, serial)
	t.hub.reaper.withdraw(r)
	t.hub.gone.add(r.close(reason))
}

// sweep closes the receivers that g, the topic as it stands, no longer has.
func (t *Topic) sweep(g *topics.Topic) {
	if g != nil && g == t.seen && g.Name == t.name {
		return
	}
	t.seen = g
	keep := make(map[uint64]bool)
	if g != nil && g.Name == t.name {
		for i := range g.Subscriptions {
			keep[g.Subscriptions[i].Serial] = true
		}
		for i := range g.Links {
			keep[g.Links[i].Serial] = g.Links[i].Remote != nil
		}
	}
	for serial, r := range t.receivers {
		if !keep[serial] {
			t.drop(serial, r, Removed)
			t.logRemoved(r)
		}
	}
	for serial := range t.passed {
		if g == nil || !hasLink(g, serial) {
			delete(t.passed, serial)
		}
	}
}

func hasLink(g *topics.Topic, serial uint64) bool {
	for i := range g.Links {
		if g.Links[i].Serial == serial {
			return true
		}
	}
	return false
}

func (t *Topic) logRemoved(r *Receiver) {
	if t.hub.log.GetLevel() > hclog.Debug {
		return
	}
	t.hub.log.Debug("receiver closed", "topic", t.name, "receiver", r.label())
}
