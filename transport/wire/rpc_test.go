package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

func TestCallsShareOneConnection(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	server.Serve(echo)
	var wg sync.WaitGroup
	for i := range 2000 {
		wg.Go(func() {
			want := bytes.Repeat(fmt.Append(nil, i, ","), 1+i%50)
			if i%500 == 0 {
				want = bytes.Repeat([]byte{byte(i)}, 1<<20)
			}
			got, err := caller.Client().Call(within(t, 10*time.Second), server.Advertised(), "echo", want)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("call %d: got %d bytes, %v; want %d bytes", i, len(got), err, len(want))
			}
		})
	}
	wg.Wait()
	if got := server.Stats().Conns; got != 1 {
		t.Errorf("got %d connections, want 1", got)
	}
}

func TestHandlerSeesMethodCallerAndDeadline(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	server.Serve(func(ctx context.Context, from net.Addr, method string, body []byte) ([]byte, error) {
		deadline, ok := ctx.Deadline()
		left := time.Until(deadline)
		return fmt.Appendf(nil, "%s %s %v %v", method, from.(*net.TCPAddr).IP, ok, left > time.Second && left <= 3*time.Second), nil
	})
	got, err := caller.Client().Call(within(t, 3*time.Second), server.Advertised(), "propose", nil)
	if want := "propose 127.0.0.1 true true"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// codedError stands for a domain error of another package.
type codedError struct{ leader string }

func (e *codedError) Error() string     { return "not the leader: " + e.leader }
func (e *codedError) ErrorCode() string { return "not_leader" }

func TestHandlerErrorsKeepCodeAndText(t *testing.T) {
	tests := map[string]struct {
		give error
		want RemoteError
	}{
		"coded":         {&codedError{"n2"}, RemoteError{"not_leader", "not the leader: n2"}},
		"wrapped coded": {fmt.Errorf("propose: %w", &codedError{"n2"}), RemoteError{"not_leader", "propose: not the leader: n2"}},
		"plain":         {errors.New("no such topic"), RemoteError{"", "no such topic"}},
		"passed on":     {&RemoteError{"a", "b"}, RemoteError{"a", "b"}},
	}
	server, caller := listen(t, Config{}), listen(t, Config{})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server.Serve(func(context.Context, net.Addr, string, []byte) ([]byte, error) { return nil, test.give })
			_, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), "m", nil)
			var got *RemoteError
			if !errors.As(err, &got) || *got != test.want {
				t.Errorf("got %#v, want %#v", err, test.want)
			}
		})
	}
}

// outcomeOf is how package cluster tells the errors: by method, not by type.
func outcomeOf(err error) string {
	var notSent interface{ NotSent() bool }
	var unknown interface{ OutcomeUnknown() bool }
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &notSent) && notSent.NotSent():
		return "not sent"
	case errors.As(err, &unknown) && unknown.OutcomeUnknown():
		return "unknown"
	}
	return "failed"
}

func TestRefusedConnectionIsNotSent(t *testing.T) {
	gone := listen(t, Config{})
	address := gone.Advertised()
	shutdown(t, gone)
	client := NewClient(Options{})
	defer client.Close()
	_, err := client.Call(within(t, 5*time.Second), address, "m", nil)
	if got, want := outcomeOf(err), "not sent"; got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

func TestNotServedIsNotSent(t *testing.T) {
	server := listen(t, Config{})
	client := NewClient(Options{})
	defer client.Close()
	_, err := client.Call(within(t, 5*time.Second), server.Advertised(), "m", nil)
	if got, want := outcomeOf(err), "not sent"; got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

func TestSilentHostIsNotSent(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	client := NewClient(Options{HandshakeTimeout: 50 * time.Millisecond})
	defer client.Close()
	_, err = client.Call(within(t, 5*time.Second), silent.Addr().String(), "m", nil)
	if got, want := outcomeOf(err), "not sent"; got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

// stuck is a handler that waits for its context and tells of both moments.
func stuck() (h Handler, entered, left chan struct{}) {
	entered, left = make(chan struct{}, 4096), make(chan struct{}, 4096)
	return func(ctx context.Context, _ net.Addr, _ string, _ []byte) ([]byte, error) {
		entered <- struct{}{}
		<-ctx.Done()
		left <- struct{}{}
		return nil, ctx.Err()
	}, entered, left
}

func TestDeadlineEndsCallAndHandler(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	h, _, left := stuck()
	server.Serve(h)
	_, err := caller.Client().Call(within(t, 50*time.Millisecond), server.Advertised(), "m", nil)
	if got, want := outcomeOf(err), "unknown"; got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
	receive(t, left, "handler's context ended")
}

func TestCancelEndsHandler(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	h, entered, left := stuck()
	server.Serve(h)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-entered
		cancel()
	}()
	_, err := caller.Client().Call(ctx, server.Advertised(), "m", nil)
	if got, want := outcomeOf(err), "unknown"; got != want || !errors.Is(err, context.Canceled) {
		t.Errorf("got %s (%v), want %s wrapping context.Canceled", got, err, want)
	}
	receive(t, left, "handler's context ended")
}

func receive(t testing.TB, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(10 * time.Second):
		t.Fatalf("never happened: %s", what)
	}
}

func TestServerDeathMidCallIsUnknown(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	h, entered, left := stuck()
	server.Serve(h)
	go func() {
		<-entered
		server.accepted.closeAll() // as the kernel does for a killed process
	}()
	_, err := caller.Client().Call(within(t, 10*time.Second), server.Advertised(), "m", nil)
	if got, want := outcomeOf(err), "unknown"; got != want || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %s (%v), want %s without waiting for the deadline", got, err, want)
	}
	receive(t, left, "handler's context ended with its connection")
}

func TestCallAfterServerRestart(t *testing.T) {
	caller := listen(t, Config{})
	first := listen(t, Config{})
	first.Serve(echo)
	address := first.Advertised()
	if _, err := caller.Client().Call(within(t, 5*time.Second), address, "m", nil); err != nil {
		t.Fatal(err)
	}
	shutdown(t, first)
	second := listen(t, Config{Bind: address})
	second.Serve(echo)
	if _, err := caller.Client().Call(within(t, 5*time.Second), address, "m", nil); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

func TestOneBusyConnectionMakesCallersWait(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{Options: Options{MaxInFlight: 2}})
	h, entered, _ := stuck()
	server.Serve(h)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { _, _ = caller.Client().Call(ctx, server.Advertised(), "m", nil) })
		receive(t, entered, "handler runs")
	}
	_, err := caller.Client().Call(within(t, 50*time.Millisecond), server.Advertised(), "m", nil)
	if got, want := outcomeOf(err), "not sent"; got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
	cancel()
	wg.Wait()
}

func TestHandlersAreBounded(t *testing.T) {
	server, caller := listen(t, Config{MaxHandlers: 1}), listen(t, Config{})
	h, entered, _ := stuck()
	server.Serve(h)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = caller.Client().Call(ctx, server.Advertised(), "m", nil) })
	receive(t, entered, "handler runs")
	_, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), "m", nil)
	if got, want := outcomeOf(err), "not sent"; got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
	if got := server.Stats().RefusedCalls; got != 1 {
		t.Errorf("%d calls counted as refused, want 1", got)
	}
	cancel()
	wg.Wait()
}

// A connection that asks for more at a time than it may is refused the rest, which was certainly not done.
func TestCallsOfAConnectionAreBounded(t *testing.T) {
	var out syncBuffer
	server, caller := listen(t, Config{Options: Options{MaxInFlight: 1}, Log: hclog.New(&hclog.LoggerOptions{Output: &out})}), listen(t, Config{})
	h, entered, _ := stuck()
	server.Serve(h)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = caller.Client().Call(ctx, server.Advertised(), "m", nil) })
	receive(t, entered, "handler runs")
	for range 2 {
		_, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), "m", nil)
		if got, want := outcomeOf(err), "not sent"; got != want || !strings.Contains(err.Error(), "on this connection") {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
	if got := server.Stats().RefusedCalls; got != 2 {
		t.Errorf("%d calls counted as refused, want 2", got)
	}
	if got := strings.Count(out.String(), "call refused, there are too many"); got != 1 {
		t.Errorf("%d lines tell of them", got)
	}
	cancel()
	wg.Wait()
}

func TestSizeLimits(t *testing.T) {
	server := listen(t, Config{Options: Options{MaxFrame: 1000}})
	caller := listen(t, Config{Options: Options{MaxFrame: 1000}})
	server.Serve(func(_ context.Context, _ net.Addr, method string, body []byte) ([]byte, error) {
		if method == "big" {
			return make([]byte, 1001), nil
		}
		return body, nil
	})
	call := func(method string, n int) error {
		_, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), method, make([]byte, n))
		return err
	}
	if err := call("echo", 1000); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if got := outcomeOf(call("echo", 1001)); got != "not sent" {
		t.Errorf("request over the limit: got %s, want not sent", got)
	}
	var remote *RemoteError
	if err := call("big", 1); !errors.As(err, &remote) || remote.Code != CodeTooLarge {
		t.Errorf("reply over the limit: got %v, want code %s", err, CodeTooLarge)
	}
	if got := outcomeOf(call(string(make([]byte, 256)), 1)); got != "not sent" {
		t.Errorf("long method: got %s, want not sent", got)
	}
}

func TestIdleConnectionCloses(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{Options: Options{IdleTimeout: 30 * time.Millisecond}})
	server.Serve(echo)
	for range 3 {
		if _, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), "m", nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, "idle connection closed", func() bool { return server.Stats().Conns == 0 })
	}
}

func TestShutdownFinishesHandlersAndRefusesNewOnes(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	entered, release := make(chan struct{}), make(chan struct{})
	server.Serve(func(context.Context, net.Addr, string, []byte) ([]byte, error) {
		close(entered)
		<-release
		return []byte("done"), nil
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		got, err := caller.Client().Call(within(t, 10*time.Second), server.Advertised(), "slow", nil)
		if err != nil || string(got) != "done" {
			t.Errorf("call under way: got %q, %v", got, err)
		}
	})
	receive(t, entered, "handler runs")
	wg.Go(func() { shutdown(t, server) })
	eventually(t, "draining", server.isDraining)
	_, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), "late", nil)
	if got, want := outcomeOf(err), "not sent"; got != want {
		t.Errorf("late call: got %s (%v), want %s", got, err, want)
	}
	close(release)
	wg.Wait()
}

// nextMessage reads one RPC frame off a bare connection.
func nextMessage(t *testing.T, frames *frameReader) string {
	t.Helper()
	b, err := frames.fresh()
	if err != nil {
		t.Fatal(err)
	}
	m, err := parseMessage(b)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("type %d id %d %s", m.typ, m.id, m.body)
}

// What a client sees on the wire that does not heed "go away" at once.
func TestShutdownOnTheWire(t *testing.T) {
	server := listen(t, Config{})
	entered, release := make(chan struct{}, 2), make(chan struct{})
	server.Serve(func(context.Context, net.Addr, string, []byte) ([]byte, error) {
		entered <- struct{}{}
		<-release
		return []byte("done"), nil
	})
	raw := dialRaw(t, server)
	if err := greet(raw, version, kindRPC); err != nil {
		t.Fatal(err)
	}
	nc := seal(raw, time.Minute)
	request := func(id uint64) {
		if _, err := nc.Write(rawFrame(-1, message{typ: msgRequest, id: id, name: "m"}.head(nil))); err != nil {
			t.Fatal(err)
		}
	}
	request(1)
	receive(t, entered, "handler runs")
	var wg sync.WaitGroup
	wg.Go(func() { shutdown(t, server) })
	defer wg.Wait()
	frames := newFrameReader(&paced{Conn: nc}, DefaultMaxFrame, 10*time.Second, 10*time.Second)
	if got, want := nextMessage(t, frames), "type 6 id 0 "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	request(2)
	if got, want := nextMessage(t, frames), "type 4 id 2 shutting down"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	close(release)
	if got, want := nextMessage(t, frames), "type 2 id 1 done"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := frames.fresh(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want io.EOF", err)
	}
}

func TestShutdownCancelsStuckHandlers(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	h, entered, left := stuck()
	server.Serve(h)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := caller.Client().Call(within(t, 20*time.Second), server.Advertised(), "m", nil)
		if got, want := outcomeOf(err), "unknown"; got != want {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	})
	receive(t, entered, "handler runs")
	if err := server.Shutdown(within(t, 50*time.Millisecond)); err != nil {
		t.Error(err)
	}
	receive(t, left, "handler ended")
	wg.Wait()
}

func TestShutdownNamesAHandlerThatDoesNotEnd(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	entered, release := make(chan struct{}), make(chan struct{})
	server.Serve(func(context.Context, net.Addr, string, []byte) ([]byte, error) {
		close(entered)
		<-release
		return nil, nil
	})
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = caller.Client().Call(within(t, 20*time.Second), server.Advertised(), "m", nil) })
	receive(t, entered, "handler runs")
	if err := server.Shutdown(within(t, 10*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want deadline exceeded", err)
	}
	close(release)
	wg.Wait()
}

// A random mix of cancelled and completed calls must leave nothing behind.
func TestCancelStormLeavesNothing(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{Options: Options{MaxInFlight: 16}})
	var ran atomic.Int64
	server.Serve(func(_ context.Context, _ net.Addr, _ string, body []byte) ([]byte, error) {
		ran.Add(1)
		return body, nil
	})
	var wg sync.WaitGroup
	var done, unknown atomic.Int64
	for range 32 {
		wg.Go(func() {
			for i := range 100 {
				ctx, cancel := context.WithCancel(context.Background())
				if i%2 == 0 {
					go func() { runtime.Gosched(); cancel() }()
				}
				_, err := caller.Client().Call(ctx, server.Advertised(), "m", []byte("x"))
				cancel()
				switch outcomeOf(err) {
				case "done":
					done.Add(1)
				case "unknown":
					unknown.Add(1)
				case "failed":
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if low, got, high := done.Load(), ran.Load(), done.Load()+unknown.Load(); got < low || got > high {
		t.Errorf("handlers ran %d times, callers say between %d and %d", got, low, high)
	}
	if _, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), "m", nil); err != nil {
		t.Error(err)
	}
	cc, err := caller.Client().connTo(server.Advertised())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "all slots free", func() bool { return len(cc.slots) == 0 })
}

// S11: a handler that panics costs its call, and neither the connection nor the process.
func TestHandlerThatPanics(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	server.Serve(func(_ context.Context, _ net.Addr, method string, body []byte) ([]byte, error) {
		if method == "panic" {
			panic("planted")
		}
		return body, nil
	})
	var unknown *UnknownOutcomeError
	if _, err := caller.Client().Call(within(t, 10*time.Second), server.Advertised(), "panic", nil); !errors.As(err, &unknown) {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	if got, err := caller.Client().Call(within(t, 10*time.Second), server.Advertised(), "echo", []byte("x")); err != nil || string(got) != "x" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	if got := server.Stats().Conns; got != 1 {
		t.Errorf("%d connections, want the one", got)
	}
}
