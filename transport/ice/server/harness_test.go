package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/transport/ice/proto"
)

// objects has a sink that takes everything, and a typed object.
type objects struct {
	sink  sink
	typed Servant
	gate  chan struct{} // "wait" ends when it is closed
	begun chan struct{} // gets one as a "wait" begins

	refreshes atomic.Int64
}

func newObjects() *objects {
	o := &objects{gate: make(chan struct{}), begun: make(chan struct{}, 10_000)}
	o.typed = testType.Bind(o)
	return o
}

func (o *objects) Locate(id proto.Identity) Servant {
	switch id.Name {
	case "sink":
		return &o.sink
	case "typed":
		return o.typed
	}
	return nil
}

func (o *objects) Refresh(context.Context, proto.Identity) bool {
	o.refreshes.Add(1)
	return true
}

// sink counts events.
type sink struct {
	events, twoway, bytes atomic.Int64
}

func (s *sink) Inline(*Request) bool { return true }
func (s *sink) Alive() bool          { return true }
func (s *sink) Dispatch(_ context.Context, r *Request, dst []byte) []byte {
	s.bytes.Add(int64(len(r.Tail)))
	s.events.Add(1)
	if !r.Oneway() {
		s.twoway.Add(1)
	}
	return proto.AppendEmptyReply(dst, r.ID, proto.Encoding11) // also where nobody wants it
}

var testType = &Interface[*objects]{
	IDs: []string{"::Ice::Object", "::Test"},
	ID:  "::Test",
	Operations: map[string]Operation[*objects]{
		"wait": {Mode: proto.ModeNormal, Do: func(o *objects, ctx context.Context, c *Call) error {
			if err := c.In.Finish(); err != nil {
				return err
			}
			o.begun <- struct{}{}
			select {
			case <-o.gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}},
		"echo": {Mode: proto.ModeIdempotent, Inline: true, Do: func(_ *objects, _ context.Context, c *Call) error {
			s := c.In.String()
			c.Out = proto.AppendString(c.Out, s)
			return c.In.Finish()
		}},
		"panic": {Mode: proto.ModeNormal, Do: func(*objects, context.Context, *Call) error { panic("on purpose") }},
	},
}

// harness is a server on one loopback listener.
type harness struct {
	*Server
	objects *objects
	addr    string
	log     *syncBuffer
	done    chan error
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func start(t testing.TB, config Config, tr Transport) *harness {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{objects: newObjects(), addr: l.Addr().String(), log: &syncBuffer{}, done: make(chan error, 1)}
	config.Objects = h.objects
	config.Log = hclog.New(&hclog.LoggerOptions{Output: h.log})
	if tr.Name == "" {
		tr.Name = "tcp"
	}
	h.Server = New(config)
	go func() { h.done <- h.Serve(l, tr) }()
	t.Cleanup(func() { h.shutdown(t) })
	return h
}

func (h *harness) shutdown(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	select {
	case err := <-h.done:
		if err != nil {
			t.Errorf("serve: %v", err)
		}
		h.done <- nil
	case <-ctx.Done():
		t.Error("Serve did not return")
	}
}

// eventually waits until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited 5 s for %s", what)
		}
	}
}

// peer is the client's end of a connection.
type peer struct {
	t testing.TB
	net.Conn
}

func (h *harness) dial(t testing.TB) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	return validated(t, conn)
}

// validated reads the server's first message.
func validated(t testing.TB, conn net.Conn) *peer {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	p := &peer{t, conn}
	p.want(proto.MessageValidateConnection)
	return p
}

func (p *peer) send(b []byte) {
	p.t.Helper()
	if _, err := p.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) read() ([]byte, error) {
	p.SetReadDeadline(time.Now().Add(5 * time.Second))
	b := make([]byte, proto.HeaderSize)
	if _, err := io.ReadFull(p, b); err != nil {
		return nil, err
	}
	h, err := proto.ParseHeader(b, 16<<20)
	if err != nil {
		return nil, err
	}
	b = append(b, make([]byte, h.Size-len(b))...)
	_, err = io.ReadFull(p, b[proto.HeaderSize:])
	return b, err
}

// want reads a message of a type and returns its body.
func (p *peer) want(typ proto.MessageType) []byte {
	p.t.Helper()
	b, err := p.read()
	if err != nil {
		p.t.Fatalf("got %v, want a %v", err, typ)
	}
	if got := proto.MessageType(b[8]); got != typ {
		p.t.Fatalf("got a %v, want a %v", got, typ)
	}
	return b[proto.HeaderSize:]
}

func (p *peer) wantReply(id int32) proto.Reply {
	p.t.Helper()
	var r proto.Reply
	if err := proto.ParseReply(p.want(proto.MessageReply), &r); err != nil {
		p.t.Fatal(err)
	}
	if r.ID != id {
		p.t.Fatalf("got the reply to %d, want %d", r.ID, id)
	}
	return r
}

func (p *peer) wantClosed() {
	p.t.Helper()
	b, err := p.read()
	if err == nil {
		p.t.Fatalf("got % x, want the connection closed", b)
	}
	var n net.Error
	if errors.As(err, &n) && n.Timeout() {
		p.t.Fatal("the connection stays open")
	}
}

func (p *peer) ping(id int32) {
	p.t.Helper()
	p.send(call(id, "typed", "ice_ping", 1, nil))
	if r := p.wantReply(id); r.Status != proto.StatusOK {
		p.t.Fatalf("ping: %v", r.Status)
	}
}

// call returns a request message in encoding 1.1.
func call(id int32, name, op string, mode byte, params func([]byte) []byte) []byte {
	r := proto.Request{ID: id, Identity: proto.Identity{Name: name}, Operation: []byte(op), Mode: mode}
	if params != nil {
		dst, at := proto.BeginEncapsulation(nil, proto.Encoding11)
		r.Encaps = proto.EndEncapsulation(params(dst), at)
	}
	return proto.AppendRequest(nil, &r)
}

func str(s string) func([]byte) []byte {
	return func(dst []byte) []byte { return proto.AppendString(dst, s) }
}
