package ice

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"floe/fsm"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// testFace is a face on a loopback socket over a fake group and hub.
type testFace struct {
	*Face
	group *fakeGroup
	hub   *fakeHub
	addr  string
	udp   string
}

// startFace serves a face until the test ends. Endpoints default to where it
// really listens.
func startFace(t testing.TB, g *fakeGroup, change func(*Config)) *testFace {
	t.Helper()
	hub := &fakeHub{group: g, news: make(chan struct{}, 1)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_, udpPort, _ := net.SplitHostPort(p.LocalAddr().String())
	config := Config{Node: "n1", Group: g, Hub: hub, Caller: dialer{}, ConfirmTimeout: 200 * time.Millisecond,
		Endpoints: []string{"tcp -h 127.0.0.1 -p " + port, "udp -h 127.0.0.1 -p " + udpPort}}
	if change != nil {
		change(&config)
	}
	f, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 2)
	go func() { served <- f.Serve(l, server.Transport{Name: "tcp"}) }()
	go func() { served <- f.ServePacket(p) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := f.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		for range 2 {
			if err := <-served; err != nil && !errors.Is(err, server.ErrClosed) {
				t.Errorf("serve: %v", err)
			}
		}
	})
	return &testFace{Face: f, group: g, hub: hub, addr: l.Addr().String(), udp: p.LocalAddr().String()}
}

// peer is a hand-made Ice client.
type peer struct {
	t    testing.TB
	conn net.Conn
	last int32
}

func (f *testFace) dial(t testing.TB) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &peer{t: t, conn: conn}
	if b, err := c.message(); err != nil || proto.MessageType(b[8]) != proto.MessageValidateConnection {
		t.Fatalf("first message: % x, %v", b, err)
	}
	return c
}

// message reads one whole message.
func (c *peer) message() ([]byte, error) {
	c.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	return readMessage(c.conn)
}

func readMessage(r io.Reader) ([]byte, error) {
	b := make([]byte, proto.HeaderSize)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	h, err := proto.ParseHeader(b, 64<<20)
	if err != nil {
		return nil, err
	}
	b = append(b, make([]byte, h.Size-len(b))...)
	_, err = io.ReadFull(r, b[proto.HeaderSize:])
	return b, err
}

func (c *peer) send(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// request returns a request message; params is appended to in encoding 1.1.
func request(id int32, target proto.Identity, op string, mode byte, params func([]byte) []byte) []byte {
	r := proto.Request{ID: id, Identity: target, Operation: []byte(op), Mode: mode}
	if params != nil {
		r.Encaps = encapsulate(params)
	}
	return proto.AppendRequest(nil, &r)
}

// call calls an operation and waits for the reply.
func (c *peer) call(target proto.Identity, op string, mode byte, params func([]byte) []byte) proto.Reply {
	c.t.Helper()
	c.last++
	c.send(request(c.last, target, op, mode, params))
	for {
		b, err := c.message()
		if err != nil {
			c.t.Fatalf("%s: %v", op, err)
		}
		if proto.MessageType(b[8]) == proto.MessageValidateConnection {
			continue
		}
		var r proto.Reply
		if err := proto.ParseReply(b[proto.HeaderSize:], &r); err != nil {
			c.t.Fatal(err)
		}
		if r.ID != c.last {
			c.t.Fatalf("reply to %d, want %d", r.ID, c.last)
		}
		return r
	}
}

// result calls and decodes a successful reply.
func (c *peer) result(target proto.Identity, op string, mode byte, params func([]byte) []byte) proto.Decoder {
	c.t.Helper()
	r := c.call(target, op, mode, params)
	if err := r.Err(); err != nil {
		c.t.Fatalf("%s: %v", op, err)
	}
	d, err := proto.OpenEncapsulation(r.Encaps)
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

func str(s string) func([]byte) []byte {
	return func(dst []byte) []byte { return proto.AppendString(dst, s) }
}

func obj(category, name string) proto.Identity {
	return proto.Identity{Name: name, Category: category}
}

var manager = obj("IceStorm", "TopicManager")

// dialer is a Caller that opens a connection for each call.
type dialer struct{}

func (dialer) Call(ctx context.Context, target *proto.Proxy, op string, mode byte, _ proto.Context, params []byte) (reply proto.Reply, err error) {
	if len(target.Endpoints) == 0 {
		return reply, errors.New("no endpoints")
	}
	e := target.Endpoints[0]
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	if err != nil {
		return reply, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := readMessage(conn); err != nil {
		return reply, err
	}
	r := proto.Request{ID: 1, Identity: target.Identity, Facet: target.Facet, Operation: []byte(op), Mode: mode, Encaps: params}
	if _, err := conn.Write(proto.AppendRequest(nil, &r)); err != nil {
		return reply, err
	}
	b, err := readMessage(conn)
	if err != nil {
		return reply, err
	}
	return reply, proto.ParseReply(b[proto.HeaderSize:], &reply)
}

func makeTopics(names ...string) []fsm.Op {
	var ops []fsm.Op
	for _, n := range names {
		ops = append(ops, fsm.CreateTopic{Name: n})
	}
	return ops
}
