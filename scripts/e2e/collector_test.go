package e2e

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/suite/ice"
	"floe/transport/ice/proto"
)

// collector is a subscriber in the test itself that counts how often each of icepeer's events came, so that a test can
// wait for the last one and name those that are missing.
type collector struct {
	server *ice.Server

	mu    sync.Mutex
	times map[uint32]int
}

// collect subscribes a collector to a topic of a cluster and waits until all its nodes know it. It lives until the test
// ends.
func collect(t testing.TB, c *floetest.Cluster, topic string) *collector {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	events := &collector{times: map[uint32]int{}}
	events.server = ice.Serve(l, events.take)
	t.Cleanup(events.server.Close)
	at := events.server.Endpoint()
	call(t, service(c.Nodes...), "subscribe", topic, "collector -o:"+at.String(), "retryCount=-1")
	for _, n := range c.Nodes {
		floetest.Eventually(t, floetest.Patience, func() error {
			known, err := subscribersOf(n, topic)
			if err == nil && !slices.Contains(known, "collector") {
				err = fmt.Errorf("%s: subscribers %q", n.ID, known)
			}
			return err
		})
	}
	return events
}

// take reads an event's number, which is behind its 8 bytes of time: see scripts/peers/cpp/event.h.
func (c *collector) take(r *proto.Request) {
	d, err := proto.OpenEncapsulation(r.Encaps)
	if err != nil {
		return
	}
	body := d.Bytes()
	if d.Err() != nil || len(body) < 16 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times[binary.LittleEndian.Uint32(body[8:])]++
}

// count is how many different events came, and how many copies too many.
func (c *collector) count() (events, doubled int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.times {
		events, doubled = events+1, doubled+n-1
	}
	return events, doubled
}

// waitMore waits until so many more events have come.
func (c *collector) waitMore(t testing.TB, n int) {
	t.Helper()
	start, _ := c.count()
	c.waitFor(t, start+n)
}

// waitFor waits until that many different events have come.
func (c *collector) waitFor(t testing.TB, n int) {
	t.Helper()
	floetest.Eventually(t, floetest.Patience, func() error {
		if got, doubled := c.count(); got < n {
			return fmt.Errorf("%d of %d events came, %d copies too many", got, n, doubled)
		}
		return nil
	})
}
