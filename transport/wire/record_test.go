package wire

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"
)

// What is written, in pieces of any size, is what is read, in pieces of any size.
func TestRecordsCarryBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	want := make([]byte, 5*recordMax+77)
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	b := &gathered{}
	s := seal(b, time.Minute)
	for rest := want; len(rest) > 0; {
		n := min(len(rest), r.IntN(2*recordMax)+1)
		if m, err := s.Write(rest[:n]); m != n || err != nil {
			t.Fatalf("wrote %d of %d: %v", m, n, err)
		}
		rest = rest[n:]
	}
	var got []byte
	for {
		piece := make([]byte, r.IntN(recordMax)+1)
		n, err := s.Read(piece)
		got = append(got, piece[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, not the %d written", len(got), len(want))
	}
}

// No byte of a stream may change, go missing or come twice, and no record take
// another's place, without the reader being told.
func TestDamageIsFound(t *testing.T) {
	b := &gathered{}
	s := seal(b, time.Minute)
	for _, text := range []string{"one", "two", "six"} {
		if _, err := s.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	whole := bytes.Clone(b.Bytes())
	size := len(whole) / 3
	read := func(stream []byte) ([]byte, error) {
		return io.ReadAll(seal(&gathered{Buffer: *bytes.NewBuffer(stream)}, time.Minute))
	}
	if got, err := read(bytes.Clone(whole)); string(got) != "onetwosix" || err != nil {
		t.Fatalf("undamaged: %q, %v", got, err)
	}
	bad := map[string][]byte{
		"swapped": join(whole[size:2*size], whole[:size], whole[2*size:]),
		"twice":   join(whole[:size], whole),
		"missing": join(whole[:size], whole[2*size:]),
		"cut":     whole[:len(whole)-1],
	}
	for i := range whole {
		for _, bit := range []byte{1, 0x80} {
			stream := bytes.Clone(whole)
			stream[i] ^= bit
			bad[string(rune('a'+i))+string(rune('0'+bit%2))] = stream
		}
	}
	for name, stream := range bad {
		got, err := read(stream)
		if err == nil || !bytes.HasPrefix([]byte("onetwosix"), got) {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
	}
}

// A deadline that passes costs nothing: what came before it is read afterwards.
// A record that has begun must go on.
func TestRecordsAndDeadlines(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	var record gathered
	if _, err := seal(&record, time.Minute).Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	s := seal(b, 50*time.Millisecond)
	go func() { _, _ = a.Write(record.Bytes()[:4]) }() // the test ends with the pipe
	got := make([]byte, 10)
	if n, err := s.Read(got); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a record that stands still: read %d bytes, %v", n, err)
	}
	go func() { _, _ = a.Write(record.Bytes()[4:]) }()
	s.stall = time.Minute
	if n, err := s.Read(got); string(got[:n]) != "hello" || err != nil {
		t.Errorf("read %q, %v", got[:n], err)
	}
}
