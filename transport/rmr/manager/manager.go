package manager

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Manager is the Route Manager of one node. Its methods are safe for
// concurrent use.
type Manager struct {
	cfg      Config
	node     string
	log      hclog.Logger
	complain *complaints
	buckets  *buckets
	lease    lease
	roll     *roll
	acks     acks
	contents contents
	encoders chan struct{}
	edition  atomic.Pointer[edition] // nil: there is no table yet
	followed atomic.Uint64           // index that the edition is made of
	counter  atomic.Uint64           // of encoded texts
	counts   counts

	ctx    context.Context // of sessions; ends at Shutdown
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	accepted  int
	sessions  map[string]*session
	telling   map[string]bool
}

// New makes a Manager and has it answer the calls of other nodes. Call Run
// and Serve to have it work, and Shutdown at the end in any case.
func New(cfg Config) *Manager {
	cfg = cfg.filled()
	m := &Manager{
		cfg: cfg, node: cfg.Group.ID(), log: cfg.Log, complain: newComplaints(cfg.Log),
		buckets: &buckets{rate: cfg.Rate}, roll: newRoll(), encoders: make(chan struct{}, runtime.GOMAXPROCS(0)),
		listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{},
		sessions: map[string]*session{}, telling: map[string]bool{},
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	cfg.Group.Handle(renewMethod, m.renewed)
	cfg.Group.Handle(resignMethod, m.resignedNow)
	cfg.Group.Handle(againMethod, m.again)
	cfg.Group.Handle(appsMethod, m.tellApps)
	return m
}

// Run follows the state, keeps the lease and, on the leader, watches the
// other nodes, until ctx ends. It has to run on every node, also on one
// without a listener: the leader takes a node that does not renew its lease for dead.
func (m *Manager) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	var ended []chan struct{}
	for _, work := range []func(context.Context){m.follow, m.keepLease, m.lead, m.commitAcks} {
		done := make(chan struct{})
		if m.spawn(func() { defer close(done); work(ctx) }) {
			ended = append(ended, done)
		}
	}
	for _, done := range ended {
		<-done
	}
}

// resignTime is how long Shutdown tries to tell the leader.
const resignTime = time.Second

// Shutdown closes the listeners, ends what runs (tables under way are waited
// for a moment: a program whose acknowledgement finds its connection closed never
// sends another one), and tells the leader, who then gives the apps to other
// nodes at once. Call it before the group stops. It returns when all is
// done, at the latest a few seconds after ctx ends.
func (m *Manager) Shutdown(ctx context.Context) {
	m.stop()
	m.resign(ctx)
}

// Drain has other nodes serve the apps of this one, which pushes nothing more
// unasked; it goes on answering those that ask. undo lets it serve again.
func (m *Manager) Drain(ctx context.Context, undo bool) {
	m.lease.refuse(!undo)
	if !undo {
		m.resign(ctx)
		return
	}
	// Else the leader would give away who asks here until the next renewal.
	if err := m.renew(ctx, time.Now()); err != nil {
		m.log.Debug("could not tell the leader that this node serves apps again", "error", err)
	}
}

// resign tells the leader that this node pushes nothing unasked any more.
func (m *Manager) resign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, resignTime)
	defer cancel()
	if leader := m.cfg.Group.LeaderID(); leader != "" {
		if _, err := m.cfg.Group.Call(ctx, leader, resignMethod, nil); err != nil {
			m.log.Debug("could not tell the leader that this node serves no apps any more", "error", err)
		}
	}
}

// stop ends everything but the answers to other nodes.
func (m *Manager) stop() {
	m.mu.Lock()
	m.closed = true
	for l := range m.listeners {
		_ = l.Close()
	}
	var sessions []*session
	for _, s := range m.sessions {
		sessions = append(sessions, s)
	}
	m.mu.Unlock()
	m.cancel()
	for _, s := range sessions {
		<-s.done
	}
	m.lease.refuse(true)
	m.mu.Lock()
	for c := range m.conns {
		_ = c.nc.Close()
	}
	m.mu.Unlock()
	m.wg.Wait()
}

// spawn runs f as a goroutine that stop waits for, unless it is too late.
func (m *Manager) spawn(f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.wg.Go(f)
	return true
}

// post hands a request to the session of an app, which is made if there is
// none; nil makes it only. It returns false if there are too many.
func (m *Manager) post(name string, a *ask) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	s := m.sessions[name]
	if s == nil {
		if len(m.sessions) >= m.cfg.Apps {
			return false
		}
		s = newSession(m, name)
		m.sessions[name] = s
		m.wg.Go(s.run)
	}
	if a == nil {
		return true
	}
	select {
	case <-s.asks: // of two the later counts
	default:
	}
	s.asks <- a
	return true
}

// leave takes a session out, unless a request came for it.
func (m *Manager) leave(s *session) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(s.asks) > 0 && !m.closed {
		return false
	}
	delete(m.sessions, s.name)
	return true
}

func (m *Manager) wakeAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		s.poke(s.wake)
	}
}

func (m *Manager) session(name string) *session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[name]
}
