package relay

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"floe/transport/rmr/proto"
)

// listener is one listener with its connections.
type listener struct {
	relay    *Relay
	mode     mode
	socket   net.Listener
	log      complaints
	received atomic.Uint64

	mu      sync.Mutex
	open    int
	from    map[netip.Addr]int
	refused uint64
	bad     uint64
}

// maxAnswers and maxAnswerBytes bound what waits to go back to a sender. It
// takes a connection to make us keep that, so it is little.
const (
	maxAnswers     = 1000
	maxAnswerBytes = 1 << 20
)

// inlet is a connection that was accepted. Its outbox has the answers for
// who opened it.
type inlet struct {
	outbox
	id       uint64
	listener *listener
	addr     netip.Addr
	keptOut  spans // types that may not come from addr
	in       *link
	router   *router
}

// serve accepts connections until the listener closes. Errors such as a lack
// of file descriptors pass.
func (ln *listener) serve() error {
	pause := time.Duration(0)
	for {
		nc, err := ln.socket.Accept()
		if err == nil {
			pause = 0
			ln.accept(nc)
			continue
		}
		if ln.relay.ctx.Err() != nil || ln.relay.stopping.Load() {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("RMR listener %s: %w", ln.socket.Addr(), err)
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		ln.log.warn("can't accept a connection, trying again", "error", err, "pause", pause)
		if !ln.relay.sleep(pause, nil) {
			return nil
		}
	}
}

func (ln *listener) accept(nc net.Conn) {
	addr := addressOf(nc)
	if why := ln.admit(addr); why != "" {
		ln.log.warn("connection refused", "peer", nc.RemoteAddr(), "reason", why)
		_ = nc.Close() // never used
		return
	}
	l := newLink(ln.relay, nc)
	l.tally = &ln.received
	c := &inlet{outbox: newOutbox(ln.relay, maxAnswers, maxAnswerBytes), listener: ln, addr: addr, keptOut: ln.relay.cfg.Access.keptOut(addr), in: l}
	c.to = nc.RemoteAddr().String()
	c.link, c.disconnected, c.unlinked = l, c.broken, func() {}
	c.router = newRouter(ln.relay, ln.mode, &l.debts)
	if !ln.relay.enter(c) {
		l.close()
		ln.leave(addr)
	}
}

func addressOf(nc net.Conn) netip.Addr {
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// admit counts a connection in, or says which limit it passes.
func (ln *listener) admit(a netip.Addr) (refusal string) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	cfg := &ln.relay.cfg
	switch {
	case ln.open >= cfg.Conns:
		refusal = fmt.Sprintf("the listener has %d connections", ln.open)
	case a.IsValid() && !a.IsLoopback() && ln.from[a] >= cfg.PerAddress:
		refusal = fmt.Sprintf("the address has %d connections", ln.from[a])
	default:
		ln.open++
		ln.from[a]++
		return ""
	}
	ln.refused++
	return refusal
}

func (ln *listener) leave(a netip.Addr) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.open--
	if ln.from[a]--; ln.from[a] == 0 {
		delete(ln.from, a)
	}
}

// run takes messages until the connection ends. It never waits for anybody else: a
// sender whose write blocks stands still.
func (c *inlet) run() {
	err := c.in.each(c.take)
	if errors.Is(err, proto.ErrFrame) {
		c.listener.badInput(c.in.nc.RemoteAddr(), err)
	}
	c.relay.leave(c)
	c.listener.leave(c.addr)
}

func (c *inlet) take(frame []byte, m *proto.Message) {
	if len(c.keptOut) > 0 && c.keptOut.has(m.Type) {
		c.refuse(m)
		return
	}
	if m.Type == typeAlarm {
		c.relay.alarms.note(m, time.Now())
	}
	switch reason, ok := c.router.route(frame, m, c); {
	case ok:
	case reason == NoEntry && m.Type == typeAlarm: // it was for us
	case reason == NoEntry && m.Type == typeHealth:
		c.answerHealth(m)
	default:
		if m.Type == proto.TypeTable {
			c.relay.tables.Add(1)
			c.listener.log.warn("table data from a peer, ignored", "peer", c.in.nc.RemoteAddr(), "source", string(m.Src))
		} else {
			c.listener.log.lost(c.addr, reason, m, c.in.nc.RemoteAddr())
		}
		c.relay.dropped[reason].Add(1)
	}
}

// broken ends the connection: its reader does the rest.
func (c *inlet) broken(l *link, _ error) {
	l.close()
	c.mu.Lock()
	c.link = nil
	c.mu.Unlock()
}

func (ln *listener) badInput(peer net.Addr, err error) {
	ln.mu.Lock()
	ln.bad++
	ln.mu.Unlock()
	ln.log.warn("connection closed for what it sent", "peer", peer, "error", err)
}
