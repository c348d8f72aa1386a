package client

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Client sends to Ice objects. All methods are safe for concurrent use.
type Client struct {
	config  Config
	log     hclog.Logger
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	wg      sync.WaitGroup
	locator *locator

	mu     sync.Mutex
	slots  map[address]*slot
	conns  map[*conn]struct{}
	closed bool
}

// slot is one place of the connection cache: a connection, or the attempt.
type slot struct {
	done chan struct{} // closed once conn or err is set
	conn *conn
	err  error
}

// New returns a client. [Client.Close] ends it.
func New(config Config) *Client {
	config = config.withDefaults()
	ctx, stop := context.WithCancel(context.Background())
	c := &Client{config: config, log: config.Log, ctx: ctx, stop: stop, slots: make(map[address]*slot), conns: make(map[*conn]struct{})}
	c.locator = newLocator(c)
	c.wg.Go(c.housekeep)
	return c
}

// Close waits until outstanding requests are answered or ctx ends, closes
// all connections gracefully and returns when everything has ended, which is
// two seconds after ctx at the latest. Senders should be closed before.
func (c *Client) Close(ctx context.Context) {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.settle(ctx)
	for _, conn := range c.open() {
		conn.retire()
	}
	c.stop()
	force := time.AfterFunc(FarewellTime, c.cut)
	defer force.Stop()
	c.wg.Wait()
}

// cut ends what does not end gracefully: a write that stands still.
func (c *Client) cut() {
	for _, conn := range c.open() {
		conn.nc.Close()
	}
}

// settle waits until no connection has anything to do.
func (c *Client) settle(ctx context.Context) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil && c.busy() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

func (c *Client) busy() bool {
	for _, conn := range c.open() {
		if !conn.quiet() {
			return true
		}
	}
	return false
}

func (c *Client) open() []*conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*conn, 0, len(c.conns))
	for conn := range c.conns {
		list = append(list, conn)
	}
	return list
}

// connect returns the connection to an address, made if there is none yet.
// All who ask for the same address at a time share the attempt.
func (c *Client) connect(ctx context.Context, a address) (*conn, error) {
	s, err := c.slot(a)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.done:
		return s.conn, s.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *Client) slot(a address) (*slot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if s := c.slots[a]; s != nil {
		return s, nil
	}
	s := &slot{done: make(chan struct{})}
	c.slots[a] = s
	c.wg.Go(func() { c.fill(a, s) })
	return s, nil
}

// fill makes the connection of a slot and then runs it to its end.
func (c *Client) fill(a address, s *slot) {
	conn, err := c.dial(a)
	c.mu.Lock()
	if err != nil {
		delete(c.slots, a)
	} else {
		c.conns[conn] = struct{}{}
	}
	s.conn, s.err = conn, err
	c.mu.Unlock()
	close(s.done)
	if err == nil {
		conn.run()
	}
}

// start runs f in a goroutine that Close waits for. It reports false once
// the client is closed.
func (c *Client) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.wg.Go(f)
	}
	return !c.closed
}

// reach returns a connection to one of the addresses, tried in order.
func (c *Client) reach(ctx context.Context, list []address) (conn *conn, err error) {
	for _, a := range list {
		if conn, err = c.connect(ctx, a); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// forget takes a connection out of the cache: it takes no new senders.
func (c *Client) forget(conn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.slots[conn.address]; s != nil && s.conn == conn {
		delete(c.slots, conn.address)
	}
}

// ended notes that a connection has ended.
func (c *Client) ended(conn *conn) {
	c.forget(conn)
	c.mu.Lock()
	delete(c.conns, conn)
	c.mu.Unlock()
}

// housekeep looks after idle and silent connections.
func (c *Client) housekeep() {
	every := min(c.config.IdleTimeout, c.config.SendTimeout) / 8
	ticker := time.NewTicker(min(max(every, time.Millisecond), time.Second))
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			for _, conn := range c.open() {
				conn.check(now)
			}
		case <-c.ctx.Done():
			return
		}
	}
}
