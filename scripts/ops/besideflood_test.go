package ops

import (
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/suite/ice"
)

// BenchmarkBesideFlood is S8: how long a call of a client takes beside 2000 connections, spread over the ports, of which one
// half says nothing and the other a byte of a message now and then, against the same without them, in turn. p99-ratio is the
// figure promised: at most 2.
func BenchmarkBesideFlood(b *testing.B) {
	n := floetest.NewNode(b, "n1")
	n.Start()
	n.WaitReady()
	conn, err := ice.Dial(n.Ice(), 5*time.Second)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	var quiet, beside []time.Duration
	const each = 2000
	for b.Loop() {
		quiet = append(quiet, pings(b, conn, each)...)
		end := trickle(b, map[string]string{n.Peer(): garbage, n.Ice(): request(), n.HTTP(): "GET /v1/status HTTP/1.1\r\nX-Slow: " + strings.Repeat("x", 1000)}, 2000)
		beside = append(beside, pings(b, conn, each)...)
		end()
	}
	p99 := func(of []time.Duration) float64 {
		slices.Sort(of)
		return float64(of[len(of)*99/100].Microseconds())
	}
	b.ReportMetric(p99(quiet), "p99-quiet-µs")
	b.ReportMetric(p99(beside), "p99-beside-µs")
	b.ReportMetric(p99(beside)/p99(quiet), "p99-ratio")
}

func pings(b *testing.B, conn *ice.Conn, count int) []time.Duration {
	took := make([]time.Duration, count)
	for i := range took {
		start := time.Now()
		if err := conn.Ping(10 * time.Second); err != nil {
			b.Fatal(err)
		}
		took[i] = time.Since(start)
		<-time.After(time.Duration(rand.IntN(1000)) * time.Microsecond) // a client that is no flood
	}
	return took
}

// trickle opens so many connections, half of which send a byte each 2 s until end is called. Some are closed by the node
// meanwhile, and made anew.
func trickle(b *testing.B, messages map[string]string, count int) (end func()) {
	over := make(chan struct{})
	addresses := slices.Sorted(maps.Keys(messages))
	var all sync.WaitGroup
	var open sync.WaitGroup
	for i := range count {
		open.Add(1)
		all.Go(func() {
			first, address := true, addresses[i%len(addresses)]
			for {
				c, err := net.DialTimeout("tcp", address, 10*time.Second)
				if first {
					open.Done()
					first = false
				}
				if err == nil && !drip(c, messages[address], i%2 == 0, over) {
					return
				}
				select {
				case <-over:
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
	open.Wait()
	return func() {
		close(over)
		all.Wait()
	}
}

// drip keeps a connection open until it breaks (true) or all is over.
func drip(c net.Conn, message string, talks bool, over <-chan struct{}) bool {
	defer c.Close()
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-over:
			return false
		case <-tick.C:
		}
		if !talks {
			continue
		}
		if _, err := c.Write([]byte(message[i%len(message):][:1])); err != nil {
			return true
		}
	}
}
