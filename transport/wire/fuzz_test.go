package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// bytesConn is a connection on which given bytes arrive.
type bytesConn struct {
	net.Conn
	*bytes.Reader
}

func (b bytesConn) Read(p []byte) (int, error)       { return b.Reader.Read(p) }
func (b bytesConn) SetReadDeadline(time.Time) error  { return nil }
func (b bytesConn) SetWriteDeadline(time.Time) error { return nil }

// sink collects what is written.
type sink struct {
	net.Conn
	bytes.Buffer
}

func (s *sink) Read(p []byte) (int, error)       { return s.Buffer.Read(p) }
func (s *sink) Write(p []byte) (int, error)      { return s.Buffer.Write(p) }
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

func FuzzPreamble(f *testing.F) {
	f.Add(hello(kindRaft))
	f.Add([]byte(magic + "\x01\x04\x03"))
	f.Add([]byte("IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00"))
	f.Add([]byte("GET / HT"))
	f.Add([]byte{0x16, 3, 1, 2, 0, 1, 0, 1})
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, in []byte) {
		p, n, err := readPreamble(bytes.NewReader(in))
		if n > preambleSize {
			t.Fatalf("took %d bytes", n)
		}
		if err != nil {
			return
		}
		if got := p.bytes(); !bytes.Equal(got[:], in[:preambleSize]) {
			t.Errorf("got %x, want %x", got, in[:preambleSize])
		}
	})
}

func FuzzFrames(f *testing.F) {
	f.Add(rawFrame(-1, []byte("abc")))
	f.Add(join(rawFrame(-1, []byte("a")), rawFrame(-1, bytes.Repeat([]byte("b"), 1000))))
	f.Add(rawFrame(1<<31, nil))
	f.Add(rawFrame(0, nil))
	f.Add(rawFrame(1<<20, []byte("short")))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1 << 20
		r := newFrameReader(&paced{Conn: bytesConn{Reader: bytes.NewReader(in)}}, limit, 0, 0)
		out := &sink{}
		w := newFrameWriter(&paced{Conn: out}, out, 0)
		for {
			frame, err := r.reused()
			if err != nil {
				checkEnd(t, err, len(in)-out.Len())
				break
			}
			if cap(frame) > 4*(len(in)+firstChunk) {
				t.Fatalf("%d bytes of memory for %d of input", cap(frame), len(in))
			}
			if err := errors.Join(w.write(frame[:1], frame[1:]), w.flush()); err != nil {
				t.Fatal(err)
			}
		}
		if got := out.Bytes(); !bytes.Equal(got, in[:len(got)]) {
			t.Errorf("wrote back %x of %x", got, in)
		}
	})
}

func checkEnd(t *testing.T, err error, left int) {
	t.Helper()
	if (err == io.EOF) != (left == 0) {
		t.Errorf("%d bytes left and %v", left, err)
	}
	if err != io.EOF && err != io.ErrUnexpectedEOF && !isBadInput(err) {
		t.Errorf("unexpected kind of error: %v", err)
	}
}

func FuzzMessage(f *testing.F) {
	for _, m := range []message{
		{typ: msgRequest, id: 1, timeout: 5000, name: "propose", body: []byte("body")},
		{typ: msgReply, id: 1, body: []byte("body")},
		{typ: msgFailure, id: 1 << 60, name: "not_leader", body: []byte("text")},
		{typ: msgRefusal, id: 2, body: []byte("shutting down")},
		{typ: msgCancel, id: 3},
		{typ: msgGoAway},
	} {
		f.Add(append(m.head(nil), m.body...))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := parseMessage(in)
		if err != nil {
			if !isBadInput(err) {
				t.Errorf("unexpected kind of error: %v", err)
			}
			return
		}
		if got := append(m.head(nil), m.body...); !bytes.Equal(got, in) {
			t.Errorf("got %x, want %x", got, in)
		}
	})
}

func FuzzStreamFrame(f *testing.F) {
	for _, s := range []streamFrame{
		{typ: streamOpen, name: "events", body: []byte("hello")},
		{typ: streamData, body: []byte("data")},
		{typ: streamPing},
		{typ: streamEnd},
		{typ: streamFailure, name: "code", body: []byte("text")},
	} {
		f.Add(append(s.head(nil), s.body...))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := parseStreamFrame(in)
		if err != nil {
			if !isBadInput(err) {
				t.Errorf("unexpected kind of error: %v", err)
			}
			return
		}
		if got := append(s.head(nil), s.body...); !bytes.Equal(got, in) {
			t.Errorf("got %x, want %x", got, in)
		}
	})
}
