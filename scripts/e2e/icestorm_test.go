package e2e

import (
	"slices"
	"strings"
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/peers"
)

// federated lets icestormadmin name topics of a real IceStorm (Storm/NAME) and ours (IceStorm/NAME).
func federated(ours peers.Service, storm *peers.Storm) peers.Service {
	ours.Properties = []string{"--IceStormAdmin.TopicManager.Ours=" + ours.Manager, "--IceStormAdmin.TopicManager.Theirs=" + storm.Manager}
	return ours
}

// crossing publishes on the topic out of one side until the subscriber of the other side's topic in sees an event: where
// a side was away, an IceStorm throws away what comes within its discard interval.
func crossing(t *testing.T, from peers.Service, sub *peers.Subscriber) {
	t.Helper()
	before := len(sub.Events())
	p := peers.StartPublisher(t, from, peers.CPP, "out", "--count", "0", "--rate", "50", "--cost", "2,3", "--keep-going")
	sub.WaitEvents(before + 2)
	p.Stop()
	for _, e := range sub.Events() {
		if e.Cost != "2" {
			t.Errorf("cost %s crossed a link of cost 2", e.Cost)
		}
	}
}

// G13: links in both directions with a real IceStorm go on after either side restarted. At another port the IceStorm is
// not found again: the link is still listed, and can be made again.
func TestLinksWithARealIceStormOutliveRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startStorm := func(more ...string) *peers.Storm {
		t.Helper()
		return peers.IceStorm(t, append([]string{"--instance", "Storm", "--dir", dir, "Discard.Interval=1"}, more...)...)
	}
	storm := startStorm()
	n := startNode(t, "--discard-interval", "1s")
	s := federated(service(n), storm)
	admin(t, s, "create IceStorm/out IceStorm/in Storm/out Storm/in; link IceStorm/out Storm/in 2; link Storm/out IceStorm/in 2")
	here := peers.Subscribe(t, s, peers.CPP, "in", "--mode", "oneway", "--qos", "retryCount=-1")
	there := peers.Subscribe(t, storm.Service, peers.CPP, "in", "--mode", "oneway", "--qos", "retryCount=-1")
	both := func(what string) {
		t.Helper()
		t.Log(what)
		crossing(t, s, there)
		crossing(t, storm.Service, here)
		if got, want := admin(t, s, "links"), "out to in with cost 2\n"; got != want {
			t.Errorf("%s: links: got %q, want %q", what, got, want)
		}
	}
	both("made")
	n.Kill()
	n.Start()
	n.WaitReady()
	both("ours restarted")
	ports := storm.SamePorts()
	storm.Kill()
	storm = startStorm(ports...)
	both("theirs restarted at the same ports")

	storm.Stop()
	storm = startStorm()
	peers.Publish(t, s, peers.CPP, "out", "--cost", "1")
	if got := n.Must("links"); !strings.HasPrefix(got, "out to Storm/in with cost 2") {
		t.Errorf("theirs at other ports: links: %q", got)
	}
	waitMetric(t, n, func(v float64) bool { return v == 1 }, "floe_topic_receivers_failing", `topic="out"`)
	s = federated(service(n), storm)
	admin(t, s, "unlink IceStorm/out Storm/in; link IceStorm/out Storm/in 2")
	both("theirs at other ports, link made again")
}

// G12: a topic elsewhere that gives no link proxy is refused, and leaves nothing behind.
func TestLinkToATopicWithoutALinkProxyIsRefused(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := service(n)
	admin(t, s, "create A")
	for _, answer := range []string{"null", "throw"} {
		_, proxy := peers.ForeignTopic(t, answer)
		lines, exit := peers.Call(t, s, "link", "A", proxy, "0")
		if exit != 1 || !strings.HasPrefix(lines[len(lines)-1], "error ") {
			t.Errorf("%s: exit %d, %q", answer, exit, lines)
		}
		if got := n.Must("links"); got != "" {
			t.Errorf("%s: a link was made: %q", answer, got)
		}
		if got := call(t, s, "subscribers", "A"); !slices.Equal(got, []string{"done"}) {
			t.Errorf("%s: subscribers: %q", answer, got)
		}
	}
	foreign, proxy := peers.ForeignTopic(t, "self")
	call(t, s, "link", "A", proxy, "0")
	peers.Publish(t, s, peers.CPP, "A")
	foreign.WaitLine("forwarded")
	floetest.Eventually(t, floetest.Patience, func() error { _, err := n.Status(); return err })
}

// A real IceStorm keeps the link proxy it was given once. As that names all nodes, its link goes on when the one it uses
// dies.
func TestLinkOfARealIceStormGoesOnThroughTheOtherNodes(t *testing.T) {
	t.Parallel()
	storm := peers.IceStorm(t, "--instance", "Storm", "Discard.Interval=1")
	c := startThree(t)
	s := federated(service(c.Nodes...), storm)
	admin(t, s, "create IceStorm/in Storm/out; link Storm/out IceStorm/in 2")
	here := peers.Subscribe(t, s, peers.CPP, "in", "--mode", "oneway", "--qos", "retryCount=-1")
	waitCopies(t, c.Nodes, 1)
	crossing(t, storm.Service, here)
	for _, n := range c.Nodes {
		if mustMetric(t, n, "floe_topic_arrived_total", `topic="in"`) > 0 {
			n.Kill()
			break
		}
	}
	if len(c.Running()) != 2 {
		t.Fatal("no node took the events")
	}
	crossing(t, storm.Service, here)
}
