package http

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/transport/http/api"
)

// MaxConns is how many connections one server holds at a time; those beyond
// are closed at once.
const MaxConns = 4096

// complainEvery is the shortest time between two log lines about connections.
const complainEvery = 10 * time.Second

// Stats are the figures of a server's connections and calls.
type Stats struct {
	// Connections are open now.
	Connections int
	// Refused counts those beyond MaxConns.
	Refused uint64
	// BadInput counts connections that sent something, but never a request
	// in time.
	BadInput uint64
	// Errors counts calls that were answered with an error, by its kind.
	Errors map[api.Kind]uint64
}

// conns counts the connections of a server and tells good from bad.
type conns struct {
	log     hclog.Logger
	open    atomic.Int64
	refused atomic.Uint64
	bad     atomic.Uint64
	said    atomic.Int64 // when a connection was last told of, unix nanoseconds
}

// conn is one accepted connection.
type conn struct {
	net.Conn
	conns                *conns
	tls                  bool // what comes is no HTTP, but TLS
	got, served, foreign atomic.Bool
	late                 atomic.Bool // its time to send a request ran out
}

// Read notes that the client has sent something. What can't be the beginning
// of a request ends the connection at once, as its client may wait for
// another protocol's answer.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.got.Swap(true) && !c.tls && !beginsRequest(b[:n]) {
		c.foreign.Store(true)
		return 0, io.EOF
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.late.Store(true)
	}
	return n, err
}

// Write tells of a client that does not read what it asked for.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.conns.complain(c, "the client did not take the answer in time")
	}
	return n, err
}

// beginsRequest tells whether a request may begin so: with a method in
// capital letters.
func beginsRequest(b []byte) bool {
	for _, c := range b {
		if c == ' ' {
			return true
		}
		if (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return true
}

// fault is what was wrong with a connection that never had a request.
func (c *conn) fault() string {
	switch {
	case c.foreign.Load():
		return "not HTTP"
	case c.late.Load():
		return "no HTTP request in time"
	case c.tls:
		return "TLS was not agreed on, or the client left: one side may not take the other's certificate, or the client speaks no TLS"
	}
	return "the client left before it had sent a request"
}

// bounded is a listener that refuses connections beyond MaxConns.
type bounded struct {
	net.Listener
	conns *conns
	tls   bool
}

// Accept returns the next connection there is room for.
func (l *bounded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.conns.open.Load() < MaxConns {
			return &conn{Conn: c, conns: l.conns, tls: l.tls}, nil
		}
		l.conns.refused.Add(1)
		l.conns.complain(c, "too many connections")
		_ = c.Close() // never used
	}
}

type connKey struct{}

// known lets a request's context lead to its connection.
func (s *conns) known(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf finds what the listener accepted, perhaps below TLS.
func connOf(nc any) (*conn, bool) {
	if over, ok := nc.(*tls.Conn); ok {
		nc = over.NetConn()
	}
	c, ok := nc.(*conn)
	return c, ok
}

// good marks a request's connection as one that speaks HTTP.
func good(r *http.Request) {
	if c, ok := connOf(r.Context().Value(connKey{})); ok {
		c.served.Store(true)
	}
}

// changed is told of each connection's beginning and end.
func (s *conns) changed(nc net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
		if c, ok := connOf(nc); ok && c.got.Load() && !c.served.Load() {
			s.bad.Add(1)
			s.complain(nc, c.fault())
		}
	}
}

// complain logs a line about a connection, and no more than one in a while.
func (s *conns) complain(c net.Conn, why string) {
	now, said := time.Now().UnixNano(), s.said.Load()
	if now-said < int64(complainEvery) || !s.said.CompareAndSwap(said, now) {
		return
	}
	s.log.Warn("connection closed", "listener", c.LocalAddr(), "peer", c.RemoteAddr(), "reason", why)
}

// Stats returns the figures.
func (s *Server) Stats() Stats {
	return Stats{Connections: int(s.conns.open.Load()), Refused: s.conns.refused.Load(), BadInput: s.conns.bad.Load(), Errors: s.failures.counts()}
}
