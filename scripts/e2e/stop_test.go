package e2e

import (
	"testing"

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
