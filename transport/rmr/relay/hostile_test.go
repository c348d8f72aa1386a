package relay_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"floe/transport/rmr/relay"
)

// patched is a frame of 345 bytes with another number in it, big endian from
// byte 50 on, else little.
func patched(t testing.TB, at int, n uint32) []byte {
	b := frame(t, text(7, "hello-world"))
	if at < 50 {
		binary.LittleEndian.PutUint32(b[at:], n)
	} else {
		binary.BigEndian.PutUint32(b[at:], n)
	}
	return b
}

func bothLengths(t testing.TB, n uint32) []byte {
	b := patched(t, 0, n)
	binary.BigEndian.PutUint32(b[4:], n)
	return b
}

// unmarked is a frame of a release before 3.7.1: one length, no '$'.
func unmarked(t testing.TB) []byte {
	b := frame(t, text(7, "hello-world"))
	clear(b[4:9])
	return b
}

// swapped has its length in big endian twice, which makes the library wait
// for 1.5 GB.
func swapped(t testing.TB) []byte {
	b := frame(t, text(7, "hello-world"))
	copy(b[:4], b[4:8])
	return b
}

// Frames that kill, hang or deafen the library end their own connection, and
// are counted; nothing of them is passed on.
func TestHostileFrames(t *testing.T) {
	const plenAt, len0At, len2At, versionAt = 50 + 4, 50 + 196, 50 + 204, 50 + 8
	tests := []struct {
		name   string
		bytes  []byte
		passes bool
	}{
		{"header length near 2^32", patched(t, len0At, 0xffffffff-100), false},
		{"header length under 280", patched(t, len0At, 200), false},
		{"frame of 2 GiB", bothLengths(t, 0x7fffffff), false},
		{"frame over the limit", bothLengths(t, 1<<20+1), false},
		{"frame of no length", bothLengths(t, 0), false},
		{"negative frame length", bothLengths(t, 0xffffff00), false},
		{"payload longer than the frame", patched(t, plenAt, 1000), false},
		{"negative payload", patched(t, plenAt, 0xfffffff0), false},
		{"something else", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), false},
		{"old framing without a mark", unmarked(t), true},
		{"length in big endian", swapped(t), true},
		{"no data 1", patched(t, len2At, 0), true},
		{"unknown version", patched(t, versionAt, 99), true},
	}
	to := rawApp(t)
	n := start(t, relay.Config{Limit: 1 << 20})
	n.load(t, "mse | 7 | -1 | "+to.name)
	bad := uint64(0)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nc := dial(t, n.rmr)
			write(t, nc, tt.bytes)
			if tt.passes {
				got := to.next(t)
				if length := binary.LittleEndian.Uint32(got); int(length) != len(got) || len(got) != len(tt.bytes) {
					t.Errorf("length %d of %d bytes", length, len(got))
				}
			} else {
				bad++
				expectEnd(t, nc)
			}
			if err := n.Send(ptr(text(7, "still there"))); err != nil {
				t.Fatal(err)
			}
			if m := parse(t, to.next(t)); string(m.Payload) != "still there" {
				t.Errorf("%q", m.Payload)
			}
			eventually(t, "it is counted", func() bool { return listener(n).BadInput == bad })
		})
	}
}

// expectEnd waits until the other side closes the connection.
func expectEnd(t testing.TB, nc net.Conn) {
	t.Helper()
	_ = nc.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, err := nc.Read(make([]byte, 1))
	var timeout net.Error
	if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatal("the connection is still open:", err)
	}
}

// A frame that does not end is given up; a connection that is silent between
// frames is not, and one that dribbles frames in time neither.
func TestStalledFrames(t *testing.T) {
	to := rawApp(t)
	n := start(t, relay.Config{FrameTimeout: 200 * time.Millisecond})
	n.load(t, "mse | 7 | -1 | "+to.name)
	whole := frame(t, text(7, "hello"))
	silent, stalled, busy := dial(t, n.rmr), dial(t, n.rmr), dial(t, n.rmr)
	write(t, silent, whole)
	to.next(t)
	write(t, stalled, whole[:100])
	ended := make(chan struct{})
	go func() { defer close(ended); expectEnd(t, stalled) }()
	// Each frame is cut in the middle by the end of a write.
	rest := whole
	for done := false; !done; {
		write(t, busy, append(append([]byte(nil), rest...), whole[:50]...))
		rest = whole[50:]
		to.next(t)
		select {
		case <-ended:
			done = true
		case <-time.After(time.Millisecond):
		}
	}
	write(t, busy, rest)
	to.next(t)
	write(t, silent, whole)
	to.next(t)
	eventually(t, "the stalled one alone is counted", func() bool { got := listener(n); return got.BadInput == 1 && got.Connections == 2 })
}

func TestTooManyConnections(t *testing.T) {
	to := rawApp(t)
	n := start(t, relay.Config{Conns: 2, PerAddress: 1})
	n.load(t, "mse | 7 | -1 | "+to.name)
	first, second := dial(t, n.rmr), dial(t, n.rmr) // loopback addresses count only for the listener
	for _, nc := range []net.Conn{first, second} {
		write(t, nc, frame(t, text(7, "")))
		to.next(t)
	}
	if _, err := dial(t, n.rmr).Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("third: %v, want EOF", err)
	}
	first.Close()
	eventually(t, "there is room again", func() bool { return listener(n).Connections == 1 })
	write(t, dial(t, n.rmr), frame(t, text(7, "")))
	to.next(t)
	if got := listener(n); got.Refused != 1 || got.Received < 2 {
		t.Errorf("%+v", got)
	}
}

// Table data is a message as any other, and changes nothing.
func TestTableDataFromPeers(t *testing.T) {
	n := start(t, relay.Config{})
	nc := dial(t, n.rmr)
	before := n.group.View().Index
	for _, name := range []string{"table-push-ok", "delta-push-ok", "meid-push-ok"} {
		write(t, nc, vectors(t, name)[0])
	}
	write(t, nc, vectors(t, "table-request")[0])
	eventually(t, "all are refused", func() bool { s := n.Stats(); return s.Tables == 3 && s.Total.Dropped[relay.NoEntry] == 4 })
	if n.group.View().Index != before {
		t.Error("it had an effect")
	}
}
