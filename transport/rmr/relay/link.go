package relay

import (
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"floe/transport/rmr/proto"
	"floe/transport/socket"
)

// link is one connection. One goroutine reads its frames; what these are put
// into is flushed before the next read, as that may wait.
type link struct {
	relay  *Relay
	nc     net.Conn
	direct *socket.Conn // nil: nothing can be written without waiting
	since  int64        // when it was opened, by the relay's clock
	pieces [][]byte     // of who writes

	// What follows is the reader's.
	frames *proto.Reader
	got    uint64 // frames
	seen   uint64 // got at the last read
	debts  debts
	tally  *atomic.Uint64 // of all frames; nil: not counted

	began atomic.Int64 // when the frame under way began, by the relay's clock; 0: none is
	late  atomic.Bool  // it did not end in time
}

func newLink(r *Relay, nc net.Conn) *link {
	keepAlive(nc)
	l := &link{relay: r, nc: nc, direct: socket.Wrap(nc), since: r.clock.Load()}
	if l.direct != nil {
		l.nc = l.direct
	}
	l.frames = proto.NewReader(l, r.cfg.Limit)
	return l
}

// keepAlive has the system find out about a peer that is gone, as fast as
// the library does (SIconnect in src/rmr/si/src/si95).
func keepAlive(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 5})
	}
}

func (l *link) close() { _ = l.nc.Close() }

// Read reads as the connection does, for the frames' reader.
func (l *link) Read(b []byte) (int, error) {
	l.debts.settle()
	switch fresh := l.got != l.seen; {
	case l.frames.Buffered() == 0:
		l.began.Store(0)
	case fresh || l.began.Load() == 0:
		l.began.Store(l.relay.clock.Load())
	}
	if l.tally != nil {
		l.tally.Add(l.got - l.seen)
	}
	l.seen = l.got
	return l.nc.Read(b)
}

// each calls f for each message until the connection ends. The error is why
// it ended; where it wraps proto.ErrFrame, that is the peer's fault.
func (l *link) each(f func(frame []byte, m *proto.Message)) error {
	var m proto.Message
	for {
		frame, err := l.frames.Next()
		if err == nil {
			err = proto.Parse(frame, &m)
		}
		if err != nil {
			l.debts.settle()
			if l.late.Load() {
				return fmt.Errorf("%w: it did not end within %s", proto.ErrFrame, l.relay.cfg.FrameTimeout)
			}
			return err
		}
		l.got++
		setLength(frame)
		f(frame, &m)
	}
}

// overdue closes the connection if a frame takes too long.
func (l *link) overdue(now int64) {
	if began := l.began.Load(); began != 0 && now-began > int64(l.relay.cfg.FrameTimeout) {
		l.late.Store(true)
		l.close()
	}
}

// unheard closes the connection if the other host is gone: it acknowledged
// nothing for about 6 s. The system would try on for a quarter of an hour.
func (l *link) unheard() {
	if l.direct != nil && l.direct.Silent() {
		l.close()
	}
}
