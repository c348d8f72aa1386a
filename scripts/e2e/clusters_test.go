package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/peers"
)

// pair is two floe clusters, west with topic A and east with topic B, and the link A to east/B with cost 5.
func pair(t *testing.T, west, east *floetest.Cluster) {
	t.Helper()
	admin(t, service(east.Nodes...), "create B")
	w := west.Nodes[0]
	w.Must("create", "A")
	w.Must("clusters", "add", "east", east.Peers())
	w.Must("link", "A", "east/B", "5")
}

func oneNode(t *testing.T, flags ...string) *floetest.Cluster {
	t.Helper()
	c := floetest.NewCluster(t, 1, flags...)
	c.Nodes[0].Start()
	c.WaitVoters(1)
	return c
}

// A link to a topic of another floe cluster carries events by their cost. It names no address: the other cluster's nodes
// move away one by one, each under load, and every event arrives, once.
func TestLinkToAnotherClusterFollowsItsNodes(t *testing.T) {
	t.Parallel()
	west, east := oneNode(t), startThree(t)
	pair(t, west, east)
	if got, want := west.Nodes[0].Must("links"), "A to east/B with cost 5\n"; got != want {
		t.Errorf("links: got %q, want %q", got, want)
	}
	costly := peers.Subscribe(t, service(east.Nodes...), peers.CPP, "B", "--mode", "oneway", "--qos", "retryCount=-1")
	waitCopies(t, east.Nodes, 1)
	peers.Publish(t, service(west.Nodes...), peers.CPP, "A", "--count", "4", "--cost", "5,6,none,-7")
	if got, want := costs(costly.WaitEvents(3)), []string{"5", "-", "-7"}; !slices.Equal(got, want) {
		t.Errorf("costs: got %v, want %v", got, want)
	}
	events := collect(t, east, "B")
	pub := peers.StartPublisher(t, service(west.Nodes...), peers.CPP, "A", "--count", "0", "--rate", "2000")
	for _, n := range east.Nodes {
		n.Stop()
		n.Move()
		n.Start("--join", east.Peers())
		east.WaitVoters(3)
		events.waitMore(t, 1000)
	}
	pub.Stop()
	checkExactlyOnce(t, west.Nodes[0], events, pub.Result())
}

// checkExactlyOnce waits until all events have come and checks that none came twice and none was given up.
func checkExactlyOnce(t *testing.T, west *floetest.Node, events *collector, p peers.Published) {
	t.Helper()
	events.waitFor(t, p.Acked)
	waitMetric(t, west, func(v float64) bool { return v == 0 }, "floe_events_queued", `face="ice"`)
	for _, reason := range []string{"queue_full", "doubtful", "refused"} {
		if v := mustMetric(t, west, "floe_events_dropped_total", `reason="`+reason+`"`); v != 0 {
			t.Errorf("%v events dropped: %s", v, reason)
		}
	}
	if got, doubled := events.count(); got != p.Acked || doubled != 0 {
		t.Errorf("of %d events %d came, and %d copies too many", p.Acked, got, doubled)
	}
}

// E12: events flat out over a link whose connections are cut again and again: none is lost, none comes twice.
func TestLinkBetweenClustersWhileConnectionsAreCut(t *testing.T) {
	t.Parallel()
	cutter := newCutter(t)
	west, east := oneNode(t, "--queue-events", "1000000", "--queue-bytes", "256MiB"), oneNode(t, "--ice-published", cutter.Address(), "--queue-events", "1000000", "--queue-bytes", "256MiB")
	cutter.Forward(east.Nodes[0].Ice())
	pair(t, west, east)
	events := collect(t, east, "B")
	const count = 100_000
	pub := peers.StartPublisher(t, service(west.Nodes...), peers.CPP, "A", "--count", fmt.Sprint(count), "--mode", "oneway", "--size", "64")
	cuts, before := 0, 0
	floetest.Eventually(t, 2*floetest.Patience, func() error {
		got, _ := events.count()
		if got >= count {
			return nil
		}
		if got > before { // a connection is cut once something came over it
			cuts, before = cuts+cutter.Cut(), got
		}
		return fmt.Errorf("%d events came", got)
	})
	if cuts < 10 {
		t.Errorf("only %d connections were cut", cuts)
	}
	checkExactlyOnce(t, west.Nodes[0], events, pub.Result())
}

// A node of the other cluster that is killed takes with it what it had and had not passed on, and what it had passed on
// and not answered for comes again; the link goes on through the others.
func TestLinkGoesOnWhenANodeOfTheOtherClusterIsKilled(t *testing.T) {
	t.Parallel()
	west, east := oneNode(t), startThree(t)
	pair(t, west, east)
	events := collect(t, east, "B")
	pub := peers.StartPublisher(t, service(west.Nodes...), peers.CPP, "A", "--count", "0", "--rate", "2000")
	events.waitMore(t, 1000)
	victim := busiest(t, east)
	victim.Kill()
	events.waitMore(t, 1000)
	victim.Move()
	victim.Start("--join", east.Peers())
	east.WaitVoters(3)
	events.waitMore(t, 1000)
	pub.Stop()
	// Up to one message of 1000 events was answered and not passed on, or passed on and not answered.
	published := pub.Result().Acked
	events.waitFor(t, published-1000)
	if _, doubled := events.count(); doubled > 1000 {
		t.Errorf("of %d events %d came twice", published, doubled)
	}
}

// busiest is the node that takes most of the link's events.
func busiest(t *testing.T, c *floetest.Cluster) *floetest.Node {
	t.Helper()
	best, most := c.Nodes[0], -1.0
	for _, n := range c.Running() {
		if v := mustMetric(t, n, "floe_topic_arrived_total", `topic="B"`); v > most {
			best, most = n, v
		}
	}
	return best
}

// A cluster whose nodes all moved at once is made known again; its links stay as they are.
func TestClusterThatMovedAsAWholeIsAddedAgain(t *testing.T) {
	t.Parallel()
	west, east := oneNode(t), oneNode(t)
	pair(t, west, east)
	sub := peers.Subscribe(t, service(east.Nodes...), peers.CPP, "B", "--mode", "oneway", "--qos", "retryCount=-1")
	east.Kill()
	moveAll(east)
	restart(t, east)
	w := west.Nodes[0]
	w.Must("clusters", "add", "east", east.Peers())
	if got := w.Must("clusters", "list"); !strings.Contains(got, east.Nodes[0].Peer()) {
		t.Errorf("clusters: %q", got)
	}
	peers.Publish(t, service(w), peers.CPP, "A", "--cost", "3")
	if got, want := costs(sub.WaitEvents(1)), []string{"3"}; !slices.Equal(got, want) {
		t.Errorf("costs: got %v, want %v", got, want)
	}
}
