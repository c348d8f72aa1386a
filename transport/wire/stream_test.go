package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// quick makes keep-alive tests short without making them tight.
var quick = Options{KeepAlive: 20 * time.Millisecond, PeerTimeout: 300 * time.Millisecond}

func openStream(t testing.TB, c *Client, p *Port) *Stream {
	t.Helper()
	s, err := c.OpenStream(within(t, 5*time.Second), p.Advertised(), "events", []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stay reads a stream to its end.
func stay(_ context.Context, s *Stream) {
	for {
		if _, err := s.ReadFrame(); err != nil {
			return
		}
	}
}

func TestStreamCarriesFramesBothWays(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	server.ServeStreams(func(_ context.Context, s *Stream) {
		if s.Name() != "events" || string(s.Hello()) != "hello" {
			t.Errorf("got name %q hello %q", s.Name(), s.Hello())
		}
		for {
			frame, err := s.ReadFrame()
			if err == io.EOF {
				return
			}
			if err == nil {
				err = s.WriteFrame([]byte("re:"), frame)
			}
			if err == nil {
				err = s.Flush()
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	s := openStream(t, caller.Client(), server)
	for _, n := range []int{0, 1, 100, gatherMin - 1, gatherMin, firstChunk + 1, writeBuffer + 1, 3 << 20, 5} {
		want := bytes.Repeat([]byte{byte(n)}, n)
		if err := s.WriteFrame(want[:n/2], want[n/2:]); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		got, err := s.ReadFrame()
		if err != nil || !bytes.Equal(got, append([]byte("re:"), want...)) {
			t.Fatalf("frame of %d bytes: got %d bytes, %v", n, len(got), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestStreamCloseLosesNothing(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	got := make(chan int, 1)
	server.ServeStreams(func(_ context.Context, s *Stream) {
		n := 0
		for {
			if _, err := s.ReadFrame(); err != nil {
				if err != io.EOF {
					t.Error(err)
				}
				got <- n
				return
			}
			if n++; n%10 == 0 { // unread answers make a careless close reset
				if s.WriteFrame([]byte("noise")) != nil || s.Flush() != nil {
					continue
				}
			}
		}
	})
	s := openStream(t, caller.Client(), server)
	const want = 5000
	for i := range want {
		if err := s.WriteFrame(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := <-got; n != want {
		t.Errorf("got %d frames, want %d", n, want)
	}
}

func TestStreamCloseWithError(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	server.ServeStreams(func(_ context.Context, s *Stream) { _ = s.CloseWithError(&codedError{"n3"}) })
	s := openStream(t, caller.Client(), server)
	defer s.Close()
	_, err := s.ReadFrame()
	var got *RemoteError
	if want := (RemoteError{"not_leader", "not the leader: n3"}); !errors.As(err, &got) || *got != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestStreamCloseEndsItsReaderAndWriter(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	server.ServeStreams(stay)
	s := openStream(t, caller.Client(), server)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := s.ReadFrame(); !errors.Is(err, ErrClosed) {
			t.Errorf("read: got %v, want ErrClosed", err)
		}
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if err := s.WriteFrame([]byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("write: got %v, want ErrClosed", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestStreamStaysOpenWhileSilent(t *testing.T) {
	server, caller := listen(t, Config{Options: quick}), listen(t, Config{Options: quick})
	server.ServeStreams(stay)
	s := openStream(t, caller.Client(), server)
	var wg sync.WaitGroup
	read := make(chan error, 1)
	wg.Go(func() {
		_, err := s.ReadFrame()
		read <- err
	})
	select {
	case err := <-read:
		t.Errorf("silent stream ended: %v", err)
	case <-time.After(3 * quick.PeerTimeout):
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// deadPeer accepts events connections and never says another word.
func deadPeer(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		if _, _, err := readPreamble(nc); err != nil {
			t.Error(err)
		}
		answer := preamble{version: version, kind: kindEvents}.bytes()
		_, _ = nc.Write(answer[:])
		<-t.Context().Done()
	})
	t.Cleanup(func() { _ = ln.Close(); wg.Wait() })
	return ln.Addr().String()
}

func TestDeadPeerEndsReaderAndBlockedWriter(t *testing.T) {
	client := NewClient(quick)
	defer client.Close()
	s, err := client.OpenStream(within(t, 5*time.Second), deadPeer(t), "events", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		for s.WriteFrame(make([]byte, 1<<20)) == nil {
		}
	})
	start := time.Now()
	if _, err := s.ReadFrame(); err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("got %v after %s, want an error soon", err, time.Since(start))
	}
	wg.Wait()
}

// A peer whose application reads nothing is alive; its stream only waits.
func TestSlowReaderIsNotDead(t *testing.T) {
	patient := Options{KeepAlive: 20 * time.Millisecond, PeerTimeout: time.Second}
	server, caller := listen(t, Config{Options: patient}), listen(t, Config{Options: patient})
	resume := make(chan struct{})
	total := make(chan int, 1)
	server.ServeStreams(func(ctx context.Context, s *Stream) {
		<-resume
		n := 0
		for {
			frame, err := s.ReadFrame()
			if err != nil {
				total <- n
				return
			}
			n += len(frame)
		}
	})
	s := openStream(t, caller.Client(), server)
	const want = 32 << 20
	var wg sync.WaitGroup
	wg.Go(func() { stay(context.Background(), s) })
	wg.Go(func() {
		for range want >> 20 {
			if err := s.WriteFrame(make([]byte, 1<<20)); err != nil {
				t.Error(err)
				return
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	<-time.After(2 * patient.PeerTimeout) // the time under test
	close(resume)
	if got := <-total; got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
	wg.Wait()
}

func TestStreamCutIsNotAnOrderlyEnd(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	ended, left := make(chan error, 1), make(chan struct{})
	server.ServeStreams(func(ctx context.Context, s *Stream) {
		_, err := s.ReadFrame()
		ended <- err
		<-ctx.Done()
		close(left)
	})
	s := openStream(t, caller.Client(), server)
	s.Abort()
	if err := <-ended; err == nil || err == io.EOF {
		t.Errorf("got %v, want an error that is no io.EOF", err)
	}
	receive(t, left, "callback's context ended with its connection")
}

func TestShutdownEndsStreams(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	entered := make(chan struct{})
	server.ServeStreams(func(ctx context.Context, s *Stream) {
		close(entered)
		<-ctx.Done()
		if err := s.WriteFrame([]byte("last")); err != nil {
			t.Error(err)
		}
	})
	s := openStream(t, caller.Client(), server)
	defer s.Close()
	receive(t, entered, "stream served")
	var wg sync.WaitGroup
	wg.Go(func() { shutdown(t, server) })
	got, err := s.ReadFrame()
	if err != nil || string(got) != "last" {
		t.Errorf("got %q, %v, want what the callback wrote last", got, err)
	}
	if _, err := s.ReadFrame(); err != io.EOF {
		t.Errorf("got %v, want io.EOF", err)
	}
	_ = s.Close()
	wg.Wait()
}

func TestStreamOpenRefused(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{})
	_, err := caller.Client().OpenStream(within(t, 5*time.Second), server.Advertised(), "events", nil)
	if err == nil {
		t.Error("stream opened though nobody serves streams")
	}
}

func TestStreamFrameOverLimitIsRefusedHarmlessly(t *testing.T) {
	server, caller := listen(t, Config{}), listen(t, Config{Options: Options{MaxFrame: 100}})
	server.ServeStreams(stay)
	s := openStream(t, caller.Client(), server)
	if err := s.WriteFrame(make([]byte, 101)); err == nil {
		t.Error("frame over the limit was taken")
	}
	if err := s.WriteFrame(make([]byte, 100)); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
