package relay_test

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"floe/transport/rmr"
	"floe/transport/rmr/proto"
	"floe/transport/rmr/relay"
)

// sinks are applications that only count what they get, in bytes.
type sinks struct {
	bytes atomic.Int64
	names []string
}

func newSinks(b *testing.B, n int) *sinks {
	s := &sinks{}
	var wg sync.WaitGroup
	b.Cleanup(wg.Wait)
	for range n {
		l := listen(b)
		b.Cleanup(func() { _ = l.Close() })
		s.names = append(s.names, l.Addr().String())
		wg.Go(func() {
			for {
				nc, err := l.Accept()
				if err != nil {
					return
				}
				wg.Go(func() { s.read(nc) })
			}
		})
	}
	return s
}

func (s *sinks) read(nc net.Conn) {
	buf := make([]byte, 256<<10)
	for {
		n, err := nc.Read(buf)
		s.bytes.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// window is how many messages of a size may be under way: fewer than a queue
// holds, so that none is dropped.
func window(size int64) int64 { return min(8000, 12<<20/size) }

// forward sends b.N messages through the relay, as fast as they arrive.
func (s *sinks) forward(b *testing.B, n *node, frames [][]byte) {
	nc := dial(b, n.rmr)
	size := len(frames[0])
	all := bytes.Join(frames, nil)
	for len(all) < 64<<10 {
		all = append(all, all...)
	}
	total, per := len(all)/size, max(1, (64<<10)/size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for sent, at := 0, 0; sent < b.N; {
		k := min(per, b.N-sent, total-at)
		write(b, nc, all[at*size:(at+k)*size])
		sent, at = sent+k, (at+k)%total
		s.wait(b, n, (int64(sent)-window(int64(size)))*int64(size))
	}
	s.wait(b, n, int64(b.N)*int64(size))
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

// wait waits until so many bytes arrived.
func (s *sinks) wait(b *testing.B, n *node, bytes int64) {
	deadline := time.Now().Add(20 * time.Second)
	for s.bytes.Load() < bytes {
		time.Sleep(50 * time.Microsecond)
		if time.Now().After(deadline) {
			b.Fatalf("%d of %d bytes arrived: %+v", s.bytes.Load(), bytes, n.Stats().Total)
		}
	}
}

// BenchmarkForward sends from one application to one and to a group of four.
func BenchmarkForward(b *testing.B) {
	for _, to := range []int{1, 4} {
		for _, size := range []int{16, 256, 4096} {
			b.Run(fmt.Sprintf("%d/%d", to, size), func(b *testing.B) {
				s := newSinks(b, to)
				n := start(b, relay.Config{})
				n.load(b, "mse | 1000 | -1 | "+strings.Join(s.names, ","))
				m := proto.Message{Type: 1000, SubID: proto.NoSubID, Src: []byte("app1:4560"), SrcIP: []byte("10.0.0.1:4560"), Payload: make([]byte, size)}
				s.forward(b, n, [][]byte{frame(b, m)})
			})
		}
	}
}

// BenchmarkRules sends what a thousand rules let through, and what they refuse.
func BenchmarkRules(b *testing.B) {
	var rules []string
	for i := range 1000 {
		rules = append(rules, fmt.Sprintf("%d-%d=none", 10_000+10*i, 10_005+10*i))
	}
	m := proto.Message{Type: 15_006, SubID: proto.NoSubID, Src: []byte("app1:4560"), SrcIP: []byte("10.0.0.1:4560"), Payload: make([]byte, 16)}
	b.Run("let", func(b *testing.B) {
		s := newSinks(b, 1)
		n := start(b, relay.Config{Access: access(b, strings.Join(rules, ";"))})
		n.load(b, "mse | 15006 | -1 | "+s.names[0])
		s.forward(b, n, [][]byte{frame(b, m)})
	})
	b.Run("refused", func(b *testing.B) {
		n := start(b, relay.Config{Access: access(b, strings.Join(rules, ";"))})
		m.Type = 15_003
		nc, many := dial(b, n.rmr), bytes.Repeat(frame(b, m), 100)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N / 100 {
			write(b, nc, many)
		}
		eventually(b, "all are refused", func() bool { return n.Stats().Total.Dropped[relay.NotAllowed] == uint64(b.N/100*100) })
	})
}

// BenchmarkForwardXID sends messages with a transaction id each, so that
// each is remembered for its answer.
func BenchmarkForwardXID(b *testing.B) {
	s := newSinks(b, 1)
	n := start(b, relay.Config{})
	n.load(b, "mse | 1000 | -1 | "+s.names[0])
	var frames [][]byte
	for i := range 20_000 {
		m := proto.Message{Type: 1000, SubID: proto.NoSubID, Src: []byte("app1:4560"), Payload: make([]byte, 256)}
		copy(m.XID[:], fmt.Sprintf("transaction-%d", i))
		frames = append(frames, frame(b, m))
	}
	s.forward(b, n, frames)
}

// BenchmarkForwardMEID sends to the owners of MEIDs among a million.
func BenchmarkForwardMEID(b *testing.B) {
	const meids, owners = 1_000_000, 4
	s := newSinks(b, owners)
	n := start(b, relay.Config{})
	n.loadMEIDs(b, s.names, meids)
	var frames [][]byte
	for i := range 20_000 {
		m := proto.Message{Type: 1000, SubID: proto.NoSubID, MEID: fmt.Appendf(nil, "gnb_001_001_%08d", i*37%meids), Payload: make([]byte, 256)}
		frames = append(frames, frame(b, m))
	}
	s.forward(b, n, frames)
}

// BenchmarkCall calls an application through the relay, one call at a time,
// answered to the caller's own address.
func BenchmarkCall(b *testing.B) {
	n := start(b, relay.Config{})
	server, to := app(b)
	n.load(b, "mse | 1000 | -1 | "+to)
	caller, _ := app(b)
	answerAll(b, server)
	m := text(1000, strings.Repeat("x", 256))
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		begun := time.Now()
		if _, err := caller.Call(b.Context(), n.rmr, m); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

// answerAll answers every message with its type plus one.
func answerAll(t testing.TB, a *rmr.App) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			r, err := a.Receive(t.Context())
			if err != nil {
				return
			}
			if err := a.Reply(t.Context(), r, r.Type+1, r.Payload); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(wg.Wait)
}
