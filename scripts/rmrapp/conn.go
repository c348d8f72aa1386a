package rmrapp

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"floe/transport/rmr/proto"
)

// conn is one connection; frames go both ways on it, whoever opened it.
type conn struct {
	port   *port
	nc     net.Conn
	to     *endpoint // it was opened to; nil: it was accepted
	number int
	ended  chan struct{}
	write  sync.Mutex
}

func (c *conn) peer() string { return c.nc.RemoteAddr().String() }

func (c *conn) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// read takes messages until the connection ends.
func (c *conn) read(ctx context.Context) {
	defer c.drop()
	frames := proto.NewReader(&gated{c, ctx}, c.port.app.cfg.Limit)
	for {
		frame, err := frames.Next()
		var m proto.Message
		if err == nil {
			err = proto.Parse(frame, &m)
		}
		if errors.Is(err, proto.ErrFrame) {
			c.fault(Frame, "%v", err)
		}
		if err != nil {
			return
		}
		c.port.deliver(ctx, c, &m)
	}
}

func (c *conn) drop() {
	_ = c.nc.Close()
	c.port.mu.Lock()
	delete(c.port.conns, c)
	c.port.mu.Unlock()
	close(c.ended)
}

// gated reads from a connection while the App is to read.
type gated struct {
	c   *conn
	ctx context.Context
}

// Read waits at the gates, and again where a deadline that is set when they shut
// interrupts it.
func (g *gated) Read(b []byte) (int, error) {
	a := g.c.port.app
	for {
		if err := errors.Join(a.life.pass(g.ctx), a.ears.pass(g.ctx)); err != nil {
			return 0, err
		}
		n, err := g.c.nc.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		_ = g.c.nc.SetReadDeadline(time.Time{})
	}
}

// patience is how long a socket may take nothing before a send gives up.
// The library tries 1000 times, which takes about as long.
const patience = 150 * time.Millisecond

// errBlocked says that the peer's socket took nothing.
var errBlocked = errors.New("socket not writable")

// send writes one message with the port's names as its sender. Once the first
// byte is out it blocks without limit, as the library does.
func (c *conn) send(ctx context.Context, m *proto.Message) error {
	out := *m
	out.Src, out.SrcIP = c.port.src, c.port.srcIP
	head, err := proto.AppendHead(make([]byte, 0, proto.MinFrame+8), &out)
	if err != nil {
		return err
	}
	if err := c.port.app.life.pass(ctx); err != nil {
		return err
	}
	c.write.Lock()
	defer c.write.Unlock()
	defer context.AfterFunc(ctx, func() { _ = c.nc.SetWriteDeadline(time.Unix(1, 0)) })()
	rest := net.Buffers{head, m.Payload}
	_ = c.nc.SetWriteDeadline(time.Now().Add(patience))
	n, err := rest.WriteTo(c.nc)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		if n == 0 {
			return errBlocked
		}
		_ = c.nc.SetWriteDeadline(time.Time{})
		if ctx.Err() == nil {
			_, err = rest.WriteTo(c.nc)
		}
	}
	if err != nil {
		_ = c.nc.Close() // half a frame may be out; its reader sees to the rest
	}
	return err
}
