package proto

import "testing"

func BenchmarkParseHeader(b *testing.B) {
	message := AppendHeader(nil, Header{Type: MessageRequest, Size: 100})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseHeader(message, DefaultMaxSize); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseRequest(b *testing.B) {
	r := testRequest()
	body := AppendRequest(nil, &r)[HeaderSize:]
	b.ReportAllocs()
	for b.Loop() {
		if err := ParseRequest(body, &r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkContextLookup(b *testing.B) {
	r := testRequest()
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := r.Context.Lookup("cost"); !ok {
			b.Fatal("no cost")
		}
	}
}

func BenchmarkAppendRequestPrefix(b *testing.B) {
	target := AppendTarget(nil, Identity{"clock.publish", "IceStorm"}, "")
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendRequestPrefix(buf[:0], 1, target, 100)
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	r := testRequest()
	e := EventOf(&r)
	buf := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendEvent(buf[:0], &e)
	}
}
