package rmr

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"floe/transport/rmr/proto"
)

// conn is one connection; frames go both ways on it, whoever opened it.
type conn struct {
	nc       net.Conn
	endpoint string        // it was opened to; empty: it was accepted
	lock     chan struct{} // holds one element while somebody writes
}

// keepAlive has the system find out about a peer that is gone, as fast as
// the library does (SIconnect in src/rmr/si/src/si95).
func (c *conn) keepAlive() {
	if tcp, ok := c.nc.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 5})
	}
}

// read takes messages until the connection ends. It never waits for who
// receives them: that would block the sender's threads.
func (a *App) read(c *conn) {
	defer a.drop(c)
	in := &timed{nc: c.nc, limit: a.cfg.FrameTimeout}
	in.frames = proto.NewReader(in, a.cfg.Limit)
	for {
		frame, err := in.frames.Next()
		in.running = false
		var m proto.Message
		if err == nil {
			err = proto.Parse(frame, &m)
		}
		if err != nil {
			a.ended(c, err)
			return
		}
		a.arrived(c, &m)
	}
}

// ended counts a connection that ended for what its peer sent.
func (a *App) ended(c *conn, err error) {
	if !errors.Is(err, proto.ErrFrame) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	a.refused.Add(1)
	a.cfg.Log.Warn("connection closed for what it sent", "peer", c.nc.RemoteAddr(), "error", err)
}

// timed is a connection with a deadline for each frame, from its first byte on.
type timed struct {
	nc      net.Conn
	frames  *proto.Reader
	limit   time.Duration
	running bool // the deadline of this frame
	set     bool // some deadline is set
}

// Read reads as the connection does.
func (t *timed) Read(b []byte) (int, error) {
	switch begun := t.frames.Buffered() > 0; {
	case begun && !t.running:
		t.running, t.set = true, true
		_ = t.nc.SetReadDeadline(time.Now().Add(t.limit))
	case !begun && t.set:
		t.set = false
		_ = t.nc.SetReadDeadline(time.Time{})
	}
	return t.nc.Read(b)
}

// write sends one message with this App's source. After an error the
// connection is closed: half a frame may be out.
func (a *App) write(ctx context.Context, c *conn, m proto.Message) error {
	m.Src, m.SrcIP = a.source(c)
	if size := m.Size(); size > int64(a.cfg.Limit) {
		return &proto.SizeError{Size: size, Limit: int64(a.cfg.Limit)}
	}
	head, err := proto.AppendHead(nil, &m)
	if err != nil {
		return err
	}
	select {
	case c.lock <- struct{}{}:
	case <-ctx.Done():
		return &Unreachable{c.name(), ctx.Err()}
	}
	defer func() { <-c.lock }()
	if err := c.writeAll(ctx, a.cfg.Timeout, net.Buffers{head, m.Payload}); err != nil {
		a.drop(c)
		return &Unreachable{c.name(), err}
	}
	return nil
}

func (c *conn) writeAll(ctx context.Context, limit time.Duration, parts net.Buffers) error {
	_ = c.nc.SetWriteDeadline(time.Now().Add(limit))
	stop := context.AfterFunc(ctx, func() { _ = c.nc.Close() })
	defer stop()
	_, err := parts.WriteTo(c.nc)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (c *conn) name() string {
	if c.endpoint != "" {
		return c.endpoint
	}
	return c.nc.RemoteAddr().String()
}

// source is what messages on a connection bear as their sender: nothing
// without a listener, so that answers come on the same connection.
func (a *App) source(c *conn) (src, srcIP []byte) {
	if a.cfg.Listener == nil {
		return []byte(a.cfg.Source), nil
	}
	host, port, _ := net.SplitHostPort(a.cfg.Listener.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host, _, _ = net.SplitHostPort(c.nc.LocalAddr().String())
	}
	srcIP = []byte(net.JoinHostPort(host, port))
	if a.cfg.Source != "" {
		return []byte(a.cfg.Source), srcIP
	}
	return srcIP, srcIP
}
