package delivery

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/topics"
)

// Group is what the hub needs of the replicated state; *cluster.Node has it.
type Group interface {
	// View returns the local copy of the state.
	View() *fsm.View
	// Changed returns a channel that is closed at the view's next change.
	Changed() <-chan struct{}
	// Propose has a change applied once, or says why it was not.
	Propose(ctx context.Context, op fsm.Op, from string) (fsm.Result, error)
}

// Confirm asks another voter whether it can reach what a proxy names. asked
// is false where no other voter is up.
type Confirm func(ctx context.Context, proxy []byte) (reachable, asked bool)

// Tap is told of events that native subscribers may want, on this node or
// others. Its methods are called by publishers: they must be quick, must not
// block, and must be safe for concurrent use.
type Tap interface {
	// Wants tells whether anybody listens to that topic.
	Wants(id topics.ID) bool
	// Push hands over an event of that topic; it was published there or came
	// over a link.
	Push(id topics.ID, ev *Event)
}

// Config says what a [Hub] needs. Group and Opener must be given; the zero
// value of all else has a default.
type Config struct {
	Group  Group
	Opener Opener
	// Confirm gives the second opinion before a receiver that could not be
	// reached is removed; nil: none is asked for.
	Confirm Confirm
	// Messages takes the events of links that lead to messages. Publishers
	// call it: it must be quick, must not block, and must be safe for
	// concurrent use; events never change, so it may keep their bytes. An
	// error means that the event was not sent, and counts as dropped: for the
	// reason of an *[Unsent], else as Refused. nil refuses all.
	Messages func(to topics.Messages, ev *Event) error
	// Log gets what a person must know; nil is silence.
	Log hclog.Logger
	// Queue bounds each subscriber's queue; 10000 events and 16 MiB.
	Queue Limits
	// LinkQueue bounds each queue of a link that leaves the cluster;
	// 250000 events and 128 MiB. Its policy is always DropOldest.
	LinkQueue Limits
	// Interval is the discard interval; 60 s.
	Interval time.Duration
	// ReapEvery is the shortest time between two proposals of removals; 100 ms.
	ReapEvery time.Duration
	// FirstDelay and MaxDelay bound the back-off in an outage; 50 ms and 5 s,
	// at most a quarter of Interval.
	FirstDelay, MaxDelay time.Duration
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	c.Queue = c.Queue.withDefaults(10_000, 16<<20)
	c.LinkQueue = c.LinkQueue.withDefaults(250_000, 128<<20)
	c.LinkQueue.Policy = DropOldest
	c.Interval = orDuration(c.Interval, time.Minute)
	c.ReapEvery = orDuration(c.ReapEvery, 100*time.Millisecond)
	c.FirstDelay = orDuration(c.FirstDelay, 50*time.Millisecond)
	c.MaxDelay = max(c.FirstDelay, min(orDuration(c.MaxDelay, 5*time.Second), c.Interval/4))
	return c
}

func (l Limits) withDefaults(events, bytes int) Limits {
	if l.Events <= 0 {
		l.Events = events
	}
	if l.Bytes <= 0 {
		l.Bytes = bytes
	}
	return l
}

func orDuration(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// Hub brings the events published on this node to their receivers. All
// methods are safe for concurrent use.
type Hub struct {
	config Config
	log    hclog.Logger
	group  Group
	start  time.Time
	reaper *reaper
	taps   []Tap
	topics sync.Map // topics.ID -> *Topic

	mu      sync.Mutex
	open    map[*Topic]struct{} // those with receivers
	cluster string              // id of the cluster the receivers belong to
	gone    Counts              // of receivers that were closed
	stopped bool
	tidied  time.Time // when handles were last let go of

	limits atomic.Pointer[Limits] // of subscribers' queues
}

var errQueueLimit = errors.New("queue limit reached")

// New returns a hub. Events published before Run are queued and sent too;
// what Run alone does is following removals.
func New(config Config) *Hub {
	config = config.withDefaults()
	h := &Hub{config: config, log: config.Log, group: config.Group, start: time.Now(), open: make(map[*Topic]struct{})}
	h.limits.Store(&config.Queue)
	h.reaper = newReaper(h)
	return h
}

// Tap registers a tap. It must be called before the first event is published.
func (h *Hub) Tap(t Tap) { h.taps = append(h.taps, t) }

// NewEvent returns the event that an Ice tail stands for; see [NewEvent].
func (h *Hub) NewEvent(tail []byte) (*Event, error) { return NewEvent(tail) }

// Topic returns the topic of that name, nil if there is none. It takes no
// lock; the result may be kept for the topic's life.
func (h *Hub) Topic(name string) *Topic { return h.handle(h.group.View().Graph.Topic(name)) }

// TopicByID returns the topic of that id, nil if there is none.
func (h *Hub) TopicByID(id topics.ID) *Topic { return h.handle(h.group.View().Graph.ByID(id)) }

func (h *Hub) handle(t *topics.Topic) *Topic {
	if t == nil {
		return nil
	}
	if known, found := h.topics.Load(t.ID); found && known.(*Topic).name == t.Name {
		return known.(*Topic)
	}
	return h.addTopic(t)
}

func (h *Hub) addTopic(t *topics.Topic) *Topic {
	fresh := &Topic{hub: h, id: t.ID, name: strings.Clone(t.Name), receivers: make(map[uint64]*Receiver)}
	known, found := h.topics.LoadOrStore(t.ID, fresh)
	if !found || known.(*Topic).name == t.Name {
		return known.(*Topic)
	}
	// An id that stands for another name: this node entered another cluster.
	h.topics.Store(t.ID, fresh)
	return fresh
}

// SetQueue changes the bounds of the queues of subscribers that are opened
// from now on and of all that are open.
func (h *Hub) SetQueue(l Limits) {
	l = l.withDefaults(10_000, 16<<20)
	h.limits.Store(&l)
	for _, r := range h.receivers() {
		if !r.link {
			r.setLimits(l)
		}
	}
}

// Run follows the state until ctx ends: it closes the receivers that were
// removed and has dead ones removed. At its end all receivers are closed and
// what they had queued is dropped; see [Hub.Drain].
func (h *Hub) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { h.reaper.run(ctx) })
	for ctx.Err() == nil {
		changed := h.group.Changed()
		h.sweep()
		select {
		case <-changed:
			rest(ctx, sweepEvery)
		case <-ctx.Done():
		}
	}
	wg.Wait()
	h.closeAll()
	return nil
}

// sweepEvery bounds how often the receivers are compared with the state, as
// thousands of changes may come in a second.
const sweepEvery = 20 * time.Millisecond

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// sweep closes the receivers that are no longer in the state.
func (h *Hub) sweep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.group.View()
	if v.ClusterID != h.cluster {
		h.closeOpen(Removed)
		h.cluster = v.ClusterID
	}
	for t := range h.open {
		t.sweep(v.Graph.ByID(t.id))
		if len(t.receivers) == 0 {
			delete(h.open, t)
		}
	}
	if now := h.now(); now.Sub(h.tidied) > tidyEvery {
		h.tidied = now
		h.forget(v)
	}
}

const tidyEvery = 5 * time.Second

// forget lets go of the handles of topics that are no more.
func (h *Hub) forget(v *fsm.View) {
	h.topics.Range(func(id, t any) bool {
		if _, open := h.open[t.(*Topic)]; !open && v.Graph.ByID(id.(topics.ID)) == nil {
			h.topics.CompareAndDelete(id, t)
		}
		return true
	})
}

func (h *Hub) closeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.closeOpen(Stopped)
}

func (h *Hub) closeOpen(reason Reason) {
	for t := range h.open {
		for serial, r := range t.receivers {
			t.drop(serial, r, reason)
		}
	}
	clear(h.open)
}

// receivers returns all that are open.
func (h *Hub) receivers() []*Receiver {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*Receiver
	for t := range h.open {
		for _, r := range t.receivers {
			all = append(all, r)
		}
	}
	return all
}

func (h *Hub) now() time.Time { return time.Now() }

// nanos is the clock of the queues, in nanoseconds since the hub was made.
func (h *Hub) nanos() int64 { return int64(time.Since(h.start)) }
