package server

import (
	"net"
	"strings"
	"testing"
	"time"

	"floe/transport/ice/proto"
)

func TestManyIdleConnections(t *testing.T) {
	h := start(t, Config{}, Transport{})
	var all []net.Conn
	for range 1000 {
		c, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	h.dial(t).ping(1)
	for _, c := range all {
		c.Close()
	}
	eventually(t, "their end", func() bool { return h.Stats()[0].Connections == 1 })
}

func TestConnectionLimits(t *testing.T) {
	h := start(t, Config{Connections: 3}, Transport{})
	first := []*peer{h.dial(t), h.dial(t), h.dial(t)}
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	(&peer{t, conn}).wantClosed()
	conn.Close()
	if s := h.Stats()[0]; s.Refused != 1 || s.Connections != 3 {
		t.Errorf("got %+v", s)
	}
	first[0].Close()
	eventually(t, "room", func() bool { return h.Stats()[0].Connections == 2 })
	h.dial(t).ping(1)
}

func TestConnectionsPerAddress(t *testing.T) {
	ln := newListener(New(Config{Objects: newObjects(), PerAddress: 2}), Transport{Name: "tcp"}, nil)
	admit := func(addr string) error { return ln.admit(newConn(ln, fakeConn{addr: addr})) }
	for i, want := range []bool{true, true, false} {
		if err := admit("10.0.0.1:5"); (err == nil) != want {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	for range 5 {
		if err := admit("127.0.0.1:5"); err != nil {
			t.Errorf("loopback: %v", err)
		}
	}
	if err := admit("[::ffff:10.0.0.1]:5"); err == nil {
		t.Error("the same address in IPv6 clothes was let in")
	}
}

type fakeConn struct {
	net.Conn
	addr string
}

func (c fakeConn) RemoteAddr() net.Addr { return fakeAddr(c.addr) }

type fakeAddr string

func (a fakeAddr) String() string { return string(a) }

// Beyond InFlight nothing more is read, and all goes on once there is room.
func TestRequestsInFlight(t *testing.T) {
	h := start(t, Config{InFlight: 2}, Transport{})
	p := h.dial(t)
	for i := range 4 {
		p.send(call(int32(i+1), "typed", "wait", 0, nil))
	}
	<-h.objects.begun
	<-h.objects.begun
	select {
	case <-h.objects.begun:
		t.Fatal("a third request was begun")
	case <-time.After(30 * time.Millisecond):
	}
	close(h.objects.gate)
	got := map[int32]bool{}
	for range 4 {
		var r proto.Reply
		proto.ParseReply(p.want(proto.MessageReply), &r)
		got[r.ID] = true
	}
	if len(got) != 4 {
		t.Errorf("replies to %v", got)
	}
}

// A client that sends and never reads is stopped by its own replies, and
// others don't notice.
func TestClientThatDoesNotRead(t *testing.T) {
	h := start(t, Config{WriteTimeout: 200 * time.Millisecond}, Transport{})
	p, good := h.dial(t), h.dial(t)
	big := call(1, "typed", "echo", 2, str(strings.Repeat("x", 100_000)))
	p.SetWriteDeadline(time.Now().Add(5 * time.Second))
	for {
		if _, err := p.Write(big); err != nil {
			break
		}
	}
	good.ping(1)
	eventually(t, "its end", func() bool { return h.Stats()[0].Connections == 1 })
}

// The requests of a batch have one time together: what is left of it then fails, is told of, and keeps the
// connection from nothing more. A batch in time is not told of.
func TestBatchThatTakesTooLong(t *testing.T) {
	h := start(t, Config{BatchTimeout: 50 * time.Millisecond}, Transport{})
	p := h.dial(t)
	send := func(requests ...[]byte) {
		b, at := proto.BeginBatch(nil)
		for _, r := range requests {
			b = append(b, r[18:]...) // after the header and the request's id
		}
		p.send(proto.EndBatch(b, at, len(requests), 0))
	}
	wait, event := call(0, "typed", "wait", 0, nil), call(0, "sink", "x", 0, nil)
	send(event, event)
	p.ping(1)
	if got := h.log.String(); got != "" || h.objects.sink.events.Load() != 2 {
		t.Errorf("%d events, logged %q", h.objects.sink.events.Load(), got)
	}
	send(wait, wait, event)
	p.ping(2)
	if begun := len(h.objects.begun); begun != 2 || h.objects.sink.events.Load() != 3 {
		t.Errorf("%d requests were begun, %d events", begun, h.objects.sink.events.Load())
	}
	if got := h.log.String(); !strings.Contains(got, "[WARN]") || !strings.Contains(got, "not done in time, the rest fails") {
		t.Errorf("logged %q", got)
	}
	if got := New(Config{}).config.BatchTimeout; got != time.Minute {
		t.Errorf("as it comes a batch has %v", got)
	}
}

func (fakeAddr) Network() string { return "tcp" }
