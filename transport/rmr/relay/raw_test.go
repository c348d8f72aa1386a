package relay_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"floe/transport/rmr/proto"
)

// rawPeer is an application that shows the bytes it gets, and answers on the
// connection they came on.
type rawPeer struct {
	name   string
	l      net.Listener
	frames chan []byte

	mu    sync.Mutex
	conns []net.Conn
}

func rawApp(t testing.TB) *rawPeer { return rawAppAt(t, "127.0.0.1:0") }

func rawAppAt(t testing.TB, address string) *rawPeer {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	p := &rawPeer{name: l.Addr().String(), l: l, frames: make(chan []byte, 10000)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, nc)
			p.mu.Unlock()
			wg.Go(func() { p.read(nc) })
		}
	})
	t.Cleanup(func() { p.stop(); wg.Wait() })
	return p
}

// stop closes the listener and all connections.
func (p *rawPeer) stop() {
	_ = p.l.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, nc := range p.conns {
		_ = nc.Close()
	}
}

func (p *rawPeer) read(nc net.Conn) {
	r := proto.NewReader(nc, 0)
	for {
		f, err := r.Next()
		if err != nil {
			return
		}
		p.frames <- append([]byte(nil), f...)
	}
}

func (p *rawPeer) next(t testing.TB) []byte {
	t.Helper()
	select {
	case f := <-p.frames:
		return f
	case <-time.After(20 * time.Second):
		t.Fatal("nothing arrived")
		return nil
	}
}

// last is the connection that was made last.
func (p *rawPeer) last() net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns[len(p.conns)-1]
}

func (p *rawPeer) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// nextFrame reads a frame from a bare connection.
func nextFrame(t testing.TB, nc net.Conn) []byte {
	t.Helper()
	_ = nc.SetReadDeadline(time.Now().Add(20 * time.Second))
	f, err := proto.NewReader(nc, 0).Next()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// parse returns the message of a frame.
func parse(t testing.TB, f []byte) (m proto.Message) {
	t.Helper()
	if err := proto.Parse(f, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
