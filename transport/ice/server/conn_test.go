package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"floe/transport/ice/proto"
)

func TestDispatchStatuses(t *testing.T) {
	h := start(t, Config{}, Transport{})
	facet := proto.AppendRequest(nil, &proto.Request{ID: 1, Identity: proto.Identity{Name: "typed"}, Facet: "f", Operation: []byte("echo")})
	for _, c := range []struct {
		name    string
		request []byte
		status  proto.Status
	}{
		{"result", call(1, "typed", "echo", 2, str("x")), proto.StatusOK},
		{"idempotent as nonmutating", call(1, "typed", "echo", 1, str("x")), proto.StatusOK},
		{"idempotent as normal", call(1, "typed", "echo", 0, str("x")), proto.StatusUnknownLocalException},
		{"normal as idempotent", call(1, "typed", "wait", 2, nil), proto.StatusUnknownLocalException},
		{"ping of any mode", call(1, "typed", "ice_ping", 9, nil), proto.StatusOK},
		{"truncated parameters", call(1, "typed", "echo", 2, func(b []byte) []byte { return append(b, 5, 'x') }), proto.StatusUnknownLocalException},
		{"too many parameters", call(1, "typed", "ice_ids", 2, func(b []byte) []byte { return append(b, 0x1f) }), proto.StatusUnknownLocalException},
		{"no object", call(1, "nobody", "echo", 2, nil), proto.StatusObjectNotExist},
		{"no operation", call(1, "typed", "frob", 0, nil), proto.StatusOperationNotExist},
		{"no facet", facet, proto.StatusFacetNotExist},
		{"sink", call(1, "sink", "anything", 0, nil), proto.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := h.dial(t)
			p.send(c.request)
			if r := p.wantReply(1); r.Status != c.status {
				t.Errorf("got %v %q, want %v", r.Status, r.Text, c.status)
			}
		})
	}
}

// A request with id 0 gets no reply, whatever becomes of it.
func TestOnewayIsNeverAnswered(t *testing.T) {
	h := start(t, Config{}, Transport{})
	close(h.objects.gate)
	p := h.dial(t)
	for _, b := range [][]byte{
		call(0, "typed", "echo", 2, str("x")), call(0, "typed", "echo", 0, nil), call(0, "nobody", "x", 0, nil),
		call(0, "typed", "frob", 0, nil), call(0, "typed", "wait", 0, nil), call(0, "sink", "x", 0, nil),
		call(0, "typed", "wait", 2, nil),
	} {
		p.send(b)
	}
	<-h.objects.begun
	p.ping(7)
}

// A slow request does not keep later ones from being answered.
func TestRepliesComeInAnyOrder(t *testing.T) {
	h := start(t, Config{}, Transport{})
	p := h.dial(t)
	p.send(append(call(1, "typed", "wait", 0, nil), call(2, "typed", "ice_ping", 1, nil)...))
	p.wantReply(2)
	close(h.objects.gate)
	p.wantReply(1)
}

// What is begun at Shutdown is answered, then the client is told to go.
func TestShutdownFinishesWhatWasBegun(t *testing.T) {
	h := start(t, Config{}, Transport{})
	p, idle := h.dial(t), h.dial(t)
	p.send(call(1, "typed", "wait", 0, nil))
	<-h.objects.begun
	down := make(chan struct{})
	go func() { defer close(down); h.shutdown(t) }()
	idle.want(proto.MessageCloseConnection)
	idle.Close()
	close(h.objects.gate)
	p.wantReply(1)
	p.want(proto.MessageCloseConnection)
	// What crossed it: a client repeats the first elsewhere, the others never.
	p.send(call(2, "sink", "late", 0, nil))
	p.send(call(0, "sink", "late", 0, nil))
	batch, at := proto.BeginBatch(nil)
	p.send(proto.EndBatch(append(batch, call(0, "sink", "late", 0, nil)[18:]...), at, 1, 0))
	p.Close()
	<-down
	if n, twoway := h.objects.sink.events.Load(), h.objects.sink.twoway.Load(); n != 2 || twoway != 0 {
		t.Errorf("%d requests executed after CloseConnection, %d of them twoway; want 2 and 0", n, twoway)
	}
	if _, err := net.Dial("tcp", h.addr); err == nil {
		t.Error("still accepting")
	}
}

// Whatever a client sent oneway before it hears that we close is executed.
func TestNoOnewayIsLostAtDrain(t *testing.T) {
	h := start(t, Config{}, Transport{})
	p := h.dial(t)
	event := call(0, "sink", "x", 0, func(b []byte) []byte { return append(b, make([]byte, 200)...) })
	sent := make(chan int64)
	closing := make(chan struct{})
	go func() {
		n := int64(0)
		for ; ; n++ {
			select {
			case <-closing:
				p.Conn.(*net.TCPConn).CloseWrite()
				sent <- n
				return
			default:
				p.Write(event)
			}
		}
	}()
	eventually(t, "some events", func() bool { return h.objects.sink.events.Load() > 1000 })
	h.Drain(true)
	p.want(proto.MessageCloseConnection)
	close(closing)
	want := <-sent
	eventually(t, "the end", func() bool { return h.Stats()[0].Connections == 0 })
	if got := h.objects.sink.events.Load(); got != want {
		t.Errorf("%d events executed of %d sent", got, want)
	}
}

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

func TestShutdownCutsOffWhatHangs(t *testing.T) {
	h := start(t, Config{}, Transport{})
	p := h.dial(t)
	p.send(call(1, "typed", "wait", 0, nil))
	<-h.objects.begun
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := h.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestClientThatStaysIsLeftAfterAWhile(t *testing.T) {
	h := start(t, Config{CloseTimeout: 20 * time.Millisecond}, Transport{})
	p := h.dial(t)
	begin := time.Now()
	h.shutdown(t)
	if d := time.Since(begin); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
	p.want(proto.MessageCloseConnection)
}

func TestDrain(t *testing.T) {
	h := start(t, Config{}, Transport{})
	p := h.dial(t)
	h.Drain(true)
	p.want(proto.MessageCloseConnection)
	p.Close()
	q := h.dial(t)
	q.want(proto.MessageCloseConnection)
	q.Close()
	h.Drain(false)
	h.dial(t).ping(1)
}

// Idle or busy, no connection is silent. No client of Ice 3.8, which closes a
// connection after 60 s of silence, is at hand: this reads the frames by hand.
func TestHeartbeats(t *testing.T) {
	h := start(t, Config{Heartbeat: 20 * time.Millisecond}, Transport{})
	idle := h.dial(t)
	for range 3 {
		idle.want(proto.MessageValidateConnection)
	}
	busy := h.dial(t)
	busy.send(call(1, "typed", "wait", 0, nil))
	<-h.objects.begun
	for range 3 {
		busy.want(proto.MessageValidateConnection)
	}
	close(h.objects.gate)
	for {
		b, err := busy.read()
		if err != nil {
			t.Fatal(err)
		}
		if b[8] == byte(proto.MessageReply) {
			break
		}
	}
}

func TestBadInputClosesThatConnectionOnly(t *testing.T) {
	h := start(t, Config{FrameTimeout: 50 * time.Millisecond}, Transport{})
	good := h.dial(t)
	ping := call(1, "typed", "ice_ping", 1, nil)
	change := func(at int, b byte) []byte { c := bytes.Clone(ping); c[at] = b; return c }
	cases := []struct {
		name string
		sent []byte
	}{
		{"http", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")},
		{"magic", change(0, 'X')},
		{"protocol", change(4, 2)},
		{"protocol minor", change(5, 1)},
		{"header encoding", change(7, 1)},
		{"type", change(8, 9)},
		{"size too small", change(10, 13)},
		{"size too large", change(12, 0x11)},
		{"stands still in the header", ping[:7]},
		{"stands still in the body", ping[:20]},
		{"bzip2", change(9, 2)},
		{"cut inside", proto.PatchSize(bytes.Clone(ping[:22]), 0, 0)},
		{"batch of less than nothing", append(proto.AppendHeader(nil, proto.Header{Type: 1, Size: 18}), 255, 255, 255, 255)},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := h.dial(t)
			p.send(c.sent)
			p.wantClosed()
			eventually(t, "the count", func() bool { return h.Stats()[0].BadInput == uint64(i+1) })
			good.ping(int32(i + 1))
		})
	}
	if n := strings.Count(h.log.String(), "bad input"); n != 1 {
		t.Errorf("%d lines for %d bad connections, want 1:\n%s", n, len(cases), h.log)
	}
	if !strings.Contains(h.log.String(), "listener=tcp peer=127.0.0.1:") {
		t.Errorf("the line names no listener and peer: %s", h.log)
	}
}

// Coming and going without a word is no bad input.
func TestHealthCheckIsNoBadInput(t *testing.T) {
	h := start(t, Config{}, Transport{})
	h.dial(t).Close()
	p := h.dial(t)
	p.send(proto.AppendClose(nil))
	p.wantClosed()
	eventually(t, "both to end", func() bool { return h.Stats()[0].Connections == 0 })
	if s := h.Stats()[0]; s.BadInput != 0 || s.Accepted != 2 {
		t.Errorf("got %+v", s)
	}
}

func TestOversizedMessage(t *testing.T) {
	h := start(t, Config{}, Transport{})
	large := func(n int) []byte {
		b := call(1, "sink", "x", 0, func(dst []byte) []byte { return append(dst, make([]byte, n)...) })
		return b
	}
	p := h.dial(t)
	exact := large(proto.DefaultMaxSize - len(large(0)))
	p.send(exact)
	p.wantReply(1)
	p.Write(append(exact[:10:10], 1, 0, 0x10, 0)) // 1 MiB + 1
	p.wantClosed()
}

// A frame that is announced large and does not come costs what came.
func TestAnnouncedSizeCostsNothing(t *testing.T) {
	var in input
	head := proto.AppendHeader(nil, proto.Header{Type: 0, Size: 1 << 20})
	for range 3 {
		if err := in.read(bytes.NewReader(head)); err != nil {
			t.Fatal(err)
		}
		if _, body, err := in.next(1 << 20); body != nil || err != nil {
			t.Fatal(body, err)
		}
	}
	if len(in.buf) > inputSmall {
		t.Errorf("buffer of %d bytes", len(in.buf))
	}
}

// Whatever the cuts between reads, the messages come out whole and in order.
func TestInputInPieces(t *testing.T) {
	var stream []byte
	var want []int
	for i := range 200 {
		n := i * i % 5000
		stream = append(stream, call(int32(i), "sink", "x", 0, func(b []byte) []byte { return append(b, make([]byte, n)...) })...)
		want = append(want, n)
	}
	for _, piece := range []int{1, 13, 14, 15, 100, 4096, 70_000, len(stream)} {
		var in input
		var got []int
		rest := stream
		for len(rest) > 0 {
			n := min(piece, len(rest))
			r := bytes.NewReader(rest[:n])
			rest = rest[n:]
			for r.Len() > 0 {
				if err := in.read(r); err != nil {
					t.Fatal(err)
				}
				for {
					_, body, err := in.next(1 << 20)
					if err != nil {
						t.Fatal(err)
					}
					if body == nil {
						break
					}
					var req proto.Request
					if err := proto.ParseRequest(body, &req); err != nil || req.ID != int32(len(got)) {
						t.Fatalf("message %d: id %d, %v", len(got), req.ID, err)
					}
					got = append(got, len(req.Encaps)-6)
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("pieces of %d: got %v", piece, got)
		}
	}
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

func (fakeAddr) Network() string  { return "tcp" }
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

func TestPanicEndsTheConnectionOnly(t *testing.T) {
	h := start(t, Config{}, Transport{})
	good, p := h.dial(t), h.dial(t)
	p.send(call(1, "typed", "panic", 0, nil))
	p.wantClosed()
	good.ping(1)
	if !strings.Contains(h.log.String(), "on purpose") {
		t.Error("not logged")
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

func TestRefreshOncePerRead(t *testing.T) {
	h := start(t, Config{}, Transport{})
	p := h.dial(t)
	var b []byte
	for i := range 20 {
		b = append(b, call(int32(i+1), "nobody", "x", 0, nil)...)
	}
	p.send(b)
	for i := range 20 {
		p.wantReply(int32(i + 1))
	}
	if n := h.objects.refreshes.Load(); n > 3 {
		t.Errorf("%d refreshes for requests in one write", n)
	}
}

// What was made since the last time is asked for anew.
func TestRefreshAgainLater(t *testing.T) {
	h := start(t, Config{}, Transport{})
	p := h.dial(t)
	for i := range 3 {
		p.send(call(int32(i+1), "nobody", "x", 0, nil))
		p.wantReply(int32(i + 1))
	}
	if n := h.objects.refreshes.Load(); n != 3 {
		t.Errorf("%d refreshes for 3 requests one after the other", n)
	}
}

type mortal struct {
	Servant
	dead bool
}

func (m *mortal) Alive() bool { return !m.dead }

func TestKeptServants(t *testing.T) {
	var k kept
	a, b := &mortal{}, &mortal{}
	idA, idB := proto.Identity{Name: "a"}, proto.Identity{Name: "b"}
	k.add(idA, a)
	k.add(idB, b)
	if k.find(idA) != Servant(a) || k.find(idB) != Servant(b) || k.find(idB) != Servant(b) {
		t.Error("not kept")
	}
	b.dead = true
	if k.find(idB) != nil || k.find(idA) != Servant(a) {
		t.Error("the dead is kept, or the living is not")
	}
	for i := range 1000 {
		k.add(proto.Identity{Name: fmt.Sprint(i)}, a)
	}
	if len(k.all) > keptMax {
		t.Errorf("%d kept", len(k.all))
	}
}

func FuzzConnection(f *testing.F) {
	f.Add(call(1, "typed", "echo", 2, str("x")))
	f.Add(append(call(0, "sink", "x", 0, nil), call(3, "nobody", "x", 0, nil)...))
	f.Add(proto.AppendClose(proto.AppendValidate(nil)))
	b, at := proto.BeginBatch(nil)
	one := call(0, "sink", "x", 0, nil)[18:]
	f.Add(proto.EndBatch(append(b, one...), at, 1, 0))
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		objects := newObjects()
		close(objects.gate)
		objects.begun = make(chan struct{}, len(sent))
		s := New(Config{Objects: objects, FrameTimeout: time.Second, CloseTimeout: time.Second, MessageSizeMax: 1 << 16})
		ln := newListener(s, Transport{Name: "pipe"}, nil)
		ours, theirs := net.Pipe()
		c := newConn(ln, theirs)
		done := make(chan struct{})
		go func() { defer close(done); c.run() }()
		go func() { ours.Write(sent); ours.Close() }()
		p := &peer{t, ours}
		for {
			if _, err := p.read(); err != nil {
				break
			}
		}
		<-done
	})
}
