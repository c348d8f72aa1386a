package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"floe/routing"
	"floe/transport/rmr/proto"
)

// ErrStopped is returned once the Relay is shut down.
var ErrStopped = errors.New("RMR relay stopped")

// Relay forwards messages. Its methods may be called by several goroutines at
// once.
type Relay struct {
	cfg    Config
	source []byte // cfg.Source
	log    complaints
	ctx    context.Context // ends with the Relay
	cancel context.CancelFunc
	wg     sync.WaitGroup

	current           atomic.Pointer[snapshot]
	updating          sync.Mutex   // held while current is made anew
	clock             atomic.Int64 // nanoseconds since the Relay began, up to a tick old
	begun             time.Time
	turns, topicTurns routing.Chooser
	calls, others     *memory
	senders           sync.Pool // of routers for messages of our own
	answering         chan struct{}
	stopping          atomic.Bool

	dropped      [reasons]atomic.Uint64 // what no outbox counted
	published    atomic.Uint64
	healthChecks atomic.Uint64
	tables       atomic.Uint64
	badAnswers   atomic.Uint64
	alarms       alarms
	routes       routeCounts

	// life keeps goroutines from being started once the Relay waits for them.
	life sync.Mutex
	dead bool

	mu        sync.RWMutex
	closed    bool
	ids       uint64
	endpoints map[string]*endpoint
	inlets    map[uint64]*inlet
	listeners []*listener
	past      Counts // of outboxes that are gone
}

// New returns a Relay that goes by the group's routes. Shut it down after use.
func New(cfg Config) *Relay {
	cfg = cfg.filled()
	r := &Relay{
		cfg: cfg, source: []byte(cfg.Source), log: newComplaints(cfg.Log, nil), begun: time.Now(),
		calls: newMemory(cfg.Replies, int64(replyAge)), others: newMemory(cfg.Replies, int64(replyAge)),
		answering: make(chan struct{}, maxAnswering),
		endpoints: map[string]*endpoint{}, inlets: map[uint64]*inlet{},
	}
	r.senders.New = func() any {
		s := &sender{}
		s.router = newRouter(r, noTopics, &s.debts)
		return s
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.current.Store(&snapshot{})
	r.tick()
	r.update()
	r.wg.Go(r.watch)
	r.wg.Go(r.maintain)
	return r
}

// Serve takes messages on a listener, for whatever the table says, until
// [Relay.Shutdown], with nil, or the listener fails. It closes the listener.
func (r *Relay) Serve(l net.Listener) error { return r.serve(l, everybody) }

// ServeTopics takes messages on a listener whose senders have served all but
// the topics of their entries: those alone get them, and nobody
// else. It returns as Serve does.
func (r *Relay) ServeTopics(l net.Listener) error { return r.serve(l, topicsOnly) }

func (r *Relay) serve(l net.Listener, m mode) error {
	defer l.Close()
	ln := &listener{relay: r, mode: m, socket: l, log: newComplaints(r.cfg.Log, l.Addr()), from: map[netip.Addr]int{}}
	r.mu.Lock()
	stopped := r.closed || r.stopping.Load()
	if !stopped {
		r.listeners = append(r.listeners, ln)
	}
	r.mu.Unlock()
	if stopped {
		return ErrStopped
	}
	return ln.serve()
}

// Undelivered says why a message of our own went nowhere.
type Undelivered struct {
	Reason      Reason
	Type, SubID int32
	MEID        string
}

// Error names the message and the reason.
func (e *Undelivered) Error() string {
	return fmt.Sprintf("message of type %d, subscription id %d, MEID %q went nowhere: %s", e.Type, e.SubID, e.MEID, e.Reason)
}

// sender is what one Send needs.
type sender struct {
	router *router
	debts  debts
	msg    proto.Message
	frame  []byte
}

// Send sends a message that this node makes itself, such as from an event of
// a topic: by the table, but to no topic. Its source is set to Config.Source. It does not
// block, and keeps nothing of m. Errors: *[Undelivered] if nobody is to get
// it, which is counted; *proto.SizeError, *proto.TextError; [ErrStopped].
// What becomes of it in queues is counted only.
func (r *Relay) Send(m *proto.Message) error {
	if r.stopping.Load() {
		return ErrStopped
	}
	if size := m.Size(); size > int64(r.cfg.Limit) {
		return &proto.SizeError{Size: size, Limit: int64(r.cfg.Limit)}
	}
	s := r.senders.Get().(*sender)
	defer r.senders.Put(s)
	s.msg = *m
	s.msg.Src, s.msg.SrcIP = r.source, r.source
	frame, err := proto.Append(s.frame[:0], &s.msg)
	if err != nil {
		return err
	}
	if s.frame = frame; cap(frame) > chunkSize {
		s.frame = nil
	}
	reason, ok := s.router.route(frame, &s.msg, nil)
	s.debts.settle()
	s.msg = proto.Message{}
	if !ok {
		r.dropped[reason].Add(1)
		return &Undelivered{Reason: reason, Type: m.Type, SubID: m.SubID, MEID: string(m.MEID)}
	}
	return nil
}

// spawn runs f in a goroutine that Shutdown waits for, or returns false when
// it is too late for that.
func (r *Relay) spawn(f func()) bool {
	r.life.Lock()
	defer r.life.Unlock()
	if r.dead {
		return false
	}
	r.wg.Go(f)
	return true
}

// sleep waits and returns true, or false if the Relay or whatever stop stands
// for ended before.
func (r *Relay) sleep(d time.Duration, stop <-chan struct{}) bool {
	if d <= 0 {
		return r.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
	case <-r.ctx.Done():
	}
	return false
}
