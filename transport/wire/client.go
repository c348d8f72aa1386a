package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Client calls and opens streams to peer ports. A [Port] has one; a program
// without a port, such as floe sub, makes its own. It keeps one RPC
// connection for each address it calls, opened at need, closed when idle. It
// is safe for concurrent use.
type Client struct {
	opts   Options
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	conns  connSet

	mu     sync.Mutex
	pool   map[string]*clientConn
	older  map[string]time.Time // addresses whose peer was of an older version, and when
	closed bool
	wg     sync.WaitGroup
}

// NewClient returns a client; the caller must close it.
func NewClient(opts Options) *Client {
	c := &Client{opts: opts.withDefaults(), pool: map[string]*clientConn{}, older: map[string]time.Time{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Close closes all connections and streams of the client and waits for its
// goroutines. Calls under way end as not sent or with an unknown outcome.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.conns.closeAll()
	c.wg.Wait()
}

// start runs f as a goroutine that Close waits for, unless it is too late.
func (c *Client) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Go(f)
	return true
}

// dialFor connects to address and says what for, within timeout (0: the
// handshake timeout). On error the peer has seen nothing but a preamble.
func (c *Client) dialFor(ctx context.Context, address string, k kind, timeout time.Duration) (*conn, error) {
	set(&timeout, c.opts.HandshakeTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()

	nc, err := c.dialVersion(ctx, address, k, c.versionOf(address))
	if errors.Is(err, errOlder) {
		c.noteOlder(address)
		nc, err = c.dialVersion(ctx, address, k, plainVersion)
	}
	if err != nil {
		return nil, c.dialError(err)
	}
	taken, ok := c.conns.add(nc, nil)
	if !ok {
		return nil, ErrClosed
	}
	return taken, nil
}

// dialVersion connects and introduces itself as a program of version v.
func (c *Client) dialVersion(ctx context.Context, address string, k kind, v byte) (net.Conn, error) {
	var d net.Dialer
	tcp, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	dead := 2 * c.opts.PeerTimeout
	if k == kindEvents {
		dead = c.opts.SendTimeout
	}
	tune(tcp, dead)
	nc := tcp
	if plain, ok := tcp.(*net.TCPConn); ok && k == kindEvents {
		nc = newWindowed(plain, true)
	}
	if err := c.introduce(ctx, &nc, address, v, k); err != nil {
		_ = nc.Close() // err is the one to tell
		return nil, fmt.Errorf("peer %s: %w", address, err)
	}
	if c.opts.WrapDialled == nil && v > plainVersion {
		nc = seal(nc, c.opts.StallTimeout)
	}
	return nc, nil
}

// rememberOlder is how long a peer counts as one of an older version: it may
// be replaced any time.
const rememberOlder = time.Minute

// versionOf is the version to try first.
func (c *Client) versionOf(address string) byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, known := c.older[address]; known && time.Since(at) < rememberOlder {
		return plainVersion
	}
	return version
}

func (c *Client) noteOlder(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for a, at := range c.older {
		if time.Since(at) >= rememberOlder {
			delete(c.older, a)
		}
	}
	c.older[address] = time.Now()
}

// dialConn is dialFor for libraries that want a net.Conn, nil with an error.
func (c *Client) dialConn(address string, k kind, timeout time.Duration) (net.Conn, error) {
	nc, err := c.dialFor(context.Background(), address, k, timeout)
	if err != nil {
		return nil, err
	}
	return nc, nil
}

// introduce puts TLS, where configured, on *nc and sends the preamble.
func (c *Client) introduce(ctx context.Context, nc *net.Conn, address string, v byte, k kind) error {
	if c.opts.WrapDialled != nil {
		*nc = c.opts.WrapDialled(*nc, address)
	}
	interrupt := context.AfterFunc(ctx, func() {
		_ = (*nc).SetDeadline(time.Unix(1, 0)) // wakes greet
	})
	err := greet(*nc, v, k)
	if !interrupt() {
		return ctx.Err()
	}
	if err == nil && k != kindRPC && abroad(*nc) {
		return fmt.Errorf("%s: %w", k, errAbroad)
	}
	return err
}

// dialError prefers "closed" to whatever closing made of the dial.
func (c *Client) dialError(err error) error {
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	return err
}

// connTo returns the address's connection, which may still be opening.
func (c *Client) connTo(address string) (*clientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if cc, ok := c.pool[address]; ok {
		return cc, nil
	}
	cc := newClientConn(c, address)
	c.pool[address] = cc
	c.wg.Go(cc.run)
	return cc, nil
}

// forget takes cc out of the pool; the next call dials anew.
func (c *Client) forget(cc *clientConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool[cc.address] == cc {
		delete(c.pool, cc.address)
	}
}

// errTooLarge: a request over the frame limit.
var errTooLarge = errors.New("larger than the frame limit")

// Call sends one request to the peer port at address (host:port) and returns
// the reply's body, which is the caller's. method is at most 255 bytes; body
// must not be changed any more, not even after Call has returned.
//
// The server's handler sees ctx's deadline (or CallTimeout's, without one)
// and its cancellation. Errors: [*RemoteError] from the handler,
// [*NotSentError] when no handler saw the request, [*UnknownOutcomeError]
// otherwise; the latter two wrap ctx's error when that was the cause. A handler
// that returned a bare context error has an unknown outcome too.
func (c *Client) Call(ctx context.Context, address, method string, body []byte) ([]byte, error) {
	if len(method) > codeMax || len(body) > c.opts.MaxFrame {
		return nil, &NotSentError{address, clip(method, codeMax), errTooLarge}
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opts.CallTimeout)
		defer cancel()
	}
	call := newCall(ctx, method, body)
	err := c.send(ctx, address, call)
	if err != nil {
		return nil, &NotSentError{address, method, err}
	}
	reply, err := call.wait(ctx)
	if err == nil {
		return reply, nil
	}
	return nil, call.explain(address, err)
}

// send queues call on the address's connection. An error means not sent.
func (c *Client) send(ctx context.Context, address string, call *call) error {
	for {
		cc, err := c.connTo(address)
		if err != nil {
			return err
		}
		if err := cc.opened(ctx); err != nil {
			return err
		}
		err = cc.enqueue(ctx, call)
		if !errors.Is(err, errRetired) {
			return err
		}
		c.forget(cc)
	}
}
