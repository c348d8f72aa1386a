package rmrapp

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"floe/transport/rmr/proto"
)

// port is a listener and the connections of one context of the library: an
// application has two, for messages and for its route manager.
type port struct {
	app         *App
	incarnation int
	life        context.Context // ends with the incarnation
	open        <-chan struct{} // closed once the App has its names and its seed
	deliver     func(ctx context.Context, c *conn, m *proto.Message)
	address     string // where it listens
	src, srcIP  []byte // what it sends bears as its sender

	mu        sync.Mutex
	closed    bool
	listener  net.Listener // nil: it refuses connections
	conns     map[*conn]struct{}
	endpoints map[string]*endpoint
	wg        sync.WaitGroup
}

// endpoint is the connection to one text: the library knows endpoints by
// their text, not by where it leads.
type endpoint struct {
	mu   sync.Mutex // held while the connection is opened
	conn *conn
}

func newPort(r *incarnation, deliver func(context.Context, *conn, *proto.Message)) *port {
	return &port{app: r.app, incarnation: r.number, life: r.life, open: r.open, deliver: deliver, conns: map[*conn]struct{}{}, endpoints: map[string]*endpoint{}}
}

// keepAlive is that of the library: a peer that is gone is noticed in 6 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 5}

// listen begins to accept connections.
func (p *port) listen(address string) error {
	lc := net.ListenConfig{KeepAliveConfig: keepAlive}
	if p.app.cfg.SharePort {
		lc.Control = sharePort
	}
	var l net.Listener
	err := p.app.within(func() (err error) {
		l, err = lc.Listen(p.life, "tcp", address)
		return err
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.listener != nil {
		_ = l.Close()
		return nil
	}
	p.listener, p.address = l, l.Addr().String()
	p.wg.Go(func() { p.accept(l) })
	return nil
}

// within opens sockets where the App lives.
func (a *App) within(f func() error) error {
	if a.cfg.Within == nil {
		return f()
	}
	return a.cfg.Within(f)
}

func sharePort(_, _ string, raw syscall.RawConn) (err error) {
	failed := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	})
	return errors.Join(failed, err)
}

// acceptPause is how long accepting rests after an error, as about too many
// open files.
const acceptPause = 20 * time.Millisecond

func (p *port) accept(l net.Listener) {
	select {
	case <-p.open:
	case <-p.life.Done():
		return
	}
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			p.take(nc, nil)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			select {
			case <-time.After(acceptPause):
			case <-p.life.Done():
			}
		}
	}
}

func (p *port) listening() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listener != nil
}

// refuse closes the listener; connections stay.
func (p *port) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

// take begins to read a connection; it is nil if the port is closed.
func (p *port) take(nc net.Conn, to *endpoint) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = nc.Close()
		return nil
	}
	c := &conn{port: p, nc: nc.(*net.TCPConn), to: to, number: int(p.app.number.Add(1)), ended: make(chan struct{})}
	p.conns[c] = struct{}{}
	p.wg.Go(func() { c.read(p.life) })
	return c
}

// dialLimit is what connecting may take: the library has the system try three times.
const dialLimit = 7 * time.Second

// to returns the connection to an endpoint, and opens it if need be.
func (p *port) to(ctx context.Context, text string) (*conn, error) {
	p.mu.Lock()
	e := p.endpoints[text]
	if e == nil {
		e = &endpoint{}
		p.endpoints[text] = e
	}
	p.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn != nil && !e.conn.over() {
		return e.conn, nil
	}
	var nc net.Conn
	err := p.app.within(func() (err error) {
		nc, err = (&net.Dialer{Timeout: dialLimit, KeepAliveConfig: keepAlive}).DialContext(ctx, "tcp", strings.TrimLeft(text, " \t"))
		return err
	})
	if err != nil {
		return nil, err
	}
	if e.conn = p.take(nc, e); e.conn == nil {
		return nil, net.ErrClosed
	}
	return e.conn, nil
}

// each calls f with every connection.
func (p *port) each(f func(*conn)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		f(c)
	}
}

// close ends the port and waits for its goroutines.
func (p *port) close() {
	p.refuse()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.each(func(c *conn) { _ = c.nc.Close() })
	p.wg.Wait()
}
