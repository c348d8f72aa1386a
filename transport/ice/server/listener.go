package server

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// listener is one listener with its connections.
type listener struct {
	server    *Server
	transport Transport
	socket    interface{ Close() error }
	bad       complaints
	wg        sync.WaitGroup // serve, connections, heartbeats

	mu       sync.Mutex
	conns    map[*conn]struct{}
	from     map[netip.Addr]int
	accepted uint64
}

func newListener(s *Server, t Transport, socket interface{ Close() error }) *listener {
	return &listener{
		server:    s,
		transport: t,
		socket:    socket,
		bad:       complaints{log: s.config.Log, listener: t.Name},
		conns:     make(map[*conn]struct{}),
		from:      make(map[netip.Addr]int),
	}
}

func (ln *listener) close() { ln.socket.Close() }

// serve accepts until the server is shut down. Errors such as a lack of file
// descriptors pass: it tries again, after a growing pause.
func (ln *listener) serve(l net.Listener) error {
	defer ln.close()
	pause := time.Duration(0)
	for {
		socket, err := l.Accept()
		if err == nil {
			pause = 0
			ln.accept(socket)
			continue
		}
		if ln.server.isClosed() {
			return nil
		}
		if t, ok := err.(interface{ Temporary() bool }); !ok || !t.Temporary() {
			return fmt.Errorf("listener %s: %w", ln.transport.Name, err)
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		ln.server.config.Log.Warn("accept", "listener", ln.transport.Name, "error", err, "pause", pause)
		if !ln.server.pause(pause) {
			return nil
		}
	}
}

// pause waits and reports whether the server is still wanted.
func (s *Server) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.closed:
		return false
	case <-timer.C:
		return true
	}
}

func (ln *listener) accept(socket net.Conn) {
	c := newConn(ln, socket)
	if err := ln.admit(c); err != nil {
		ln.bad.refuse(c.peer, err)
		socket.Close()
		return
	}
	go func() {
		defer ln.wg.Done()
		defer ln.leave(c)
		c.run()
	}()
}

// admit counts a connection in, unless it passes a limit.
func (ln *listener) admit(c *conn) error {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	config := &ln.server.config
	if len(ln.conns) >= config.Connections {
		return fmt.Errorf("more than %d connections", config.Connections)
	}
	if limited(c.addr) && ln.from[c.addr] >= config.PerAddress {
		return fmt.Errorf("more than %d connections from one address", config.PerAddress)
	}
	if ln.server.isClosed() {
		return ErrClosed
	}
	ln.conns[c] = struct{}{}
	ln.from[c.addr]++
	ln.accepted++
	ln.wg.Add(1)
	return nil
}

func limited(a netip.Addr) bool { return a.IsValid() && !a.IsLoopback() }

func (ln *listener) leave(c *conn) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	delete(ln.conns, c)
	if ln.from[c.addr]--; ln.from[c.addr] == 0 {
		delete(ln.from, c.addr)
	}
}

func (ln *listener) each(f func(*conn)) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	for c := range ln.conns {
		f(c)
	}
}

func (ln *listener) closeConnections() { ln.each((*conn).close) }

func (ln *listener) cut() { ln.each(func(c *conn) { c.socket.Close() }) }

// heartbeat has every silent connection send one. Each write has a goroutine
// of its own, since a client that does not read must not delay others.
func (ln *listener) heartbeat(now time.Time) {
	ln.each(func(c *conn) {
		if c.silent(now) {
			ln.wg.Go(c.heartbeat)
		}
	})
}

func (ln *listener) stats() Stats {
	bad, refused := ln.bad.counts()
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return Stats{Listener: ln.transport.Name, Connections: len(ln.conns), Accepted: ln.accepted, Refused: refused, BadInput: bad}
}
