package server

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"floe/transport/ice/proto"
)

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

	// A new one ends before it is validated: its client tries another endpoint.
	q, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if err := q.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := q.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes, %v", n, err)
	}
	h.Drain(false)
	h.dial(t).ping(1)
}
