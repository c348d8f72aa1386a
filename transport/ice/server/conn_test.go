package server

import (
	"net"
	"testing"
	"time"

	"floe/transport/ice/proto"
)

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
