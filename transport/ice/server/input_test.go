package server

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"floe/transport/ice/proto"
)

func TestBadInputClosesThatConnectionOnly(t *testing.T) {
	h := start(t, Config{FrameTimeout: 50 * time.Millisecond}, Transport{})
	good := h.dial(t)
	ping := call(1, "typed", "ice_ping", 1, nil)
	change := func(at int, b byte) []byte { c := bytes.Clone(ping); c[at] = b; return c }
	cases := []struct {
		name string
		sent []byte
	}{
		{"http", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")},
		{"magic", change(0, 'X')},
		{"protocol", change(4, 2)},
		{"protocol minor", change(5, 1)},
		{"header encoding", change(7, 1)},
		{"type", change(8, 9)},
		{"size too small", change(10, 13)},
		{"size too large", change(12, 0x11)},
		{"stands still in the header", ping[:7]},
		{"stands still in the body", ping[:20]},
		{"bzip2", change(9, 2)},
		{"cut inside", proto.PatchSize(bytes.Clone(ping[:22]), 0, 0)},
		{"batch of less than nothing", append(proto.AppendHeader(nil, proto.Header{Type: 1, Size: 18}), 255, 255, 255, 255)},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := h.dial(t)
			p.send(c.sent)
			p.wantClosed()
			eventually(t, "the count", func() bool { return h.Stats()[0].BadInput == uint64(i+1) })
			good.ping(int32(i + 1))
		})
	}
	if n := strings.Count(h.log.String(), "bad input"); n != 1 {
		t.Errorf("%d lines for %d bad connections, want 1:\n%s", n, len(cases), h.log)
	}
	if !strings.Contains(h.log.String(), "listener=tcp peer=127.0.0.1:") {
		t.Errorf("the line names no listener and peer: %s", h.log)
	}
}

// Coming and going without a word is no bad input.
func TestHealthCheckIsNoBadInput(t *testing.T) {
	h := start(t, Config{}, Transport{})
	h.dial(t).Close()
	p := h.dial(t)
	p.send(proto.AppendClose(nil))
	p.wantClosed()
	eventually(t, "both to end", func() bool { return h.Stats()[0].Connections == 0 })
	if s := h.Stats()[0]; s.BadInput != 0 || s.Accepted != 2 {
		t.Errorf("got %+v", s)
	}
}

func TestOversizedMessage(t *testing.T) {
	h := start(t, Config{}, Transport{})
	large := func(n int) []byte {
		b := call(1, "sink", "x", 0, func(dst []byte) []byte { return append(dst, make([]byte, n)...) })
		return b
	}
	p := h.dial(t)
	exact := large(proto.DefaultMaxSize - len(large(0)))
	p.send(exact)
	p.wantReply(1)
	p.Write(append(exact[:10:10], 1, 0, 0x10, 0)) // 1 MiB + 1
	p.wantClosed()
}

// A frame that is announced large and does not come costs what came.
func TestAnnouncedSizeCostsNothing(t *testing.T) {
	var in input
	head := proto.AppendHeader(nil, proto.Header{Type: 0, Size: 1 << 20})
	for range 3 {
		if err := in.read(bytes.NewReader(head)); err != nil {
			t.Fatal(err)
		}
		if _, body, err := in.next(1 << 20); body != nil || err != nil {
			t.Fatal(body, err)
		}
	}
	if len(in.buf) > inputSmall {
		t.Errorf("buffer of %d bytes", len(in.buf))
	}
}

// Whatever the cuts between reads, the messages come out whole and in order.
func TestInputInPieces(t *testing.T) {
	var stream []byte
	var want []int
	for i := range 200 {
		n := i * i % 5000
		stream = append(stream, call(int32(i), "sink", "x", 0, func(b []byte) []byte { return append(b, make([]byte, n)...) })...)
		want = append(want, n)
	}
	for _, piece := range []int{1, 13, 14, 15, 100, 4096, 70_000, len(stream)} {
		var in input
		var got []int
		rest := stream
		for len(rest) > 0 {
			n := min(piece, len(rest))
			r := bytes.NewReader(rest[:n])
			rest = rest[n:]
			for r.Len() > 0 {
				if err := in.read(r); err != nil {
					t.Fatal(err)
				}
				for {
					_, body, err := in.next(1 << 20)
					if err != nil {
						t.Fatal(err)
					}
					if body == nil {
						break
					}
					var req proto.Request
					if err := proto.ParseRequest(body, &req); err != nil || req.ID != int32(len(got)) {
						t.Fatalf("message %d: id %d, %v", len(got), req.ID, err)
					}
					got = append(got, len(req.Encaps)-6)
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("pieces of %d: got %v", piece, got)
		}
	}
}
