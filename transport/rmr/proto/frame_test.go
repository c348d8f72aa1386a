package proto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// head is the first nine bytes of a frame.
func head(native, network uint32, ninth byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, native)
	return append(binary.BigEndian.AppendUint32(b, network), ninth)
}

func TestFrameLength(t *testing.T) {
	const limit = 1 << 20
	tests := []struct {
		name string
		head []byte
		want int // 0: refused
	}{
		{"both", head(345, 345, '$'), 345},
		{"old release without a mark", head(345, 0, 0), 345},
		{"old release with rubbish behind", head(345, 0xdeadbeef, 7), 345},
		{"they differ", head(345, 400, '$'), 345},
		{"big endian in both places", []byte{0, 0, 1, 0x59, 0, 0, 1, 0x59, '$'}, 345},
		{"big endian without a mark", []byte{0, 0, 1, 0x59, 0, 0, 1, 0x59, 0}, 0},
		{"shortest", head(MinFrame, MinFrame, '$'), MinFrame},
		{"header under 280", head(MinFrame-1, MinFrame-1, '$'), 0},
		{"longest", head(limit, limit, '$'), limit},
		{"too long", head(limit+1, limit+1, '$'), 0},
		{"zero", head(0, 0, '$'), 0},
		{"zero without a mark", head(0, 345, 0), 0},
		{"2 GiB", head(0x7fffffff, 0x7fffffff, '$'), 0},
		{"negative", head(0xffffffff, 0xffffffff, '$'), 0},
		{"text", []byte("GET / HTT"), 0},
		{"too few bytes", []byte{1, 2, 3, 4, 5, 6, 7, 8}, 0},
	}
	for _, tt := range tests {
		got, err := ParseFrameLength(tt.head, limit)
		if got != tt.want || (err != nil) != (tt.want == 0) || err != nil && !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %d, %v, want %d", tt.name, got, err, tt.want)
		}
	}
}

// stream is frames of some sizes, and what they are together.
func stream(t testing.TB, payloads ...int) (frames [][]byte, all []byte) {
	t.Helper()
	for i, n := range payloads {
		m := Message{Type: int32(i), SubID: NoSubID, Payload: bytes.Repeat([]byte{byte('a' + i%26)}, n)}
		frame, err := Append(nil, &m)
		if err != nil {
			t.Fatal(err)
		}
		frames, all = append(frames, frame), append(all, frame...)
	}
	return frames, all
}

// However TCP cuts and joins them, the frames come out as they went in.
func TestReaderTakesAnyCut(t *testing.T) {
	frames, all := stream(t, 0, 11, 100, 40<<10, 1, 300<<10, 0, 5)
	readers := map[string]io.Reader{
		"all at once":    bytes.NewReader(all),
		"byte by byte":   iotest.OneByteReader(bytes.NewReader(all)),
		"halves":         iotest.HalfReader(bytes.NewReader(all)),
		"with the error": iotest.DataErrReader(bytes.NewReader(all)),
	}
	for name, in := range readers {
		r := NewReader(in, 0)
		for i, want := range frames {
			got, err := r.Next()
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: frame %d: %d bytes, %v, want %d", name, i, len(got), err, len(want))
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%s: %v at the end, want EOF", name, err)
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	_, whole := stream(t, 11)
	_, large := stream(t, 2000)
	tests := []struct {
		name string
		in   []byte
		want error
	}{
		{"nothing", nil, io.EOF},
		{"five bytes", whole[:5], io.ErrUnexpectedEOF},
		{"torn", whole[:len(whole)-1], io.ErrUnexpectedEOF},
		{"over the limit", large, ErrFrame},
		{"text", []byte("GET / HTTP/1.1\r\n"), ErrFrame},
	}
	for _, tt := range tests {
		r := NewReader(bytes.NewReader(tt.in), 1000)
		for range 2 { // it stays refused
			if _, err := r.Next(); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			}
		}
	}
}

// A claim costs no memory: bytes have to arrive first. A large frame's buffer does not outlive it.
func TestReaderKeepsItsBufferSmall(t *testing.T) {
	_, large := stream(t, 8<<20)
	r := NewReader(bytes.NewReader(large[:1000]), 0)
	if _, err := r.Next(); err != io.ErrUnexpectedEOF || len(r.buf) > smallBuffer {
		t.Errorf("%v, and a buffer of %d bytes for a claim", err, len(r.buf))
	}
	r = NewReader(bytes.NewReader(large), 0)
	if frame, err := r.Next(); err != nil || len(frame) != len(large) {
		t.Fatal(len(frame), err)
	}
	if _, err := r.Next(); err != io.EOF || len(r.buf) > smallBuffer {
		t.Errorf("%v, and a buffer of %d bytes afterwards", err, len(r.buf))
	}
}

func TestReaderGivesUpOnAReaderThatGivesNothing(t *testing.T) {
	if _, err := NewReader(nothing{}, 0).Next(); err != io.ErrNoProgress {
		t.Error(err)
	}
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }
