package relay_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/transport/rmr"
	"floe/transport/rmr/proto"
	"floe/transport/rmr/relay"
)

// quick are times that a test can wait for.
func quick() relay.Config {
	return relay.Config{Backoff: 40 * time.Millisecond, MaxBackoff: 80 * time.Millisecond}
}

func endpoint(n *node, name string) relay.EndpointStats {
	for _, e := range n.Stats().Endpoints {
		if e.Name == name {
			return e
		}
	}
	return relay.EndpointStats{}
}

// A dead member costs the messages that were on their way to it; the others
// take its turns, and it takes them again once it is back.
func TestDeadMemberIsPassedOver(t *testing.T) {
	a, toA := app(t)
	b, toB := app(t)
	dead := freePort(t)
	n := start(t, quick())
	n.load(t, "mse | 1 | -1 | "+toA+","+toB+","+dead)
	sender := appOn(t, rmr.Config{Source: "s:1"})
	for range 3 {
		send(t, sender, n.rmr, text(1, ""))
	}
	receive(t, a)
	receive(t, b)
	eventually(t, "it is found dead", func() bool { return endpoint(n, dead).Dead })
	for range 20 {
		send(t, sender, n.rmr, text(1, ""))
	}
	for range 10 {
		receive(t, a)
		receive(t, b)
	}
	back := rawAppAt(t, dead)
	eventually(t, "it is back", func() bool { return !endpoint(n, dead).Dead })
	for range 3 {
		send(t, sender, n.rmr, text(1, ""))
	}
	back.next(t)
	s := n.Stats()
	if e := endpoint(n, dead); e.Dropped[relay.DeadEndpoint] != 1 || s.Total.Lost() != 1 {
		t.Errorf("%+v", s)
	}
	balanced(t, s)
}

// What the probe withdrew gets nothing while others are left.
func TestWithdrawnMemberIsPassedOver(t *testing.T) {
	a, toA := app(t)
	b, toB := app(t)
	n := start(t, relay.Config{})
	n.load(t, "mse | 1 | -1 | "+toA+","+toB)
	n.group.apply(fsm.SetProbed{Dead: []string{toA}})
	n.current(t)
	for range 4 {
		_ = n.Send(ptr(text(1, "")))
		receive(t, b)
	}
	n.group.apply(fsm.SetProbed{Dead: []string{toB}})
	n.current(t)
	_ = n.Send(ptr(text(1, "")))
	_ = n.Send(ptr(text(1, "")))
	receive(t, a)
	receive(t, b)
}

// A message for an endpoint that is away waits for the next attempt to reach it.
func TestMessagesWaitForTheNextAttempt(t *testing.T) {
	to := freePort(t)
	cfg := quick()
	cfg.Backoff, cfg.MaxBackoff = 300*time.Millisecond, 300*time.Millisecond
	n := start(t, cfg)
	n.load(t, "mse | 1 | -1 | "+to)
	_ = n.Send(ptr(text(1, "lost")))
	eventually(t, "it is dropped", func() bool { return endpoint(n, to).Dropped[relay.DeadEndpoint] == 1 })
	back := rawAppAt(t, to)
	_ = n.Send(ptr(text(1, "waits")))
	if m := parse(t, back.next(t)); string(m.Payload) != "waits" {
		t.Errorf("%q", m.Payload)
	}
	if e := endpoint(n, to); !e.Connected || e.LastError == "" {
		t.Errorf("%+v", e)
	}
}

// An application that starts anew is connected to again, and gets whole
// frames only.
func TestReconnects(t *testing.T) {
	first := rawApp(t)
	n := start(t, quick())
	n.load(t, "mse | 1 | -1 | "+first.name)
	_ = n.Send(ptr(text(1, "one")))
	first.next(t)
	first.stop()
	eventually(t, "it is noticed without a message", func() bool { return !endpoint(n, first.name).Connected })
	second := rawAppAt(t, first.name)
	eventually(t, "there is a connection again", func() bool { return endpoint(n, first.name).Connected })
	_ = n.Send(ptr(text(1, "two")))
	if m := parse(t, second.next(t)); string(m.Payload) != "two" {
		t.Errorf("%q", m.Payload)
	}
	if second.connections() != 1 {
		t.Errorf("%d connections", second.connections())
	}
}

// An endpoint that reads nothing fills its queue and nothing else: its sender
// is drained all the same, others get theirs, and what it reads in the
// end is whole and in order, the newest missing.
func TestSlowEndpoint(t *testing.T) {
	l := listen(t)
	defer l.Close()
	slow := l.Addr().String()
	fast, to := app(t)
	var out syncBuffer
	n := start(t, relay.Config{Queue: 50, Log: hclog.New(&hclog.LoggerOptions{Output: &out})})
	n.load(t, "mse | 1 | -1 | "+slow, "mse | 2 | -1 | "+to)
	sender := appOn(t, rmr.Config{Source: "s:1"})
	const all = 400
	for i := range all {
		m := text(1, strconv.Itoa(i))
		m.Payload = append(m.Payload, make([]byte, 64<<10)...)
		send(t, sender, n.rmr, m)
		balanced(t, n.Stats())
	}
	send(t, sender, n.rmr, text(2, "fast"))
	receive(t, fast)
	e := endpoint(n, slow)
	if e.Offered != all || e.Dropped[relay.QueueFull] == 0 || e.Queued > 50 {
		t.Errorf("%+v", e)
	}
	if got := out.String(); !strings.Contains(got, "queue full, messages are dropped") || !strings.Contains(got, "to="+slow) {
		t.Errorf("no line tells of it: %s", got)
	}
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	frames := proto.NewReader(nc, 0)
	for i := range int(all - e.Dropped[relay.QueueFull]) {
		f, err := frames.Next()
		if err != nil {
			t.Fatal(err)
		}
		digits, _, _ := bytes.Cut(parse(t, f).Payload, []byte{0})
		if string(digits) != strconv.Itoa(i) {
			t.Fatalf("message %d is %s", i, digits)
		}
	}
	eventually(t, "all is delivered", func() bool { e := endpoint(n, slow); return e.Queued == 0 && !e.Dead })
}

// The last frame of a broken connection, of which a part was written, is
// written again as a whole.
func TestBrokenInTheMiddleOfAFrame(t *testing.T) {
	l := listen(t)
	n := start(t, quick())
	n.load(t, "mse | 1 | -1 | "+l.Addr().String())
	const size = 8 << 20
	for i := range 2 {
		m := text(1, strconv.Itoa(i))
		m.Payload = append(m.Payload, make([]byte, size-1)...)
		if err := n.Send(&m); err != nil {
			t.Fatal(err)
		}
	}
	nc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Read(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	nc.Close()
	l.Close()
	again := rawAppAt(t, l.Addr().String())
	// The queue is kept if the connection comes back at once; else its
	// messages are counted.
	eventually(t, "each message arrives whole or is counted", func() bool {
		e := endpoint(n, again.name)
		return e.Queued == 0 && e.Delivered+e.Lost() == 2
	})
	for range endpoint(n, again.name).Delivered {
		if m := parse(t, again.next(t)); len(m.Payload) != size {
			t.Errorf("%d bytes", len(m.Payload))
		}
	}
}

// A dead address holds up nobody, and a large message always fits an empty queue.
func TestLargeMessages(t *testing.T) {
	to, toTo := app(t)
	n := start(t, relay.Config{QueueBytes: 1 << 20})
	n.load(t, "mse | 1 | -1 | "+toTo, "mse | 2 | -1 | 192.0.2.1:4560")
	sender := appOn(t, rmr.Config{Source: "s:1"})
	send(t, sender, n.rmr, text(2, "into the void"))
	for _, size := range []int{64 << 10, 1 << 20, 8 << 20} {
		payload := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		send(t, sender, n.rmr, proto.Message{Type: 1, SubID: -1, Payload: payload})
		if r := receive(t, to); !bytes.Equal(r.Payload, payload) {
			t.Errorf("%d bytes: %d arrived, or other ones", size, len(r.Payload))
		}
		eventually(t, "the queue is empty", func() bool { return endpoint(n, toTo).Queued == 0 })
	}
}

// What no route names, and nobody uses, is closed; what a route names stays.
func TestIdleEndpointsClose(t *testing.T) {
	a, b := rawApp(t), rawApp(t)
	cfg := quick()
	cfg.IdleTimeout = 50 * time.Millisecond
	n := start(t, cfg)
	n.load(t, "mse | 1 | -1 | "+a.name+";"+b.name)
	_ = n.Send(ptr(text(1, "")))
	a.next(t)
	b.next(t)
	n.load(t, "mse | 1 | -1 | "+a.name)
	eventually(t, "the idle one is closed", func() bool { return len(n.Stats().Endpoints) == 1 })
	if s := n.Stats(); s.Endpoints[0].Name != a.name || !s.Endpoints[0].Connected || s.Total.Delivered != 2 {
		t.Errorf("%+v", s)
	}
	n.load(t, "mse | 1 | -1 | "+b.name)
	_ = n.Send(ptr(text(1, "again")))
	b.next(t)
	eventually(t, "all are counted", func() bool { got := n.Stats().Total; return got.Delivered == 3 && got.Offered == 3 })
}

// Shutdown forwards what was sent before it, and counts what it can't.
func TestShutdownDrains(t *testing.T) {
	to, name := app(t)
	l := listen(t)
	defer l.Close()
	n := start(t, relay.Config{})
	n.load(t, "mse | 1 | -1 | "+name, "mse | 2 | -1 | "+l.Addr().String())
	sender := appOn(t, rmr.Config{Source: "s:1"})
	for range 1000 {
		send(t, sender, n.rmr, text(1, ""))
	}
	if err := n.Shutdown(within(t)); err != nil {
		t.Error(err)
	}
	for range 1000 {
		receive(t, to)
	}
	if err := n.Send(ptr(text(1, ""))); !errors.Is(err, relay.ErrStopped) {
		t.Error(err)
	}

	n = start(t, relay.Config{})
	n.load(t, "mse | 2 | -1 | "+l.Addr().String())
	for range 3 {
		_ = n.Send(ptr(proto.Message{Type: 2, SubID: -1, Payload: make([]byte, 5<<20)}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := n.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	s := n.Stats()
	if s.Total.Dropped[relay.Stopped] == 0 || s.Total.Queued != 0 {
		t.Errorf("%+v", s.Total)
	}
	balanced(t, s)
}

// A member that reads nothing is passed over once its queue is full.
func TestStoppedMemberIsPassedOver(t *testing.T) {
	l := listen(t)
	defer l.Close()
	fast, to := app(t)
	n := start(t, relay.Config{Queue: 10})
	n.load(t, "mse | 1 | -1 | "+l.Addr().String()+","+to)
	got := 0
	m := proto.Message{Type: 1, SubID: -1, Payload: make([]byte, 1<<20)}
	for range 60 {
		if err := n.Send(&m); err != nil {
			t.Fatal(err)
		}
		for endpoint(n, to).Offered > uint64(got) {
			receive(t, fast)
			got++
		}
	}
	if lost := endpoint(n, l.Addr().String()).Lost(); lost == 0 || lost > 2 {
		t.Errorf("%d lost", lost)
	}
	if got < 40 {
		t.Errorf("the other member got %d of 60", got)
	}
}

// What takes connections and ends them at once, as a proxy for nobody does,
// is passed over as well.
func TestConnectionsThatDoNotLast(t *testing.T) {
	l := listen(t)
	defer l.Close()
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			nc.Close()
		}
	}()
	defer func() { l.Close(); <-accepted }()
	cfg := quick()
	cfg.Backoff, cfg.MaxBackoff = 10*time.Second, 10*time.Second
	n := start(t, cfg)
	n.load(t, "mse | 1 | -1 | "+l.Addr().String())
	_ = n.Send(ptr(text(1, "")))
	eventually(t, "it is passed over", func() bool { e := endpoint(n, l.Addr().String()); return e.Dead && !e.Connected && e.LastError != "" })
}
