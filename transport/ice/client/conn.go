package client

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"floe/transport/delivery"
	"floe/transport/socket"
)

// conn is one connection, or one datagram socket.
//
// Lock order: role, a source's lock, mu, answers.
type conn struct {
	client  *Client
	address address
	raw     net.Conn // what was dialled
	nc      net.Conn // what carries Ice: raw, TLS or WebSocket on it
	limit   int
	wake    chan struct{}

	// role is held by whoever writes: the connection's own goroutine, which
	// may wait for the peer, or one that flushes and never waits.
	role   sync.Mutex
	direct *socket.Conn // nil: only the connection's own goroutine can write
	carry  *batch       // what a flush could not write wholly, nil: nothing
	sent   int          // bytes of carry that are written

	mu       sync.Mutex
	state    connState
	cause    error // why it is lost
	ready    []source
	head     int // of ready
	attached map[source]struct{}
	beat     bool // a heartbeat is to be sent

	answers sync.Mutex
	pending map[int32]source
	nextID  int32
	due     time.Time // since when an answer is due

	// When something was read, written, and sent or answered, see moment.
	// Heartbeats are no use.
	lastRead, lastWrite, lastUse atomic.Int64
}

type connState int

const (
	connOpen connState = iota
	connClosing
	connLost
)

// maxDatagram is the largest UDP payload.
const maxDatagram = 65507

func newConn(c *Client, a address, raw, nc net.Conn) *conn {
	conn := &conn{
		client: c, address: a, raw: raw, nc: nc, limit: c.config.MessageSizeMax, wake: make(chan struct{}, 1),
		attached: make(map[source]struct{}), pending: make(map[int32]source),
	}
	if a.datagram() {
		conn.limit = min(conn.limit, maxDatagram)
	}
	if conn.direct = socket.Wrap(nc); conn.direct != nil {
		conn.nc = conn.direct
	}
	now := moment(time.Now())
	conn.lastRead.Store(now)
	conn.lastWrite.Store(now)
	conn.lastUse.Store(now)
	return conn
}

// attach adds a source. It reports false where the connection is no longer
// open.
func (c *conn) attach(s source) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != connOpen {
		return false
	}
	s.place().listed = false
	c.attached[s] = struct{}{}
	return true
}

// detach removes a source: it will not hear of the connection's end.
func (c *conn) detach(s source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.attached, s)
	if p := s.place(); p.listed {
		p.listed = false
		c.ready[slices.Index(c.ready, s)] = nil
	}
}

// enqueue has an attached source filled: at the end of b, or soon where b is
// nil. It reports false where the connection is being closed and the source
// should use another one. On a lost connection nothing happens: the source
// is about to hear of it.
func (c *conn) enqueue(s source, b *delivery.Burst) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != connOpen {
		return c.state == connLost
	}
	p := s.place()
	if _, ours := c.attached[s]; p.listed || !ours {
		return true
	}
	p.listed = true
	c.ready = append(c.ready, s)
	if !b.Later(c) {
		c.signal()
	}
	return true
}

func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// next returns the next source that is ready, nil if there is none.
func (c *conn) next() source {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != connOpen {
		return nil
	}
	for c.head < len(c.ready) {
		s := c.ready[c.head]
		c.ready[c.head] = nil
		c.head++
		if s != nil { // nil: it left
			s.place().listed = false
			return s
		}
	}
	c.ready, c.head = c.ready[:0], 0
	return nil
}

// expect returns an id for a request and notes who gets the answer. Whoever
// has the role calls it.
func (c *conn) expect(s source) int32 {
	c.answers.Lock()
	defer c.answers.Unlock()
	if c.nextID++; c.nextID <= 0 {
		c.nextID = 1
	}
	if len(c.pending) == 0 {
		c.due = time.Now()
	}
	c.pending[c.nextID] = s
	return c.nextID
}

// answered returns who waits for the answer to a request, nil if nobody.
func (c *conn) answered(id int32) source {
	c.answers.Lock()
	defer c.answers.Unlock()
	s := c.pending[id]
	delete(c.pending, id)
	return s
}

// quiet tells whether there is nothing to send and no answer due.
func (c *conn) quiet() bool {
	if !c.role.TryLock() {
		return false
	}
	carries := c.carry != nil
	c.role.Unlock()
	if carries {
		return false
	}
	c.mu.Lock()
	idle := c.head == len(c.ready) || c.state == connLost
	c.mu.Unlock()
	c.answers.Lock()
	defer c.answers.Unlock()
	return idle && len(c.pending) == 0
}

// fail ends the connection; the first cause counts. What the network has not
// delivered yet is thrown away: it must not arrive after what is sent on the
// next connection.
func (c *conn) fail(cause error) {
	c.mu.Lock()
	if c.state != connLost {
		if c.state == connOpen {
			c.cause = cause
		}
		c.state = connLost
	}
	c.mu.Unlock()
	if tcp, ok := c.raw.(*net.TCPConn); ok && !errors.Is(cause, errPeerClosed) {
		tcp.SetLinger(0)
	}
	c.nc.Close()
	c.client.forget(c)
	c.signal()
}

// retire closes the connection gracefully, provided that nothing is
// outstanding.
func (c *conn) retire() {
	c.client.forget(c)
	c.mu.Lock()
	if c.state == connOpen {
		c.state, c.cause = connClosing, errIdle
	}
	c.mu.Unlock()
	c.signal()
}

func (c *conn) stateNow() connState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// check looks after idleness, silence and heartbeats.
func (c *conn) check(now time.Time) {
	config := &c.client.config
	c.answers.Lock()
	outstanding, due := len(c.pending) > 0, c.due
	c.answers.Unlock()
	since := func(at *atomic.Int64) time.Duration { return time.Duration(moment(now) - at.Load()) }
	if outstanding && since(&c.lastRead) > config.SendTimeout && now.Sub(due) > config.SendTimeout {
		c.fail(errTimeout)
		return
	}
	if c.direct != nil && c.direct.Silent() {
		c.fail(errUnheard)
		return
	}
	if since(&c.lastUse) > config.IdleTimeout && c.quiet() {
		c.retire()
		return
	}
	if since(&c.lastWrite) > config.IdleTimeout/2 && !c.address.datagram() {
		c.heartbeat()
	}
}

// heartbeat has a ValidateConnection sent: Ice 3.8 drops connections that
// are silent for a minute.
func (c *conn) heartbeat() {
	c.mu.Lock()
	c.beat = c.state == connOpen
	c.mu.Unlock()
	c.signal()
}

func (c *conn) takeBeat() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	beat := c.beat
	c.beat = false
	return beat
}

// end tells all sources that the connection is gone.
func (c *conn) end() {
	c.mu.Lock()
	c.state = connLost
	cause := c.cause
	if cause == nil {
		cause = ErrClosed
	}
	left := make([]source, 0, len(c.attached))
	for s := range c.attached {
		s.place().listed = false
		left = append(left, s)
	}
	clear(c.attached)
	c.ready, c.head = nil, 0
	c.mu.Unlock()
	c.client.ended(c)
	for _, s := range left {
		s.lost(c, cause)
	}
}
