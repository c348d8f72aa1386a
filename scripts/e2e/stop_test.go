package e2e

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/peers"
)

// A clean stop delivers what is queued, batches that wait for their flush included.
func TestStopDeliversWhatIsQueued(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--flush-interval", "1h")
	s := service(n)
	admin(t, s, "create A")
	sub := peers.Subscribe(t, s, peers.CPP, "A", "--mode", "batch")
	peers.Publish(t, s, peers.CPP, "A", "--count", "50")
	if got := mustMetric(t, n, "floe_events_queued", `face="ice"`); got != 50 {
		t.Errorf("%v events queued, want 50", got)
	}
	n.Stop()
	sub.WaitEvents(50)
}

// A reader of an event stream that stands still, and a request that never
// ends, take no time from others at a clean stop; what they missed is counted.
func TestStopWithClientsThatStandStill(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--flush-interval", "1h", "--stop-timeout", "8s")
	s := service(n)
	admin(t, s, "create A B")
	still(t, n, "GET /v1/events?topic=B HTTP/1.1\r\nHost: x\r\n\r\n")
	still(t, n, "POST /v1/topics HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{")
	waitMetric(t, n, func(v float64) bool { return v == 1 }, "floe_native_subscribers")
	for range 120 {
		n.Must("pub", "B", strings.Repeat("x", 100_000))
	}
	sub := peers.Subscribe(t, s, peers.CPP, "A", "--mode", "batch")
	peers.Publish(t, s, peers.CPP, "A", "--count", "50")
	n.Stop()
	sub.WaitEvents(50)
	if log := n.Log(); !strings.Contains(log, "events were left undelivered") {
		t.Errorf("the last line does not say what was left:\n%s", n.Tail())
	}
}

// A subscriber that never answers costs a stop its limit and no more.
func TestStopTakesNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--stop-timeout", "4s")
	s := service(n)
	admin(t, s, "create A")
	peers.Subscribe(t, s, peers.CPP, "A", "--mode", "twoway", "--behaviour", "hang")
	peers.Publish(t, s, peers.CPP, "A", "--count", "20")
	began := time.Now()
	n.Stop()
	if took := time.Since(began); took > 5500*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	if !strings.Contains(n.Log(), "stopped; 20 events were left undelivered") {
		t.Errorf("the last line does not say what was left:\n%s", n.Tail())
	}
}

// still sends a request and then neither reads nor writes.
func still(t *testing.T, n *floetest.Node, request string) {
	t.Helper()
	conn, err := net.Dial("tcp", n.HTTP())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
}

// A drained node lets its publisher move to another, and loses nothing.
func TestDrainLosesNothing(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	admin(t, service(c.Nodes...), "create A")
	events := collect(t, c, "A")
	pub := peers.StartPublisher(t, service(c.Nodes...), peers.CPP, "A", "--count", "0", "--rate", "500")
	events.waitMore(t, 100)
	var used *floetest.Node
	for _, n := range c.Nodes {
		if mustMetric(t, n, "floe_topic_published_total", `topic="A"`) > 0 {
			used = n
		}
	}
	used.Must("drain")
	events.waitMore(t, 100)
	before := mustMetric(t, used, "floe_topic_published_total", `topic="A"`)
	events.waitMore(t, 100)
	if got := mustMetric(t, used, "floe_topic_published_total", `topic="A"`); got != before {
		t.Errorf("the drained node was still published to: %v events, then %v", before, got)
	}
	pub.Stop()
	got := pub.Result()
	events.waitFor(t, got.Acked)
	if n, doubled := events.count(); got.Errors != 0 || n != got.Acked || doubled != 0 {
		t.Errorf("of %d events (%d errors) %d came, and %d copies too many", got.Acked, got.Errors, n, doubled)
	}
}
