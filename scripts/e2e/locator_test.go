package e2e

import (
	"fmt"
	"strings"
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/peers"
)

// located is the service for programs that know a locator.
func located(s peers.Service, locator string) peers.Service {
	s.Properties = append(s.Properties, "--Ice.Default.Locator="+locator)
	return s
}

// A subscriber and a linked topic that are known by an adapter's id are found through a real IceGrid registry, and again
// after they came back at another port.
func TestIndirectSubscribersAndLinkTargets(t *testing.T) {
	t.Parallel()
	registry := peers.IceGridRegistry(t)
	dir := t.TempDir()
	startStorm := func() *peers.Storm {
		t.Helper()
		return peers.IceStorm(t, "--instance", "Storm", "--dir", dir, "Discard.Interval=1", "TopicManager.AdapterId=storm",
			"Publish.AdapterId=storm-publish", "Ice.Default.Locator="+registry.Locator)
	}
	storm := startStorm()
	n := startNode(t, "--ice-locator", registry.Locator, "--discard-interval", "1s")
	s := located(federated(service(n), storm), registry.Locator)
	admin(t, s, "create IceStorm/out elsewhere Storm/in; link IceStorm/out Storm/in 2")
	sub := peers.Subscribe(t, s, peers.CPP, "out", "--adapter", "sub", "--identity", "s1", "--mode", "oneway", "--qos", "retryCount=-1")
	there := peers.Subscribe(t, located(storm.Service, registry.Locator), peers.CPP, "in", "--mode", "oneway", "--qos", "retryCount=-1")
	if got := answer(t, call(t, s, "links", "out"), "link"); !strings.Contains(got, "@ storm") {
		t.Fatalf("the link's target is not indirect: %s", got)
	}
	crossing(t, s, there)
	sub.WaitEvents(2)

	sub.Kill()
	storm.Kill()
	startStorm()
	back := peers.Subscribe(t, s, peers.CPP, "elsewhere", "--adapter", "sub", "--identity", "s1", "--mode", "oneway")
	crossing(t, s, there)
	back.WaitEvents(1)
}

// floe is a locator itself: a program that knows only that finds whichever nodes live now.
func TestProgramsThatKnowOnlyFloesLocator(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	locator := "floe/Locator"
	for _, n := range c.Nodes {
		locator += ":" + endpoint("tcp", n.IP, floetest.IcePort)
	}
	indirect := located(peers.Service{Manager: "IceStorm/TopicManager @ floe"}, locator)
	wellKnown := located(peers.Service{Manager: "IceStorm/TopicManager"}, locator)
	admin(t, indirect, "create A B; link A B 0")
	c.WaitSame()
	c.Nodes[1].Kill()
	for _, s := range []peers.Service{indirect, wellKnown} {
		if got, want := admin(t, s, "links"), "A to B with cost 0\n"; got != want {
			t.Errorf("links: got %q, want %q", got, want)
		}
		sub := peers.Subscribe(t, s, peers.CPP, "B", "--mode", "oneway", "--unsubscribe")
		peers.Publish(t, s, peers.CPP, "A", "--count", "3")
		sub.WaitEvents(3)
		sub.Stop()
	}
}

// Nodes register at a real IceGrid registry, alone and as a replica group, again after it came back empty, and withdraw
// on a clean stop.
func TestNodesRegisterAtAnIceGridRegistry(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	registry := peers.IceGridRegistry(t, "--port", port)
	flags := func(id string) []string {
		return []string{"--ice-locator", registry.Locator, "--ice-adapter-id", id + "/floes"}
	}
	c := floetest.NewCluster(t, 3, "--bootstrap-expect", "3")
	for _, n := range c.Nodes {
		n.Flags = append(n.Flags[:len(n.Flags):len(n.Flags)], flags("floe-"+n.ID)...)
	}
	restart(t, c)
	admin(t, service(c.Nodes[0]), "create A")
	c.WaitSame()
	registered := func(r *peers.Registry, adapter, want string) {
		t.Helper()
		floetest.Eventually(t, floetest.Patience, func() error {
			if got := r.AdapterEndpoints(t, adapter); (want == "") != !strings.Contains(got, "tcp") || !strings.Contains(got, want) {
				return fmt.Errorf("%s: got %q, want %q", adapter, got, want)
			}
			return nil
		})
	}
	all := func(r *peers.Registry) {
		t.Helper()
		for _, n := range c.Nodes {
			registered(r, "floe-"+n.ID, n.IP)
		}
		for _, id := range []string{"floe-n1", "floes"} {
			s := located(peers.Service{Manager: "IceStorm/TopicManager @ " + id}, r.Locator)
			if got := admin(t, s, "topics"); got != "A\n" {
				t.Errorf("topics @ %s: %q", id, got)
			}
		}
	}
	all(registry)
	registry.Stop()
	registry = peers.IceGridRegistry(t, "--port", port)
	all(registry)
	c.Nodes[2].Stop()
	registered(registry, "floe-n3", "")
	registered(registry, "floe-n1", c.Nodes[0].IP)
}
