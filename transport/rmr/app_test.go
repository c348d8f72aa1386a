package rmr

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"floe/transport/rmr/proto"
)

func TestMessagesArriveInOrder(t *testing.T) {
	a, from := listening(t, Config{})
	b, to := listening(t, Config{})
	for i := range 200 {
		m := text(100, strconv.Itoa(i))
		m.SubID, m.MEID, m.Trace = 7, []byte("gnb_1"), []byte("trace")
		send(t, a, to, m)
	}
	for i := range 200 {
		r := receive(t, b)
		if string(r.Payload) != strconv.Itoa(i) || r.Type != 100 || r.SubID != 7 || string(r.MEID) != "gnb_1" || string(r.Trace) != "trace" {
			t.Fatalf("message %d: %+v", i, r.Message)
		}
		if string(r.Src) != from || string(r.SrcIP) != from || r.IsCall() || r.CallID() != 0 {
			t.Fatalf("message %d from %q, %q", i, r.Src, r.SrcIP)
		}
	}
	if got := b.Stats(); got != (Stats{Received: 200}) {
		t.Errorf("%+v", got)
	}
}

func TestOneConnectionForEachEndpoint(t *testing.T) {
	b, to := listening(t, Config{})
	a := made(t, Config{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { send(t, a, to, text(1, "x")) })
	}
	wg.Wait()
	for range 20 {
		receive(t, b)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.conns) != 1 {
		t.Errorf("%d connections", len(a.conns))
	}
}

func TestLargeMessages(t *testing.T) {
	a, _ := listening(t, Config{})
	b, to := listening(t, Config{})
	large := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
	send(t, a, to, proto.Message{Type: 1, Payload: large})
	r := receive(t, b)
	if !bytes.Equal(r.Payload, large) {
		t.Errorf("%d bytes arrived", len(r.Payload))
	}
	if err := b.Reply(within(t, 10*time.Second), r, 2, r.Payload); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, a); !bytes.Equal(got.Payload, large) {
		t.Errorf("%d bytes came back", len(got.Payload))
	}
	var size *proto.SizeError
	if err := a.Send(t.Context(), to, proto.Message{Payload: make([]byte, proto.DefaultLimit)}); !errors.As(err, &size) {
		t.Errorf("over the limit: %v", err)
	}
	send(t, a, to, text(3, "the connection is as it was"))
	receive(t, b)
}

// Answers come to the caller's own endpoint, or on the same connection if it has none.
func TestCalls(t *testing.T) {
	named, _ := listening(t, Config{})
	wrong, _ := listening(t, Config{Source: "127.0.0.1:1"}) // refuses
	for name, caller := range map[string]*App{"with a listener": named, "without": made(t, Config{}), "unreachable": wrong} {
		t.Run(name, func(t *testing.T) {
			b, to := listening(t, Config{})
			serve(t, b)
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					want := strconv.Itoa(i)
					r, err := caller.Call(within(t, 10*time.Second), to, text(100, want))
					if err != nil || r.Type != 101 || string(r.Payload) != want+want || r.IsCall() {
						t.Errorf("call %d: %v, %v", i, r, err)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestCallsEnd(t *testing.T) {
	a := made(t, Config{})
	b, to := listening(t, Config{})
	_, err := a.Call(t.Context(), to, text(100, "?")) // nobody receives it: one second
	var silent *NoAnswer
	if !errors.As(err, &silent) || silent.Endpoint != to || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no answer: %v", err)
	}
	r := receive(t, b)
	if !r.IsCall() || r.CallID() != 2 {
		t.Errorf("request: %+v", r.Message)
	}
	if err := b.Reply(t.Context(), r, 101, []byte("late")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the late answer is dropped and counted", func() bool { return a.Stats().Late == 1 })
	a.mu.Lock()
	if len(a.calls) != 0 {
		t.Errorf("%d calls are waited for", len(a.calls))
	}
	a.mu.Unlock()
	done := make(chan error)
	go func() { _, err := a.Call(within(t, 20*time.Second), to, text(100, "?")); done <- err }()
	receive(t, b)
	a.Close()
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("closed meanwhile: %v", err)
	}
}

// What the answer to an ordinary message keeps.
func TestReplyToAMessage(t *testing.T) {
	a, _ := listening(t, Config{})
	b, to := listening(t, Config{Source: "app1:4560"})
	m := text(100, "ping")
	m.SubID, m.MEID = 9, []byte("gnb_1")
	copy(m.XID[:], bytes.Repeat([]byte{0xff}, 32))
	send(t, a, to, m)
	if err := b.Reply(t.Context(), receive(t, b), 101, []byte("pong")); err != nil {
		t.Fatal(err)
	}
	got := receive(t, a)
	if got.Type != 101 || got.SubID != 9 || string(got.MEID) != "gnb_1" || got.XID != m.XID || string(got.Src) != "app1:4560" || string(got.SrcIP) != to {
		t.Errorf("%+v", got.Message)
	}
}

func TestNoSuchEndpoint(t *testing.T) {
	a := made(t, Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	l.Close()
	for _, to := range []string{gone, "nonsense", "", "127.0.0.1:nonsense"} {
		var out *Unreachable
		if err := a.Send(t.Context(), to, text(1, "")); !errors.As(err, &out) || out.Endpoint != to {
			t.Errorf("%q: %v", to, err)
		}
	}
	a.mu.Lock()
	if len(a.peers) != 0 {
		t.Errorf("%d endpoints are remembered", len(a.peers))
	}
	a.mu.Unlock()
	a.Close()
	if err := a.Send(t.Context(), gone, text(1, "")); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := a.Receive(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// An endpoint that went away and came back is connected to again.
func TestReconnects(t *testing.T) {
	a := made(t, Config{})
	b, to := listening(t, Config{})
	send(t, a, to, text(1, "one"))
	receive(t, b)
	b.Close()
	eventually(t, "the connection is forgotten", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.conns) == 0 && len(a.peers) == 0
	})
	l, err := net.Listen("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	again := made(t, Config{Listener: l})
	send(t, a, to, text(1, "two"))
	if r := receive(t, again); string(r.Payload) != "two" {
		t.Errorf("%q", r.Payload)
	}
}

// What finds its connection broken is sent on another one.
func TestSendsAgainOnANewConnection(t *testing.T) {
	a := made(t, Config{})
	b, to := listening(t, Config{})
	for range 20 {
		send(t, a, to, text(1, "one"))
		receive(t, b)
		c, _, err := a.connTo(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.nc.(*net.TCPConn).CloseWrite()
		send(t, a, to, text(1, "two"))
		receive(t, b)
	}
}

// The newest is dropped where nobody receives; the sender is never held up.
func TestFullQueue(t *testing.T) {
	for name, cfg := range map[string]Config{"messages": {Queue: 4}, "bytes": {QueueBytes: 4 * 344}} {
		t.Run(name, func(t *testing.T) {
			a := made(t, Config{})
			b, to := listening(t, cfg)
			for i := range 10 {
				send(t, a, to, text(1, "message-0"+strconv.Itoa(i)))
			}
			eventually(t, "all arrived", func() bool { s := b.Stats(); return s.Received+s.Dropped == 10 })
			if got := b.Stats(); got.Received != 4 || got.Dropped != 6 {
				t.Fatalf("%+v", got)
			}
			for i := range 4 {
				if r := receive(t, b); string(r.Payload) != "message-0"+strconv.Itoa(i) {
					t.Errorf("%d is %q", i, r.Payload)
				}
			}
			send(t, a, to, text(1, "room again"))
			receive(t, b)
		})
	}
}
