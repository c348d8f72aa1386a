package manager

import (
	"fmt"
	"net"
	"time"
)

// dialed is how an attempt to connect came out.
type dialed struct {
	nc      net.Conn
	address string
	err     error
}

// reach connects to the app, and returns when there is something to do.
func (s *session) reach(now time.Time) time.Duration {
	switch {
	case s.dials != nil || !s.allowed() || len(s.control) == 0:
		return never
	case now.Before(s.dialAt):
		return s.dialAt.Sub(now)
	}
	address := s.control[s.dialNext%len(s.control)]
	s.dialNext++
	dials := make(chan dialed, 1)
	if s.m.spawn(func() { dials <- s.m.dial(address) }) {
		s.dials = dials
	}
	return never
}

func (m *Manager) dial(address string) dialed {
	if m.listensAt(address) {
		return dialed{nil, address, fmt.Errorf("%s is a listener of this cluster", address)}
	}
	d := net.Dialer{Timeout: m.cfg.DialTimeout}
	nc, err := d.DialContext(m.ctx, "tcp", address)
	return dialed{nc, address, err}
}

// connected takes a connection that was dialled, unless the app has come by
// itself.
func (s *session) connected(d dialed) {
	s.dials = nil
	if d.err != nil {
		s.failed(d)
		return
	}
	c := newConn(s.m, d.nc)
	if s.conn != nil || s.m.ctx.Err() != nil || !s.m.take(c) {
		_ = d.nc.Close()
		return
	}
	c.belongsTo(s)
	s.conn = c
	s.setStatus(func(st *status) { st.connected, st.address = true, d.address })
}

// firstRedial is the first pause between attempts to reach an app.
const firstRedial = 100 * time.Millisecond

// failed has the next address tried at once and, after the last, the first
// again after a pause.
func (s *session) failed(d dialed) {
	s.setStatus(func(st *status) { st.connected, st.err = false, "unreachable: "+d.err.Error() })
	if s.dialNext%len(s.control) != 0 {
		s.dialAt = time.Now()
		return
	}
	round := time.Duration(len(s.control)) * s.m.cfg.DialTimeout // what the addresses take, at the longest
	s.dialWait = min(max(2*s.dialWait, firstRedial), max(firstRedial, s.m.cfg.Redial-round))
	s.dialAt = time.Now().Add(s.dialWait)
}
