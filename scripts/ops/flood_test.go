package ops

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// P07, shortened: 3 000 connections with garbage on each port, as fast as they can be made. A client that was there before
// keeps working meanwhile, memory stays flat, and the log short.
func TestFloodOfGarbage(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	var flood sync.WaitGroup
	var made atomic.Int64
	for _, address := range []string{b.n.Peer(), b.n.Ice(), b.n.HTTP()} {
		for range 4 {
			flood.Go(func() {
				for range 750 {
					if throw(address) {
						made.Add(1)
					}
				}
			})
		}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		flood.Wait()
	}()
	served := 0
	for running := true; running; served++ {
		b.publish(t)
		select {
		case <-over:
			running = false
		default:
		}
	}
	t.Logf("%d connections with garbage; %d calls of a client meanwhile", made.Load(), served)
	if made.Load() < 8000 {
		t.Errorf("only %d of 9000 connections were made", made.Load())
	}
	b.unharmed(t, 60*mb)
	if lines := strings.Count(b.n.Log(), "\n"); lines > 100 {
		t.Errorf("%d lines in the log:\n%s", lines, b.n.Tail())
	}
	fewDescriptors(t, b.n)
}

// throw opens a connection, sends garbage, and waits for its end.
func throw(address string) bool {
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second)) // fails only on a closed connection
	_, _ = io.WriteString(conn, garbage[:200])             // it may be closed before all is written
	_, _ = io.Copy(io.Discard, conn)
	return true
}
