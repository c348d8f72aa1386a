package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// acceptPause and acceptPauseMax bound the wait after a failed accept.
const (
	acceptPause    = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// accept takes connections from next until Shutdown. Failures, such as EMFILE,
// are waited out.
func (p *Port) accept(next func() (*net.TCPConn, error)) {
	pause := acceptPause
	for {
		tcp, err := next()
		if err == nil {
			pause = acceptPause
			p.admit(tcp)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		p.limits.acceptErrors.Add(1)
		p.complaints.warn("accept failed, trying again", "error", err, "pause", pause)
		select {
		case <-p.draining.Done():
			return
		case <-time.After(pause):
			pause = min(2*pause, acceptPauseMax)
		}
	}
}

// admit checks the limits and starts the connection's goroutine.
func (p *Port) admit(tcp *net.TCPConn) {
	ip := clientIP(tcp)
	if refusal := p.limits.take(ip); refusal != "" {
		_ = tcp.Close() // never used
		p.complaints.warn("connection refused", "peer", tcp.RemoteAddr(), "reason", refusal)
		return
	}
	p.wg.Go(func() { p.open(tcp, func() { p.limits.give(ip) }) })
}

func clientIP(c net.Conn) netip.Addr {
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// open reads the preamble and hands the connection to its kind.
func (p *Port) open(tcp *net.TCPConn, released func()) {
	tune(tcp, 2*p.cfg.PeerTimeout)
	w := newWindowed(tcp, false)
	var nc net.Conn = w
	if p.cfg.WrapAccepted != nil {
		nc = p.cfg.WrapAccepted(w)
	}
	// Two sets take turns, so that Shutdown can tell the two states apart;
	// the connection ends, and is released, when it leaves its last one.
	early, ok := p.handshaking.add(nc, nil)
	if !ok {
		released()
		return
	}
	hello, err := p.handshake(nc)
	if err != nil {
		_ = early.Close() // err is the one that matters
		released()
		p.reject(nc.RemoteAddr(), err)
		return
	}
	k := hello.kind
	if k != kindRPC && abroad(nc) {
		_ = early.Close()
		released()
		p.reject(nc.RemoteAddr(), fmt.Errorf("%s: %w", k, errAbroad))
		return
	}
	if w.on.Store(k == kindEvents); k != kindEvents && nc == w {
		nc = tcp // as it is
	}
	if p.cfg.WrapAccepted == nil && hello.version > plainVersion {
		nc = seal(nc, p.cfg.StallTimeout)
	}
	c, ok := p.accepted.add(nc, released)
	p.handshaking.remove(early)
	if ok {
		p.dispatch(c, tcp, k)
	}
}

// reject counts a failed handshake, unless the peer just looked in or the
// port is closing.
func (p *Port) reject(peer net.Addr, err error) {
	if !errors.Is(err, errSilentProbe) && !p.isDraining() {
		p.complaints.badInput(peer, err)
	}
}

func (p *Port) isDraining() bool { return p.draining.Err() != nil }

// errSilentProbe: connected and left without a byte, as port probes do.
var errSilentProbe = errors.New("closed without a byte")

// handshake reads the preamble within the handshake timeout and answers it.
func (p *Port) handshake(nc net.Conn) (preamble, error) {
	if err := nc.SetDeadline(time.Now().Add(p.cfg.HandshakeTimeout)); err != nil {
		return preamble{}, err
	}
	hello, n, err := readPreamble(nc)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return preamble{}, fmt.Errorf("no preamble within %s: %w", p.cfg.HandshakeTimeout, errNoPreamble)
	case n == 0 && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return preamble{}, errSilentProbe
	case err != nil:
		return preamble{}, err
	}
	answer := preamble{version: min(max(hello.version, plainVersion), version), kind: hello.kind, status: p.judge(hello)}
	b := answer.bytes()
	if _, err := nc.Write(b[:]); err != nil {
		return preamble{}, err
	}
	switch answer.status {
	case statusVersion, statusKind:
		return preamble{}, fmt.Errorf("preamble of version %d, %s", hello.version, hello.kind)
	case statusClosed:
		return preamble{}, errSilentProbe // told so; no fault of the peer
	}
	return hello, nc.SetDeadline(time.Time{})
}

// judge decides how a preamble is answered.
func (p *Port) judge(hello preamble) status {
	if hello.version < plainVersion || hello.version > version || hello.status != statusOK {
		return statusVersion
	}
	open := false
	switch hello.kind {
	case kindRaft:
		open = !p.raft.closed()
	case kindGossip:
		open = !p.gossip.closed()
	case kindRPC:
		open = p.serving.Load() != nil
	case kindEvents:
		open = p.streams.Load() != nil
	default:
		return statusKind
	}
	if !open || p.isDraining() {
		return statusClosed
	}
	return statusOK
}

// dispatch gives the connection to whoever serves its kind. tcp is what c
// runs on.
func (p *Port) dispatch(c *conn, tcp net.Conn, k kind) {
	switch k {
	case kindRaft:
		p.raft.hand(c)
	case kindGossip:
		p.gossip.hand(c)
	case kindRPC:
		p.limits.serve(func() { p.serveCalls(c) })
	case kindEvents:
		tune(tcp, p.cfg.SendTimeout)
		p.limits.serve(func() { p.serveStream(c) })
	}
}

// handTo gives c to the taker of a channel; c is closed when nobody takes it
// within the handshake timeout.
func (p *Port) handTo(c *conn, send func(c *conn, timeout <-chan time.Time) bool) {
	timer := time.NewTimer(p.cfg.HandshakeTimeout)
	defer timer.Stop()
	if !send(c, timer.C) {
		_ = c.Close() // nobody wants it
	}
}
