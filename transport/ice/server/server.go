package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Server serves the objects of its Config on any number of listeners. All
// methods are safe for concurrent use.
type Server struct {
	config Config
	ctx    context.Context // ends where Shutdown gives up waiting
	cancel context.CancelFunc
	slots  chan struct{} // one for each request in a goroutine of its own

	wg       sync.WaitGroup // connections, heartbeats
	draining atomic.Bool

	mu        sync.Mutex
	closed    chan struct{} // closed at Shutdown
	listeners map[*listener]struct{}
	beating   bool
}

// ErrClosed is returned by Serve and ServePacket on a server that was shut down before.
var ErrClosed = errors.New("the ice server is shut down")

// New returns a server that listens nowhere yet.
func New(config Config) *Server {
	config = config.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{
		config:    config,
		ctx:       ctx,
		cancel:    cancel,
		slots:     make(chan struct{}, config.Dispatches),
		closed:    make(chan struct{}),
		listeners: make(map[*listener]struct{}),
	}
}

// Serve accepts connections until Shutdown, then returns nil. It closes l. A
// listener that fails for another reason gives its error.
func (s *Server) Serve(l net.Listener, t Transport) error {
	ln := newListener(s, t, l)
	if !s.add(ln) {
		l.Close()
		return ErrClosed
	}
	defer s.remove(ln)
	return ln.serve(l)
}

func (s *Server) add(ln *listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed() {
		return false
	}
	s.listeners[ln] = struct{}{}
	ln.wg.Add(1)
	if !s.beating {
		s.beating = true
		s.wg.Go(s.heartbeats)
	}
	return true
}

func (s *Server) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// remove forgets a listener once its connections are gone.
func (s *Server) remove(ln *listener) {
	ln.wg.Done()
	ln.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, ln)
}

func (s *Server) all() []*listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*listener, 0, len(s.listeners))
	for ln := range s.listeners {
		out = append(out, ln)
	}
	return out
}

// Shutdown closes the listeners, lets every connection end gracefully, and
// returns once all goroutines are gone. Where ctx ends first the rest is cut
// off, and its error is returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.isClosed() {
		close(s.closed)
	}
	s.mu.Unlock()
	listeners := s.all()
	for _, ln := range listeners {
		ln.close()
		ln.closeConnections()
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.wg.Wait()
		for _, ln := range listeners {
			ln.wg.Wait()
		}
	}()
	defer s.cancel()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	s.cancel()
	for _, ln := range listeners {
		ln.cut()
	}
	<-gone
	return ctx.Err()
}

// Drain with on closes all connections gracefully and refuses new ones in a
// way that sends clients to their other endpoints; without, it takes new
// ones again.
func (s *Server) Drain(on bool) {
	s.draining.Store(on)
	if !on {
		return
	}
	for _, ln := range s.all() {
		ln.closeConnections()
	}
}

// heartbeats wakes every connection that was silent for too long.
func (s *Server) heartbeats() {
	tick := time.NewTicker(max(s.config.Heartbeat/5, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-s.closed:
			return
		case now := <-tick.C:
			for _, ln := range s.all() {
				ln.heartbeat(now)
			}
		}
	}
}

// Stats are the figures of one listener.
type Stats struct {
	// Listener is its Transport's name.
	Listener string
	// Connections are open now.
	Connections int
	// Accepted counts all connections ever taken.
	Accepted uint64
	// Refused counts those beyond the limits.
	Refused uint64
	// BadInput counts connections and datagrams that were no good Ice.
	BadInput uint64
}

// Stats returns the figures of every listener being served.
func (s *Server) Stats() []Stats {
	var out []Stats
	for _, ln := range s.all() {
		out = append(out, ln.stats())
	}
	return out
}
