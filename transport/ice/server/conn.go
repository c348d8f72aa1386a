package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"floe/transport/ice/proto"
	"floe/transport/socket"
)

// conn is one connection. Its goroutine reads; replies come from there and
// from the goroutines of slow requests.
type conn struct {
	listener *listener
	config   *Config
	socket   net.Conn // what was accepted
	stream   net.Conn // what carries Ice: the socket, TLS or WebSocket on it
	peer     string
	addr     netip.Addr
	closing  atomic.Bool

	in      input
	request Request
	replies []byte // of the requests read together, not yet written
	kept    kept
	fresh   bool // Refresh was called since the last read

	slots chan struct{} // one for each request in a goroutine of its own
	tasks sync.WaitGroup

	mu    sync.Mutex   // held while writing
	wrote atomic.Int64 // when the last write ended, see moment
	ready atomic.Bool  // the stream carries Ice, heartbeats may be sent
}

// errClosing ends the reading of a connection that we close.
var errClosing = errors.New("closing")

// errDraining: new connections are not taken now.
var errDraining = errors.New("draining")

// errClosed ends the reading of a connection that the client closes.
var errClosed = errors.New("closed by the client")

func newConn(ln *listener, socket net.Conn) *conn {
	c := &conn{
		listener: ln,
		config:   &ln.server.config,
		socket:   socket,
		stream:   socket,
		peer:     socket.RemoteAddr().String(),
		slots:    make(chan struct{}, ln.server.config.InFlight),
	}
	if a, err := netip.ParseAddrPort(c.peer); err == nil {
		c.addr = a.Addr().Unmap()
	}
	c.request.peer, c.request.client.addr = c.peer, c.addr
	if c.config.NewSession != nil {
		c.request.session = c.config.NewSession()
	}
	return c
}

// run serves the connection to its end.
func (c *conn) run() {
	defer c.tasks.Wait()
	defer c.socket.Close()
	defer c.recoverPanic()
	if err := c.open(); err != nil {
		c.complain(err)
		return
	}
	ctx := c.listener.server.ctx
	defer c.flush() // also after a panic
	err := c.read(ctx)
	c.flush()
	if errors.Is(err, errClosing) {
		c.closeGracefully(ctx)
		return
	}
	c.complain(err)
}

// recoverPanic keeps a defect that one request meets from ending the node.
func (c *conn) recoverPanic() {
	if p := recover(); p != nil {
		c.config.Log.Error("panic, connection closed", "peer", c.peer, "panic", p, "stack", string(debug.Stack()))
		c.socket.Close()
	}
}

// complain counts and logs the end of a connection that was not a clean one.
func (c *conn) complain(err error) {
	if err == nil || c.closing.Load() || errors.Is(err, errClosed) || errors.Is(err, errDraining) || errors.Is(err, io.EOF) || isLost(err) {
		return
	}
	c.listener.bad.add(c.peer, err)
}

// isLost tells a broken connection from bad bytes.
func isLost(err error) bool {
	var op *net.OpError
	return errors.Is(err, net.ErrClosed) || errors.As(err, &op) && !op.Timeout()
}

// open shakes hands and sends ValidateConnection.
func (c *conn) open() error {
	t := c.listener.transport
	c.stream.SetDeadline(time.Now().Add(c.config.FrameTimeout))
	if t.TLS != nil {
		secure := tls.Server(c.stream, t.TLS)
		if err := secure.HandshakeContext(c.listener.server.ctx); err != nil {
			return fmt.Errorf("tls: %w", err)
		}
		c.stream = secure
		if chain := secure.ConnectionState().VerifiedChains; len(chain) > 0 {
			c.request.client.certified, c.request.client.name = true, chain[0][0].Subject.CommonName
		}
	}
	if t.WebSocket {
		ws, err := acceptWebSocket(c.stream)
		if err != nil {
			return fmt.Errorf("websocket: %w", err)
		}
		c.stream = ws
	}
	c.stream.SetDeadline(time.Time{})
	if plain := socket.Wrap(c.stream); plain != nil {
		c.stream = plain
	}
	if c.listener.server.draining.Load() {
		// A client whose connection ends before it is validated goes to its next
		// endpoint; one that is closed afterwards spends one of its few tries.
		return errDraining
	}
	c.ready.Store(true)
	return c.write(proto.AppendValidate(nil))
}

// close makes the connection end gracefully. It does not wait.
func (c *conn) close() {
	c.closing.Store(true)
	c.socket.SetReadDeadline(time.Unix(1, 0))
}

// read takes messages until the connection ends.
func (c *conn) read(ctx context.Context) error {
	for {
		if err := c.fill(); err != nil {
			return err
		}
		c.fresh = false
		for {
			h, body, err := c.in.next(c.config.MessageSizeMax)
			if err != nil {
				return err
			}
			if body == nil {
				break
			}
			if err := c.message(ctx, h, body); err != nil {
				return err
			}
		}
		if err := c.flush(); err != nil {
			return err
		}
	}
}

// fill reads once. While a frame is cut short the read has a deadline; else
// it has none, but for giving back a large buffer after a while of silence.
func (c *conn) fill() error {
	for {
		c.stream.SetReadDeadline(c.deadline())
		if c.closing.Load() {
			return errClosing
		}
		err := c.in.read(c.stream)
		if err == nil {
			return nil
		}
		if c.closing.Load() {
			return errClosing
		}
		timeout := errors.Is(err, os.ErrDeadlineExceeded)
		switch {
		case timeout && c.in.empty():
			c.in.shrink()
		case timeout:
			return fmt.Errorf("%d bytes of a frame, then nothing for %v", c.in.len(), c.config.FrameTimeout)
		case errors.Is(err, io.EOF) && !c.in.empty():
			return fmt.Errorf("ended inside a frame, after %d bytes", c.in.len())
		default:
			return err
		}
	}
}

func (c *conn) deadline() time.Time {
	if !c.in.empty() || c.in.large() {
		return time.Now().Add(c.config.FrameTimeout)
	}
	return time.Time{}
}
