package rmr

import (
	"context"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"floe/transport/rmr/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listening returns an App that listens on a free port, and its endpoint.
func listening(t testing.TB, cfg Config) (*App, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listener = l
	return made(t, cfg), l.Addr().String()
}

func made(t testing.TB, cfg Config) *App {
	a := New(cfg)
	t.Cleanup(a.Close)
	return a
}

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// receive returns the next message, which has to come soon.
func receive(t testing.TB, a *App) *Received {
	t.Helper()
	r, err := a.Receive(within(t, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func send(t testing.TB, a *App, to string, m proto.Message) {
	t.Helper()
	if err := a.Send(within(t, 10*time.Second), to, m); err != nil {
		t.Fatal(err)
	}
}

func text(mtype int32, payload string) proto.Message {
	return proto.Message{Type: mtype, SubID: proto.NoSubID, Payload: []byte(payload)}
}

// serve answers every message with its type plus one and the payload doubled.
func serve(t testing.TB, a *App) {
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(done)
		for {
			r, err := a.Receive(ctx)
			if err != nil {
				return
			}
			if err := a.Reply(ctx, r, r.Type+1, append(r.Payload, r.Payload...)); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// eventually polls until ok or fails the test after ten seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		case <-tick.C:
		}
	}
}

// raw opens a bare connection.
func raw(t testing.TB, endpoint string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

func write(t testing.TB, nc net.Conn, b []byte) {
	t.Helper()
	if _, err := nc.Write(b); err != nil {
		t.Fatal(err)
	}
}

func frame(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Append(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
