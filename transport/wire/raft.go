package wire

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// raftLayer gives raft its share of the port.
type raftLayer struct {
	port  *Port
	conns chan *conn // unbuffered: a waiting connection has a goroutine and a limit
	done  chan struct{}
	once  sync.Once
}

var _ raft.StreamLayer = (*raftLayer)(nil)

func newRaftLayer(p *Port) *raftLayer {
	return &raftLayer{port: p, conns: make(chan *conn), done: make(chan struct{})}
}

// RaftLayer returns raft's share of the port, the same value each time. Addr
// is the advertised address; Dial takes host:port as raft's server addresses
// hold it. Closing it, as raft's transport does, ends raft's share only and
// can't be undone.
func (p *Port) RaftLayer() raft.StreamLayer { return p.raft }

// Accept waits for a raft connection; after Close it returns net.ErrClosed.
func (l *raftLayer) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, net.ErrClosed
	case c := <-l.conns:
		return &raftConn{conn: c, stall: l.port.cfg.Options.StallTimeout}, nil
	}
}

// raftConn is an accepted connection of raft's. Raft reads without a
// deadline: a request that has begun must not stand still, while between two
// requests there may be silence for as long as anybody likes.
type raftConn struct {
	*conn
	stall time.Duration
	begun atomic.Bool // bytes have come since the last answer
}

// Read reads once, within the stall timeout where a request has begun.
func (c *raftConn) Read(b []byte) (int, error) {
	var until time.Time
	if c.begun.Load() {
		until = time.Now().Add(c.stall)
	}
	_ = c.SetReadDeadline(until) // fails on a closed connection only, as the read will
	n, err := c.conn.Read(b)
	if n > 0 {
		c.begun.Store(true)
	}
	return n, err
}

// Write writes an answer, or a part of one.
func (c *raftConn) Write(b []byte) (int, error) {
	c.begun.Store(false)
	return c.conn.Write(b)
}

// Close ends Accept and refuses further raft connections.
func (l *raftLayer) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr is the advertised address.
func (l *raftLayer) Addr() net.Addr { return advertisedAddr(l.port.advertise) }

// Dial opens a raft connection to another node's peer port, within timeout
// (0: the handshake timeout).
func (l *raftLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return l.port.client.dialConn(string(address), kindRaft, timeout)
}

func (l *raftLayer) closed() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

func (l *raftLayer) hand(c *conn) {
	l.port.handTo(c, func(c *conn, timeout <-chan time.Time) bool {
		select {
		case l.conns <- c:
			return true
		case <-l.done:
		case <-timeout:
		}
		return false
	})
}

// advertisedAddr is a host:port as a net.Addr; the host may be a name.
type advertisedAddr string

// Network is "tcp".
func (advertisedAddr) Network() string { return "tcp" }

// String is the host:port.
func (a advertisedAddr) String() string { return string(a) }
