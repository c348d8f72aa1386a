package rmr

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"floe/transport/rmr/proto"
)

// patched is a frame of 345 bytes with other numbers in it, big endian from
// byte 50 on, else little.
func patched(t testing.TB, at int, n uint32) []byte {
	b := frame(t, text(100, "hello-world"))
	if at < 50 {
		binary.LittleEndian.PutUint32(b[at:], n)
	} else {
		binary.BigEndian.PutUint32(b[at:], n)
	}
	return b
}

// Byte positions in a frame.
const (
	lengthAt  = 0
	plenAt    = 50 + 4
	len0At    = 50 + 196
	len2At    = 50 + 204
	versionAt = 50 + 8
)

// unmarked is a frame of a release before 3.7.1: one length, no '$'.
func unmarked(t testing.TB) []byte {
	b := frame(t, text(100, "hello-world"))
	clear(b[4:9])
	return b
}

// bothLengths puts a number into both places of a frame's length.
func bothLengths(t testing.TB, n uint32) []byte {
	b := patched(t, lengthAt, n)
	binary.BigEndian.PutUint32(b[4:], n)
	return b
}

// Frames that kill, hang or deafen the library, show its memory, or that it
// delivers with a negative length: ours are refused and counted, on that connection alone.
func TestHostileFrames(t *testing.T) {
	tests := []struct {
		name    string
		bytes   []byte
		refused bool
	}{
		{"header length near 2^32", patched(t, len0At, 0xffffffff-100), true},
		{"header length under 280", patched(t, len0At, 200), true},
		{"frame of 2 GiB", bothLengths(t, 0x7fffffff), true},
		{"frame of no length", bothLengths(t, 0), true},
		{"negative frame length", bothLengths(t, 0xffffff00), true},
		{"payload longer than the frame", patched(t, plenAt, 1000), true},
		{"negative payload", patched(t, plenAt, 0xfffffff0), true},
		{"something else", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), true},
		{"no data 1", patched(t, len2At, 0), false},
		{"old framing without a mark", unmarked(t), false},
		{"unknown version", patched(t, versionAt, 99), false},
		{"a table at the wrong port", frame(t, text(proto.TypeTable, "newrt\n")), false},
		{"a table request", frame(t, text(proto.TypeRequest, "x")), false},
		{"an acknowledgement", frame(t, text(proto.TypeAck, "x")), false},
		{"a message without payload", frame(t, text(0, "")), false},
	}
	b, to := listening(t, Config{})
	a := made(t, Config{})
	var refused uint64
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nc := raw(t, to)
			write(t, nc, tt.bytes)
			if tt.refused {
				refused++
				expectEnd(t, nc)
			} else {
				receive(t, b)
			}
			send(t, a, to, text(7, "still there"))
			if r := receive(t, b); string(r.Payload) != "still there" {
				t.Errorf("%q", r.Payload)
			}
			if got := b.Stats().Refused; got != refused {
				t.Errorf("%d refused, want %d", got, refused)
			}
		})
	}
}

// expectEnd waits until the other side closes the connection.
func expectEnd(t testing.TB, nc net.Conn) {
	t.Helper()
	_ = nc.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, err := nc.Read(make([]byte, 1))
	var timeout net.Error
	if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatal("the connection is still open:", err)
	}
}

// A frame that does not end is given up; a connection that is silent between frames is not.
func TestStalledFrames(t *testing.T) {
	b, to := listening(t, Config{FrameTimeout: 50 * time.Millisecond})
	whole := frame(t, text(100, "hello"))
	silent, stalled := raw(t, to), raw(t, to)
	write(t, silent, whole)
	receive(t, b)
	write(t, stalled, whole[:100])
	expectEnd(t, stalled)
	write(t, silent, whole)
	receive(t, b)
	if got := b.Stats(); got != (Stats{Received: 2, Refused: 1}) {
		t.Errorf("%+v", got)
	}
}

// A peer that is slow holds up nobody else.
func TestSlowPeer(t *testing.T) {
	b, to := listening(t, Config{})
	a := made(t, Config{})
	slow := raw(t, to)
	for _, one := range frame(t, text(100, "slow")) {
		write(t, slow, []byte{one})
	}
	receive(t, b)
	write(t, slow, frame(t, text(100, "slow"))[:20])
	send(t, a, to, text(1, "fast"))
	if r := receive(t, b); string(r.Payload) != "fast" {
		t.Errorf("%q", r.Payload)
	}
}

// Who does not read is given up after the time for a write, and a context cuts that short.
func TestPeerThatReadsNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := made(t, Config{Timeout: 100 * time.Millisecond})
	b, to := listening(t, Config{})
	stuck := l.Addr().String()
	for name, ctx := range map[string]time.Duration{"timeout": 10 * time.Second, "context": 30 * time.Millisecond} {
		err = nil
		for range 20 {
			if err = a.Send(within(t, ctx), stuck, proto.Message{Payload: make([]byte, 8<<20)}); err != nil {
				break
			}
		}
		var out *Unreachable
		if !errors.As(err, &out) {
			t.Errorf("%s: %v", name, err)
		}
	}
	send(t, a, to, text(1, "others"))
	receive(t, b)
}

func TestTooManyConnections(t *testing.T) {
	b, to := listening(t, Config{Conns: 2})
	first, second := raw(t, to), raw(t, to)
	write(t, first, frame(t, text(1, "")))
	write(t, second, frame(t, text(1, "")))
	receive(t, b)
	receive(t, b)
	if _, err := raw(t, to).Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("third: %v, want EOF", err)
	}
	first.Close()
	eventually(t, "there is room again", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.accepted == 1
	})
	write(t, raw(t, to), frame(t, text(1, "")))
	receive(t, b)
}

// The connection of an answer may be gone meanwhile: then the source address is tried.
func TestReplyWithoutConnection(t *testing.T) {
	b, to := listening(t, Config{})
	third, other := listening(t, Config{})
	nc := raw(t, to)
	m := text(1, "?")
	m.SrcIP = []byte(other)
	write(t, nc, frame(t, m))
	r := receive(t, b)
	nc.Close()
	eventually(t, "the connection is gone", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.conns) == 0
	})
	if err := b.Reply(t.Context(), r, 2, []byte("!")); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, third); string(got.Payload) != "!" {
		t.Errorf("%q", got.Payload)
	}
	r.SrcIP = nil
	var out *Unreachable
	if err := b.Reply(t.Context(), r, 2, nil); !errors.As(err, &out) {
		t.Errorf("nowhere to answer: %v", err)
	}
}
