package server

import (
	"fmt"
	"net"
	"testing"

	"floe/transport/ice/proto"
)

// BenchmarkServerOneway sends oneway events through a loopback connection
// into a sink that counts them: what the server costs for each event.
func BenchmarkServerOneway(b *testing.B) {
	for _, size := range []int{16, 256, 4096} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchmarkOneway(b, size) })
	}
}

func benchmarkOneway(b *testing.B, size int) {
	h := start(b, Config{}, Transport{})
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		b.Fatal(err)
	}
	p := validated(b, conn)
	event := call(0, "sink", "tick", 0, func(dst []byte) []byte { return append(dst, make([]byte, size)...) })
	var batch []byte
	n := max(1, 60_000/len(event))
	for range n {
		batch = append(batch, event...)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(event)))
	b.ResetTimer()
	for left := b.N; left > 0; left -= n {
		p.send(batch[:min(left, n)*len(event)])
	}
	p.send(call(1, "sink", "last", 0, nil))
	p.wantReply(1)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	if got := h.objects.sink.events.Load(); got != int64(b.N)+1 {
		b.Errorf("%d events, want %d", got, b.N+1)
	}
}

func BenchmarkTwoway(b *testing.B) {
	h := start(b, Config{}, Transport{})
	p := h.dial(b)
	ping := call(1, "typed", "ice_ping", 1, nil)
	b.ReportAllocs()
	for b.Loop() {
		p.send(ping)
		p.want(proto.MessageReply)
	}
}
