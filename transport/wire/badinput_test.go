package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// hasty makes a peer that stands still a short test.
var hasty = Options{HandshakeTimeout: 300 * time.Millisecond, StallTimeout: 300 * time.Millisecond}

// hello is the dialler's preamble for k.
func hello(k kind) []byte {
	b := preamble{version: version, kind: k}.bytes()
	return b[:]
}

// frame is head in a frame whose length field says n (-1: the truth).
func rawFrame(n int64, body []byte) []byte {
	if n < 0 {
		n = int64(len(body))
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(n)), body...)
}

// opened is the preamble for k and a record with the parts.
func opened(k kind, parts ...[]byte) []byte {
	b := &gathered{}
	if _, err := seal(b, time.Minute).Write(join(parts...)); err != nil {
		panic(err)
	}
	return join(hello(k), b.Bytes())
}

// gathered keeps what is written to it.
type gathered struct {
	net.Conn
	bytes.Buffer
}

func (g *gathered) Read(b []byte) (int, error)      { return g.Buffer.Read(b) }
func (g *gathered) Write(b []byte) (int, error)     { return g.Buffer.Write(b) }
func (g *gathered) SetReadDeadline(time.Time) error { return nil }

// damaged has its last byte changed.
func damaged(b []byte) []byte {
	b[len(b)-1] ^= 1
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// drained reads nc to its end, within ten seconds.
func drained(nc net.Conn) error {
	_ = nc.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, err := io.Copy(io.Discard, nc)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil // end of file or reset: closed either way
}

func TestBadInputClosesThatConnectionOnly(t *testing.T) {
	// IceP, protocol 1.0, encoding 1.0, validateConnection, uncompressed, size 14.
	ice := []byte{'I', 'c', 'e', 'P', 1, 0, 1, 0, 3, 0, 14, 0, 0, 0}
	request := message{typ: msgRequest, id: 1, name: "m"}.head(nil)
	tests := map[string][]byte{
		"ice client waits silently":   {},
		"ice validate connection":     ice,
		"http":                        []byte("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
		"http/2":                      []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		"tls client hello":            {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
		"rmr":                         append([]byte{0x62, 1, 0, 0, 0, 0, 1, 0x62, '$'}, make([]byte, 345)...),
		"rmr with the magic's length": append([]byte{0xf1, 1, 0, 0, 0, 0, 1, 0xf1, '$'}, make([]byte, 488)...),
		"zeroes":                      make([]byte, 4096),
		"half a preamble":             hello(kindRPC)[:5],
		"unknown version":             []byte(magic + "\x09\x03\x00"),
		"unknown kind":                []byte(magic + "\x02\x63\x00"),
		"rpc: record stands still":    opened(kindRPC, rawFrame(-1, request))[:20],
		"rpc: record of nothing":      join(hello(kindRPC), make([]byte, recordHead)),
		"rpc: record over the limit":  join(hello(kindRPC), bytes.Repeat([]byte{0xff}, recordHead)),
		"rpc: damaged":                damaged(opened(kindRPC, rawFrame(-1, request))),
		"events: damaged":             damaged(opened(kindEvents, rawFrame(-1, []byte{byte(streamOpen), 0}))),
		"rpc: frame over the limit":   opened(kindRPC, rawFrame(1<<31, nil)),
		"rpc: empty frame":            opened(kindRPC, rawFrame(0, nil)),
		"rpc: frame of a byte":        opened(kindRPC, rawFrame(-1, []byte{1})),
		"rpc: unknown type":           opened(kindRPC, rawFrame(-1, make([]byte, 9))),
		"rpc: a server's frame":       opened(kindRPC, rawFrame(-1, message{typ: msgReply}.head(nil))),
		"rpc: cut name":               opened(kindRPC, rawFrame(-1, request[:len(request)-1])),
		"rpc: length stands still":    opened(kindRPC, []byte{0, 0}),
		"rpc: frame stands still":     opened(kindRPC, rawFrame(16<<20, request)),
		"events: not opened":          hello(kindEvents),
		"events: begins with data":    opened(kindEvents, rawFrame(-1, []byte{byte(streamData), 1})),
		"events: cut name":            opened(kindEvents, rawFrame(-1, []byte{byte(streamOpen), 9, 1})),
		"events: frame over limit":    opened(kindEvents, rawFrame(-1, []byte{byte(streamOpen), 0}), rawFrame(17<<20, nil)),
		"events: opened twice":        opened(kindEvents, rawFrame(-1, []byte{byte(streamOpen), 0}), rawFrame(-1, []byte{byte(streamOpen), 0})),
		"events: unknown type":        opened(kindEvents, rawFrame(-1, []byte{byte(streamOpen), 0}), rawFrame(-1, []byte{77})),
		"events: frame stands still":  opened(kindEvents, rawFrame(-1, []byte{byte(streamOpen), 0}), rawFrame(100, nil)),
	}
	server, caller := listen(t, Config{Options: hasty}), listen(t, Config{})
	server.Serve(echo)
	server.ServeStreams(stay)
	for name, give := range tests {
		t.Run(name, func(t *testing.T) {
			before := server.BadInput()
			nc := dialRaw(t, server)
			if _, err := nc.Write(give); err != nil {
				t.Fatal(err)
			}
			if err := drained(nc); err != nil {
				t.Fatalf("not closed: %v", err)
			}
			eventually(t, "counted", func() bool { return server.BadInput() == before+1 })
			if _, err := caller.Client().Call(within(t, 5*time.Second), server.Advertised(), "m", nil); err != nil {
				t.Errorf("others are affected: %v", err)
			}
		})
	}
}

func TestSlowBytesAreClosedAfterTheHandshakeTimeout(t *testing.T) {
	server := listen(t, Config{Options: hasty})
	nc := dialRaw(t, server)
	var wg sync.WaitGroup
	wg.Go(func() { // one byte at a time never resets the clock
		for _, b := range hello(kindRPC) {
			if _, err := nc.Write([]byte{b}); err != nil {
				return
			}
			<-time.After(hasty.HandshakeTimeout / 3)
		}
	})
	if err := drained(nc); err != nil {
		t.Errorf("not closed: %v", err)
	}
	wg.Wait()
	eventually(t, "counted", func() bool { return server.BadInput() == 1 })
}

func TestPortProbeIsNoBadInput(t *testing.T) {
	server := listen(t, Config{})
	for range 3 {
		_ = dialRaw(t, server).Close()
	}
	eventually(t, "all gone", func() bool { return server.Stats().Conns == 0 })
	if got := server.BadInput(); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}

func TestMemoryStaysFlatUnderBadInput(t *testing.T) {
	server := listen(t, Config{Options: Options{HandshakeTimeout: time.Minute, StallTimeout: time.Minute}})
	server.Serve(echo)
	claim := opened(kindRPC, rawFrame(16<<20, message{typ: msgRequest, id: 1, name: "m"}.head(nil)))
	before := heap()
	conns := make([]net.Conn, 200)
	for i := range conns {
		conns[i] = dialRaw(t, server)
		if _, err := conns[i].Write(claim); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all are reading", func() bool { return server.Stats().Conns == len(conns) })
	if got := heap() - before; got > 40<<20 {
		t.Errorf("200 claims of 16 MiB take %d MiB, want under 40", got>>20)
	}
	for _, nc := range conns {
		_ = nc.Close()
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// syncBuffer is a log's target.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestBadInputIsOneLogLine(t *testing.T) {
	var out syncBuffer
	server := listen(t, Config{Log: hclog.New(&hclog.LoggerOptions{Output: &out})})
	var peer string
	for range 20 {
		nc := dialRaw(t, server)
		set(&peer, nc.LocalAddr().String())
		if _, err := nc.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if err := drained(nc); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all counted", func() bool { return server.BadInput() == 20 })
	got := out.String()
	if n := strings.Count(got, "\n"); n != 1 {
		t.Errorf("got %d lines, want 1:\n%s", n, got)
	}
	for _, want := range []string{"listener=--peer", server.Addr().String(), "peer=" + peer, "not floe's peer protocol"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

func TestComplaintsTellWhatTheyWithheld(t *testing.T) {
	c := newComplaints(nil, "--peer", nil)
	now := time.Now()
	steps := []struct {
		after time.Duration
		want  string
	}{
		{0, "0 true"}, {0, "0 false"}, {complainEvery - 1, "0 false"}, {complainEvery, "2 true"}, {2 * complainEvery, "0 true"},
	}
	for i, step := range steps {
		withheld, due := c.due("m", now.Add(step.after))
		if got := fmt.Sprint(withheld, due); got != step.want {
			t.Errorf("step %d: got %s, want %s", i, got, step.want)
		}
	}
}

func TestConnectionLimits(t *testing.T) {
	t.Run("listener", func(t *testing.T) {
		var out syncBuffer
		server := listen(t, Config{MaxConns: 2, Log: hclog.New(&hclog.LoggerOptions{Output: &out})})
		for range 2 {
			dialRaw(t, server)
		}
		eventually(t, "two open", func() bool { return server.Stats().Conns == 2 })
		if err := drained(dialRaw(t, server)); err != nil {
			t.Errorf("third connection not closed: %v", err)
		}
		if got := server.Stats().RefusedConns; got != 1 {
			t.Errorf("got %d refused, want 1", got)
		}
		eventually(t, "a line that tells of it", func() bool { return strings.Contains(out.String(), "connection refused") })
	})
	t.Run("loopback is exempt from the client's", func(t *testing.T) {
		server := listen(t, Config{MaxConnsPerClient: 1})
		for range 5 {
			dialRaw(t, server)
		}
		eventually(t, "five open", func() bool { return server.Stats().Conns == 5 })
	})
	t.Run("client address", func(t *testing.T) {
		l := newConnLimits(10, 2)
		a, b := addr("192.0.2.1"), addr("192.0.2.2")
		for i, step := range []struct {
			refused bool
			got     string
		}{{false, l.take(a)}, {false, l.take(a)}, {true, l.take(a)}, {false, l.take(b)}} {
			if (step.got != "") != step.refused {
				t.Errorf("step %d: got %q", i, step.got)
			}
		}
		l.give(a)
		if got := l.take(a); got != "" {
			t.Errorf("after one left: got %q", got)
		}
	})
}

func TestDialErrorsSayWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		answer []byte
		want   string
	}{
		"older version":   {[]byte(magic + "\x01\x03\x01"), "peer speaks wire version 1"},
		"newer version":   {[]byte(magic + "\x07\x03\x01"), "peer speaks wire version 7, this program 2"},
		"unknown kind":    {[]byte(magic + "\x01\x03\x02"), "does not know rpc"},
		"not served":      {[]byte(magic + "\x01\x03\x03"), "does not serve rpc"},
		"closed":          {nil, "closed by the peer before it answered"},
		"other protocol":  {[]byte("HTTP/1.1 400 Bad Request\r\n"), errNoPreamble.Error()},
		"cut answer":      {[]byte(magic), io.ErrUnexpectedEOF.Error()},
		"another's kind":  {[]byte(magic + "\x01\x01\x00"), "peer answered with"},
		"unknown verdict": {[]byte(magic + "\x01\x03\x63"), "status 99"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			var wg sync.WaitGroup
			wg.Go(func() {
				defer theirs.Close()
				_, _ = io.ReadFull(theirs, make([]byte, preambleSize))
				_, _ = theirs.Write(test.answer)
			})
			err := greet(ours, version, kindRPC)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			_ = ours.Close()
			wg.Wait()
		})
	}
}

// The kinds that nobody takes are closed, not kept.
func TestUntakenConnectionIsClosed(t *testing.T) {
	server := listen(t, Config{Options: hasty})
	for _, k := range []kind{kindRaft, kindGossip} {
		nc := dialRaw(t, server)
		if _, err := nc.Write(hello(k)); err != nil {
			t.Fatal(err)
		}
		if err := drained(nc); err != nil {
			t.Errorf("%s: not closed: %v", k, err)
		}
	}
	eventually(t, "released", func() bool { return server.Stats().Conns == 0 })
}

func TestShutdownClosesHalfOpenConnectionsAtOnce(t *testing.T) {
	server := listen(t, Config{Options: Options{HandshakeTimeout: time.Hour}})
	nc := dialRaw(t, server)
	eventually(t, "accepted", func() bool { return server.Stats().Conns == 1 })
	if err := server.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := drained(nc); err != nil {
		t.Errorf("not closed: %v", err)
	}
}
