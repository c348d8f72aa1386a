package wire

import (
	"context"
	"fmt"
	"testing"
)

func BenchmarkCall(b *testing.B) {
	for _, size := range []int{16, 4 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			server, caller := listen(b, Config{}), listen(b, Config{})
			server.Serve(echo)
			body := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := caller.Client().Call(context.Background(), server.Advertised(), "m", body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCallParallel(b *testing.B) {
	server, caller := listen(b, Config{}), listen(b, Config{})
	server.Serve(echo)
	body := make([]byte, 256)
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := caller.Client().Call(context.Background(), server.Advertised(), "m", body); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	for _, size := range []int{256, 4 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			server, caller := listen(b, Config{}), listen(b, Config{})
			server.ServeStreams(stay)
			s := openStream(b, caller.Client(), server)
			body := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.WriteFrame(body); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Close(); err != nil { // waits for the reader
				b.Fatal(err)
			}
		})
	}
}
