package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// older is a peer of version 1: it refuses what is newer, and speaks without
// records to whoever comes in its version.
type older struct {
	net.Listener
	refused, taken atomic.Int64
}

func newOlder(t *testing.T, port *Port) *older {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &older{Listener: l}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go o.serve(nc, port) // ends with the port at the latest
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return o
}

// serve answers a preamble as version 1 did, and leaves the rest to a port's
// way of serving calls without records.
func (o *older) serve(nc net.Conn, port *Port) {
	hello, _, err := readPreamble(nc)
	if err != nil {
		_ = nc.Close()
		return
	}
	answer := preamble{version: plainVersion, kind: hello.kind}
	if hello.version != plainVersion {
		answer.status = statusVersion
		o.refused.Add(1)
	}
	b := answer.bytes()
	_, _ = nc.Write(b[:])
	if answer.status != statusOK {
		_ = nc.Close()
		return
	}
	o.taken.Add(1)
	if c, ok := port.accepted.add(nc, func() {}); ok {
		port.dispatch(c, nc, hello.kind)
	}
}

// A cluster is upgraded node by node: those of two versions speak with each
// other, in the older one's.
func TestPeersOfAnOlderVersion(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	server.Serve(echo)
	old := newOlder(t, server)
	for range 3 {
		got, err := caller.Client().Call(within(t, 10*time.Second), old.Addr().String(), "echo", []byte("hello"))
		if err != nil || string(got) != "hello" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if old.refused.Load() != 1 || old.taken.Load() != 1 {
		t.Errorf("refused %d and taken %d times, want once each", old.refused.Load(), old.taken.Load())
	}

	// One that dials is answered in its version, and its frames bear no sums.
	raw := dialRaw(t, server)
	if err := greet(raw, plainVersion, kindRPC); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Write(rawFrame(-1, message{typ: msgRequest, id: 1, name: "echo"}.head(nil))); err != nil {
		t.Fatal(err)
	}
	if err := raw.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(raw, make([]byte, 4)); err != nil {
		t.Error(err)
	}
}

// What is remembered of a peer's version lasts a minute: it may be replaced.
func TestOlderPeerIsTriedAgain(t *testing.T) {
	c := NewClient(Options{})
	defer c.Close()
	c.noteOlder("a:1")
	if c.versionOf("a:1") != plainVersion || c.versionOf("b:1") != version {
		t.Error("not the version it said")
	}
	c.older["a:1"] = time.Now().Add(-rememberOlder)
	if c.versionOf("a:1") != version {
		t.Error("remembered for too long")
	}
	if _, err := c.Call(context.Background(), "127.0.0.1:1", "m", nil); errors.Is(err, errOlder) {
		t.Error(err)
	}
}
