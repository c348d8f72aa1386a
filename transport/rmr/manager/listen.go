package manager

import (
	"errors"
	"net"
	"net/netip"
	"time"
)

// acceptPause is how long accepting rests after an error, such as one about
// too many open files.
const acceptPause = 50 * time.Millisecond

// Serve accepts connections of apps until Shutdown, which closes the
// listener; it then returns nil. Several listeners may be served.
func (m *Manager) Serve(l net.Listener) error {
	if !m.listen(l) {
		return l.Close()
	}
	for {
		nc, err := l.Accept()
		if err == nil {
			m.accept(nc)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		m.complain.warn("can't accept a connection", "error", err)
		select {
		case <-time.After(acceptPause):
		case <-m.ctx.Done():
		}
	}
}

func (m *Manager) listen(l net.Listener) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.listeners[l] = struct{}{}
	return true
}

func (m *Manager) accept(nc net.Conn) {
	c := newConn(m, nc)
	c.accepted = true
	if !m.take(c) {
		m.counts.refusedConns.Add(1)
		m.complain.warn("connection refused: there are as many as are allowed", "peer", nc.RemoteAddr())
		_ = nc.Close()
	}
}

// take begins to read a connection, unless it is one too many.
func (m *Manager) take(c *conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || c.accepted && m.accepted >= m.cfg.Connections {
		return false
	}
	if c.accepted {
		m.accepted++
	}
	m.conns[c] = struct{}{}
	m.wg.Go(c.read)
	return true
}

func (m *Manager) drop(c *conn) {
	_ = c.nc.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.conns[c]; ok && c.accepted {
		m.accepted--
	}
	delete(m.conns, c)
}

// hostOf returns the IP address at the other end of a connection.
func hostOf(nc net.Conn) netip.Addr {
	a, err := netip.ParseAddrPort(nc.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap()
}
