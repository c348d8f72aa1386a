package e2e

import (
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/peers"
)

// A stock publisher goes on by itself when the node it talks to is killed, as its proxy names the others.
func TestPublisherGoesOnWhenItsNodeIsKilled(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	admin(t, service(c.Nodes...), "create A")
	events := collect(t, c, "A")
	pub := peers.StartPublisher(t, service(c.Nodes...), peers.CPP, "A", "--count", "0", "--rate", "200", "--keep-going")
	events.waitMore(t, 20)
	var used []*floetest.Node
	for _, n := range c.Nodes {
		if mustMetric(t, n, "floe_topic_published_total", `topic="A"`) > 0 {
			used = append(used, n)
		}
	}
	if len(used) != 1 {
		t.Fatalf("the publisher used %d nodes, want 1", len(used))
	}
	used[0].Kill()
	events.waitMore(t, 200)
	pub.Stop()
	got := pub.Result()
	// The call that was under way, and what the node had answered for and not sent yet: a millisecond's worth of events.
	if got.Errors > 1 {
		t.Errorf("%d calls failed", got.Errors)
	}
	events.waitFor(t, got.Acked-1)
	if _, doubled := events.count(); doubled > 0 {
		t.Errorf("%d copies too many", doubled)
	}
}

// Programs that make changes go on likewise: every node takes them, with any other node dead.
func TestChangesThroughTheNodesThatAreLeft(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	leader := c.WaitLeader()
	s := service(c.Nodes...)
	admin(t, s, "create A")
	leader.Kill()
	admin(t, s, "create B; link A B 4")
	c.WaitSame()
	for _, n := range c.Running() {
		if got, want := admin(t, service(n), "links"), "A to B with cost 4\n"; got != want {
			t.Errorf("%s: links: got %q, want %q", n.ID, got, want)
		}
	}
}
