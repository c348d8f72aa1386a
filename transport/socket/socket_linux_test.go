package socket_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"floe/transport/socket"
)

// pair returns both ends of a TCP connection.
func pair(t testing.TB) (*socket.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return socket.Wrap(ours), theirs
}

func TestReadWaitsAndEnds(t *testing.T) {
	ours, theirs := pair(t)
	got := make(chan []byte)
	go func() {
		b, err := io.ReadAll(ours)
		if err != nil {
			t.Error(err)
		}
		got <- b
	}()
	theirs.Write([]byte("ice"))
	theirs.Write([]byte(" floe"))
	theirs.Close()
	if b := <-got; string(b) != "ice floe" {
		t.Errorf("got %q", b)
	}
}

func TestReadKeepsDeadlineAndClose(t *testing.T) {
	ours, _ := pair(t)
	ours.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := ours.Read(make([]byte, 8)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want a deadline that passed", err)
	}
	ours.SetReadDeadline(time.Time{})
	failed := make(chan error)
	go func() {
		_, err := ours.Read(make([]byte, 8))
		failed <- err
	}()
	ours.Close()
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
	if _, err := ours.Push(net.Buffers{[]byte("x")}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("push: got %v, want %v", err, net.ErrClosed)
	}
}

func TestReadSaysHowThePeerEnded(t *testing.T) {
	ours, theirs := pair(t)
	theirs.(*net.TCPConn).SetLinger(0)
	theirs.Close()
	_, err := ours.Read(make([]byte, 8))
	var op *net.OpError
	if !errors.As(err, &op) || op.Timeout() {
		t.Errorf("got %v, want a reset as *net.OpError", err)
	}
}

func TestPushNeverWaits(t *testing.T) {
	ours, theirs := pair(t)
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	var want bytes.Buffer
	for {
		n, err := ours.Push(net.Buffers{chunk[:1000], chunk[1000:]})
		if err != nil {
			t.Fatal(err)
		}
		want.Write(chunk[:n])
		if n < len(chunk) {
			break
		}
	}
	if n, err := ours.Push(net.Buffers{chunk}); n > len(chunk)-1 || err != nil {
		t.Errorf("full socket: got %d, %v", n, err)
	} else {
		want.Write(chunk[:n])
	}
	if ours.Silent() {
		t.Error("a host that takes nothing more counts as silent")
	}
	ours.CloseWrite()
	got, err := io.ReadAll(theirs)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("got %d bytes, %v, want the %d pushed", len(got), err, want.Len())
	}
}

func TestNothingIsAllocated(t *testing.T) {
	ours, theirs := pair(t)
	one, buf := net.Buffers{nil}, make([]byte, 16)
	echo := []byte("0123456789abcdef")
	if n := testing.AllocsPerRun(100, func() {
		one[0] = echo
		ours.Push(one)
		theirs.Read(buf)
		theirs.Write(echo)
		ours.Read(buf)
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func TestOnlyPlainTCPIsWrapped(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if socket.Wrap(a) != nil {
		t.Error("a pipe was wrapped")
	}
}

func TestRest(t *testing.T) {
	for n, want := range map[int]string{0: "abcde", 1: "bcde", 2: "cde", 4: "e", 5: ""} {
		var got []byte
		for _, b := range socket.Rest(net.Buffers{[]byte("ab"), []byte("cd"), []byte("e")}, n) {
			got = append(got, b...)
		}
		if string(got) != want {
			t.Errorf("rest after %d: got %q, want %q", n, got, want)
		}
	}
}

// A host is silent once the last of the tries is over: a copy that is still on
// its way would arrive after what is sent on the next connection.
func TestSilentHasRested(t *testing.T) {
	for _, c := range []struct {
		tries int
		last  time.Duration
		want  bool
	}{{0, time.Hour, false}, {4, time.Minute, false}, {5, 0, false}, {5, 499 * time.Millisecond, false}, {5, 500 * time.Millisecond, true}, {9, time.Second, true}} {
		if got := socket.IsSilent(c.tries, c.last); got != c.want {
			t.Errorf("%d tries, the last %v ago: %v, want %v", c.tries, c.last, got, c.want)
		}
	}
}
