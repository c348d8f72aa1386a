package native

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
)

// Group is the replicated state as this face needs it.
type Group interface {
	View() *fsm.View
	Changed() <-chan struct{}
	Read(ctx context.Context) (*fsm.View, error)
}

// Hub takes and makes events; *delivery.Hub does.
type Hub interface {
	Topic(name string) *delivery.Topic
	NewEvent(tail []byte) (*delivery.Event, error)
}

// Stream is one stream between two nodes; *wire.Stream is one. See there for
// what its methods do.
type Stream interface {
	ReadFrame() ([]byte, error)
	WriteFrame(parts ...[]byte) error
	Flush() error
	Abort()
}

// Config says what a [Native] needs. Node, Group, Hub and Open are required.
type Config struct {
	// Node is this node's id.
	Node string
	// Group is the replicated state.
	Group Group
	// Hub takes what is published.
	Hub Hub
	// Open opens a stream to another node, which gives it to [Native.Serve].
	Open func(ctx context.Context, node string) (Stream, error)
	// MessageSizeMax is the largest event taken, in bytes; 1 MiB.
	MessageSizeMax int
	// QueueEvents and QueueBytes bound each queue.
	QueueEvents, QueueBytes int
	// Log gets what a person must know; nil is silence.
	Log hclog.Logger
}

// Native is the native face of one node. It is a delivery.Tap: events reach
// subscribers, and other nodes, through Push. Safe for concurrent use.
type Native struct {
	config Config
	log    hclog.Logger
	wants  atomic.Pointer[interest]
	counts counts

	mu      sync.Mutex
	local   map[*Subscriber]struct{}
	outlets map[*outlet]struct{}
	inlets  map[string]*inlet
	seq     uint64        // counts changes of local's topics
	changed chan struct{} // closed when something above changes
}

// interest is who wants which topic's events, compiled once per change.
type interest struct {
	local  map[topics.ID][]*Subscriber
	remote map[topics.ID][]*outlet
}

// counter is a figure for Stats.
type counter struct{ atomic.Uint64 }

func (c *counter) add(n uint64) { c.Add(n) }

type counts struct{ offered, delivered, dropped, between counter }

// Stats are figures since this node started, counted per event and native
// subscriber of this node.
type Stats struct {
	Offered, Delivered, Dropped uint64
	Queued                      int
	Subscribers                 int
	// Topics is how many topics they want.
	Topics int
	// DroppedBetween counts the events of this node that subscribers of other
	// nodes wanted, once per node, but that the way there had no room for.
	DroppedBetween uint64
}

// New returns a Native without subscribers. Register it as a tap of the hub,
// hand it the streams of other nodes, and call Run.
func New(config Config) *Native {
	n := &Native{
		config: config, log: config.Log,
		local: map[*Subscriber]struct{}{}, outlets: map[*outlet]struct{}{}, inlets: map[string]*inlet{},
		changed: make(chan struct{}),
	}
	if n.log == nil {
		n.log = hclog.NewNullLogger()
	}
	if n.config.MessageSizeMax <= 0 {
		n.config.MessageSizeMax = 1 << 20
	}
	n.wants.Store(&interest{})
	return n
}

// Wants tells whether anybody here or elsewhere wants the topic's events.
func (n *Native) Wants(id topics.ID) bool {
	w := n.wants.Load()
	return len(w.local[id]) > 0 || len(w.remote[id]) > 0
}

// Interest returns how many subscribers of this node want a topic's events,
// and the ids of other nodes that have some, sorted.
func (n *Native) Interest(id topics.ID) (here int, nodes []string) {
	w := n.wants.Load()
	for _, o := range w.remote[id] {
		nodes = append(nodes, o.node)
	}
	slices.Sort(nodes)
	return len(w.local[id]), slices.Compact(nodes)
}

// Push hands over an event of a topic. It never blocks.
func (n *Native) Push(id topics.ID, ev *delivery.Event) {
	w := n.wants.Load()
	n.pushLocal(w, id, ev)
	for _, o := range w.remote[id] {
		o.queue.put(item{id, ev})
	}
}

func (n *Native) pushLocal(w *interest, id topics.ID, ev *delivery.Event) {
	for _, s := range w.local[id] {
		n.counts.offered.add(1)
		s.queue.put(item{id, ev})
	}
}

// Publish publishes one event on a topic. Errors: *fsm.Refusal where there is
// no such topic, which is confirmed with the leader before it is said;
// *TooLarge; those of Group.Read.
func (n *Native) Publish(ctx context.Context, topic string, m Message) error {
	tail, err := m.tail()
	if err != nil {
		return &Invalid{err.Error()}
	}
	if len(tail) > n.config.MessageSizeMax {
		return &TooLarge{Size: len(tail), Limit: n.config.MessageSizeMax}
	}
	ev, err := n.config.Hub.NewEvent(tail)
	if err != nil {
		return &Invalid{err.Error()}
	}
	t := n.config.Hub.Topic(topic)
	if t == nil {
		if _, err := n.config.Group.Read(ctx); err != nil {
			return err
		}
		t = n.config.Hub.Topic(topic)
	}
	if t == nil {
		return &fsm.Refusal{Kind: topics.ErrNoTopic, Name: topic}
	}
	t.Publish(ev, nil)
	return nil
}

// TooLarge says that an event is over the limit.
type TooLarge struct{ Size, Limit int }

// Error names both sizes, in bytes.
func (e *TooLarge) Error() string {
	return fmt.Sprintf("the event has %d bytes; the limit is %d (--message-size-max)", e.Size, e.Limit)
}

// Invalid says that a message can't be an event.
type Invalid struct{ Text string }

// Error is the text.
func (e *Invalid) Error() string { return e.Text }

// Stats returns the figures.
func (n *Native) Stats() Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := Stats{Offered: n.counts.offered.Load(), Delivered: n.counts.delivered.Load(), Dropped: n.counts.dropped.Load(), Subscribers: len(n.local), Topics: len(n.wants.Load().local)}
	s.DroppedBetween = n.counts.between.Load()
	for sub := range n.local {
		s.Queued += sub.queue.len()
	}
	return s
}

// compile works out anew who wants what; n.mu is held.
func (n *Native) compile() {
	w := &interest{local: map[topics.ID][]*Subscriber{}, remote: map[topics.ID][]*outlet{}}
	for s := range n.local {
		for id := range s.names {
			w.local[id] = append(w.local[id], s)
		}
	}
	for o := range n.outlets {
		for _, id := range o.ids {
			w.remote[id] = append(w.remote[id], o)
		}
	}
	n.wants.Store(w)
	n.tell()
}

// tell wakes whoever waits for a change; n.mu is held.
func (n *Native) tell() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// wanted returns the topics that subscribers of this node want, ascending,
// and the sequence number of that set; n.mu is held.
func (n *Native) wanted() ([]topics.ID, uint64) {
	return slices.Sorted(maps.Keys(n.wants.Load().local)), n.seq
}
