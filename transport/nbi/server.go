package nbi

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Limits of the listener.
const (
	// MaxConns is how many connections are open at a time; those beyond are
	// closed at once.
	MaxConns = 1024
	// maxBody is the largest body of a call or of a manager's answer, in bytes.
	maxBody = 16 << 20
	// smallBody is the largest body, in bytes, that is read without waiting
	// for others: all that managers send in the course of a day.
	smallBody = 64 << 10
	// maxLarge is how many larger bodies are read at a time, so that they
	// don't fill the memory.
	maxLarge = 8
	// maxHeader is the most a request's header may have, in bytes.
	maxHeader = 64 << 10
	// headerTimeout bounds the reading of a request's header.
	headerTimeout = 5 * time.Second
	// bodyTimeout bounds the reading of a request.
	bodyTimeout = 30 * time.Second
	// answerTimeout bounds a call, and is more than the longest wait.
	answerTimeout = maxWait + 30*time.Second
	// idleTimeout is how long a connection without requests stays open.
	idleTimeout = 2 * time.Minute
	// complainEvery is the shortest time between two log lines about limits.
	complainEvery = 10 * time.Second
)

// Stats are figures of a server since its start.
type Stats struct {
	// Accepted counts calls that were committed.
	Accepted uint64
	// BadInput counts calls that were refused for what they said.
	BadInput uint64
	// BadConns counts connections that sent something, but never a request in
	// time.
	BadConns uint64
	// Failed counts calls that could not be committed in time.
	Failed uint64
	// Refused counts connections beyond MaxConns.
	Refused uint64
	// Connections are open now.
	Connections int
}

// Server is the REST face of one node.
type Server struct {
	config  Config
	log     hclog.Logger
	server  *http.Server
	large   chan struct{} // a place for each large body that is read
	open    atomic.Int64  // connections
	refused atomic.Uint64
	good    atomic.Uint64
	bad     atomic.Uint64
	garbled atomic.Uint64 // connections without a request
	failed  atomic.Uint64
	said    atomic.Int64    // when a limit was last logged, unix nanoseconds
	waits   context.Context // ends the waiting for apps
	stop    context.CancelFunc
}

// New returns a server; the caller calls Serve and Shutdown.
func New(config Config) *Server {
	config = config.filled()
	s := &Server{config: config, log: config.Log, large: make(chan struct{}, maxLarge)}
	s.waits, s.stop = context.WithCancel(context.Background())
	s.server = &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       known,
		ConnState:         s.changed,
		ErrorLog:          log.New(logLines{s.log}, "", 0),
	}
	return s
}

// Serve serves a listener until Shutdown, and then returns nil.
func (s *Server) Serve(l net.Listener) error {
	if err := s.server.Serve(&bounded{l, s}); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("nbi listener %s: %w", l.Addr(), err)
	}
	return nil
}

// Shutdown lets running calls end until ctx does, and then closes their
// connections.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close() // err is the one to tell
		return fmt.Errorf("nbi: calls were still running: %w", err)
	}
	return nil
}

// Stats returns the figures so far.
func (s *Server) Stats() Stats {
	return Stats{Accepted: s.good.Load(), BadInput: s.bad.Load(), BadConns: s.garbled.Load(), Failed: s.failed.Load(), Refused: s.refused.Load(), Connections: int(s.open.Load())}
}

// changed is told of each connection's end.
func (s *Server) changed(nc net.Conn, state http.ConnState) {
	if state != http.StateClosed && state != http.StateHijacked {
		return
	}
	s.open.Add(-1)
	if c, ok := nc.(*conn); ok && c.got.Load() && !c.served.Load() {
		s.garbled.Add(1)
		s.complain("bad input, connection closed", "peer", c.RemoteAddr(), "reason", "no HTTP request in time")
	}
}

// conn is one accepted connection.
type conn struct {
	net.Conn
	got, served atomic.Bool // it sent something; a request was in it
}

// Read notes that the client has sent something.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.got.Store(true)
	}
	return n, err
}

type connKey struct{}

// known lets a request's context lead to its connection.
func known(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// good marks a request's connection as one that speaks HTTP.
func good(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			c.served.Store(true)
		}
		next.ServeHTTP(w, r)
	})
}

// bounded is a listener that refuses connections beyond MaxConns.
type bounded struct {
	net.Listener
	server *Server
}

// Accept returns the next connection there is room for.
func (l *bounded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.server.open.Add(1) <= MaxConns {
			return &conn{Conn: c}, nil
		}
		l.server.open.Add(-1)
		l.server.refused.Add(1)
		l.server.complain("connection refused", "peer", c.RemoteAddr(), "reason", fmt.Sprintf("%d are open, which is the limit", MaxConns))
		_ = c.Close() // never used
	}
}

// complain logs a line about what was over a limit, and no more than one in a while.
func (s *Server) complain(message string, pairs ...any) {
	now, said := time.Now().UnixNano(), s.said.Load()
	if now-said < int64(complainEvery) || !s.said.CompareAndSwap(said, now) {
		return
	}
	s.log.Warn(message, pairs...)
}

// logLines writes what net/http wants to say as debug lines: it is about
// single connections.
type logLines struct{ log hclog.Logger }

func (l logLines) Write(b []byte) (int, error) {
	l.log.Debug("http", "message", string(b[:max(0, len(b)-1)]))
	return len(b), nil
}
