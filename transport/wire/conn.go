package wire

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// conn is a TCP connection, perhaps under TLS, that belongs to a connSet
// until it is closed.
type conn struct {
	net.Conn // what bytes go through
	once     sync.Once
	release  func()
	err      error
}

// Close closes the connection and leaves its set. Later calls return the
// first one's error.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.err = c.Conn.Close()
		c.release()
	})
	return c.err
}

// abroad tells whether the other end is of another cluster.
func abroad(nc net.Conn) bool {
	if c, ok := nc.(*conn); ok {
		nc = c.Conn
	}
	far, ok := nc.(interface{ Abroad() bool })
	return ok && far.Abroad()
}

// errAbroad: the other end is of another cluster, and may do little.
var errAbroad = errors.New("the certificate is of another cluster")

// checkAbroad refuses calls over the border, but for the methods that are open.
func (o *Options) checkAbroad(nc net.Conn, method string) error {
	if abroad(nc) && (o.Abroad == nil || !o.Abroad(method)) {
		return fmt.Errorf("%s: %w", method, errAbroad)
	}
	return nil
}

// closeWrite sends the peer an end of file, where the transport can.
func (c *conn) closeWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// connSet holds open connections so that they can be closed from outside.
// It is safe for concurrent use.
type connSet struct {
	mu     sync.Mutex
	conns  map[*conn]struct{}
	closed bool
}

// add takes nc in; released, when given, is called once at its end. After
// closeAll it closes nc and reports false.
func (s *connSet) add(nc net.Conn, released func()) (*conn, bool) {
	c := &conn{Conn: nc}
	c.release = func() {
		s.remove(c)
		if released != nil {
			released()
		}
	}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		if s.conns == nil {
			s.conns = make(map[*conn]struct{})
		}
		s.conns[c] = struct{}{}
	}
	s.mu.Unlock()
	if closed {
		_ = c.Close() // never used
	}
	return c, !closed
}

func (s *connSet) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *connSet) closeAll() {
	s.mu.Lock()
	s.closed = true
	all := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // going away
	}
}

// paced sets a deadline before each read and write, until hurry sets the
// last one.
type paced struct {
	net.Conn
	readLimit time.Duration // used by the reading goroutine only; 0: none

	mu      sync.Mutex
	hurried bool
}

// Read reads once, within readLimit.
func (p *paced) Read(b []byte) (int, error) {
	p.limit(p.SetReadDeadline, p.readLimit)
	return p.Conn.Read(b)
}

// limitWrite bounds the next write of n bytes: d, and a second for each MiB.
func (p *paced) limitWrite(d time.Duration, n int) {
	p.limit(p.SetWriteDeadline, d+time.Duration(n>>20)*time.Second)
}

func (p *paced) limit(set func(time.Time) error, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hurried {
		return
	}
	var t time.Time
	if d > 0 {
		t = time.Now().Add(d)
	}
	_ = set(t) // fails on a closed connection only, as the read or write will
}

// hurry bounds everything from now on by one deadline, running reads and
// writes included.
func (p *paced) hurry(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hurried = true
	_ = p.SetDeadline(time.Now().Add(d)) // see limit
}
