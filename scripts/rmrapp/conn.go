package rmrapp

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"floe/transport/rmr/proto"
)

// conn is one connection; frames go both ways on it, whoever opened it.
type conn struct {
	port   *port
	nc     *net.TCPConn
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
		if err == nil {
			err = c.pass(ctx) // what was read just before the gate shut waits, too
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
	c.port.app.wake()
}

// pass waits while the App is not to read.
func (c *conn) pass(ctx context.Context) error {
	a := c.port.app
	return errors.Join(a.life.pass(ctx), a.ears.pass(ctx))
}

// gated reads from a connection while the App is to read.
type gated struct {
	c   *conn
	ctx context.Context
}

// Read waits at the gates, and again where a deadline that is set when they shut
// interrupts it.
func (g *gated) Read(b []byte) (int, error) {
	for {
		if err := g.c.pass(g.ctx); err != nil {
			return 0, err
		}
		n, err := g.c.nc.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		_ = g.c.nc.SetReadDeadline(time.Time{})
	}
}

// patience is how long a socket may take nothing before an ordinary send gives up.
// The library tries 1000 times, which takes about as long.
const patience = 150 * time.Millisecond

// errBlocked says that the peer's socket took nothing.
var errBlocked = errors.New("socket not writable")

// send writes one message with the port's names as its sender. A socket that
// takes nothing for the wait is not tried. Once it is, send
// blocks until all is out, as the library does.
func (c *conn) send(ctx context.Context, m *proto.Message, wait time.Duration) error {
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
	if err := c.writable(wait); err != nil {
		return err
	}
	_ = c.nc.SetWriteDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { _ = c.nc.SetWriteDeadline(time.Unix(1, 0)) })()
	if _, err := (&net.Buffers{head, m.Payload}).WriteTo(c.nc); err != nil {
		_ = c.nc.Close() // half a frame may be out; its reader sees to the rest
		return err
	}
	return nil
}

// writable waits until the system says what it says to the library, too: that
// the socket has room.
func (c *conn) writable(wait time.Duration) error {
	raw, err := c.nc.SyscallConn()
	if err != nil {
		return err
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(wait))
	room := false
	look := func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, _ := unix.Poll(poll, 0)
		room = n > 0
		return room || wait == 0
	}
	if wait == 0 {
		err = raw.Control(func(fd uintptr) { look(fd) })
	} else {
		err = raw.Write(look)
	}
	if err == nil && !room || errors.Is(err, os.ErrDeadlineExceeded) {
		return errBlocked
	}
	return err
}
