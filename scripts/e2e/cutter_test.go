package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
)

// cutter passes connections on to a server and can cut them.
type cutter struct {
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	to    string
	conns map[net.Conn]net.Conn
	over  bool
}

// newCutter listens on a free port of 127.0.0.1 until the test ends.
func newCutter(t testing.TB) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: l, conns: map[net.Conn]net.Conn{}}
	c.running.Go(c.accept)
	t.Cleanup(c.close)
	return c
}

// Address is where it listens.
func (c *cutter) Address() string { return c.listener.Addr().String() }

// Forward says where connections go; until then they are refused.
func (c *cutter) Forward(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = address
}

// Cut cuts all connections and returns how many there were.
func (c *cutter) Cut() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.conns)
	for a, b := range c.conns {
		a.Close()
		b.Close()
	}
	clear(c.conns)
	return n
}

func (c *cutter) close() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.listener.Close()
	c.Cut()
	c.running.Wait()
}

func (c *cutter) accept() {
	for {
		from, err := c.listener.Accept()
		if err != nil {
			return
		}
		if to := c.dial(from); to != nil {
			c.running.Go(func() { c.copy(from, to) })
			c.running.Go(func() { c.copy(to, from) })
		}
	}
}

func (c *cutter) dial(from net.Conn) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	to, err := net.Dial("tcp", c.to)
	if err != nil || c.over {
		from.Close()
		return nil
	}
	c.conns[from] = to
	return to
}

// copy passes one direction on until either side ends; then both have to.
func (c *cutter) copy(from, to net.Conn) {
	_, _ = io.Copy(to, from) // the end of a connection is no failure here
	from.Close()
	to.Close()
}
