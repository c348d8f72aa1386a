package proto

import (
	"bytes"
	"fmt"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{16, 256, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			frames, all := stream(b, n)
			in := bytes.NewReader(all)
			r, m := NewReader(in, 0), Message{}
			b.ReportAllocs()
			b.SetBytes(int64(len(frames[0])))
			for b.Loop() {
				in.Reset(all)
				frame, err := r.Next()
				if err == nil {
					err = Parse(frame, &m)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	m := Message{Type: 1000, SubID: NoSubID, Src: []byte("app0:4560"), MEID: []byte("gnb_001"), Payload: make([]byte, 256)}
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Append(buf, &m); err != nil {
			b.Fatal(err)
		}
	}
}

// Reading and writing allocate nothing.
func TestNothingIsAllocated(t *testing.T) {
	frame, buf := plain(t), make([]byte, 0, 1024)
	in := bytes.NewReader(frame)
	r := NewReader(in, 0)
	var m Message
	got := testing.AllocsPerRun(100, func() {
		in.Reset(frame)
		f, err := r.Next()
		if err == nil {
			err = Parse(f, &m)
		}
		if err == nil {
			_, err = Append(buf, &m)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}
