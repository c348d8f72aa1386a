package e2e

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/peers"
	"floe/transport/http/api"
)

// The federation of the IceStorm manual, on one node, with publishers in three languages and subscribers in two.
func TestManualFederation(t *testing.T) {
	t.Parallel()
	s := service(startNode(t, "--ice-ws", ":"+wsPort))
	peers.MakeManualGraph(t, s)
	peers.CheckManualOutcome(t, peers.CPP, peers.CPP, s)
	peers.CheckManualOutcome(t, peers.Python, peers.Python, s)
	peers.CheckManualOutcome(t, peers.JavaScript, peers.CPP, s)
}

// The same on three nodes, each topic used through another node; and again, with nothing done to it, after all three
// were killed and came back elsewhere. The topics keep their identities.
func TestManualFederationIsThereAfterAllNodesDiedAndMoved(t *testing.T) {
	t.Parallel()
	c := startThree(t, "--ice-ws", ":"+wsPort)
	peers.MakeManualGraph(t, service(c.Nodes[1]))
	ids, names := list[api.Topic](c.Nodes[0], t, "topics"), identities(t, c.Nodes[0])
	checkManual(t, c)

	c.Kill()
	moveAll(c)
	restart(t, c)
	for _, n := range c.Nodes {
		if got := identities(t, n); !maps.Equal(got, names) {
			t.Errorf("%s: identities: got %v, want %v", n.ID, got, names)
		}
		if got := list[api.Topic](n, t, "topics"); !slices.Equal(got, ids) {
			t.Errorf("%s: topics: got %v, want %v", n.ID, got, ids)
		}
	}
	checkManual(t, c)
}

// checkManual lets every node be the one that is published to, with another language each.
func checkManual(t *testing.T, c *floetest.Cluster) {
	t.Helper()
	c.WaitSame()
	n1, n2, n3 := service(c.Nodes[0]), service(c.Nodes[1]), service(c.Nodes[2])
	for _, s := range []peers.Service{n1, n2, n3} {
		peers.CheckManualLinks(t, s)
	}
	settle := func() { waitCopies(t, c.Nodes, 3) }
	n1.Settle, n2.Settle, n3.Settle = settle, settle, settle
	peers.CheckManualOutcome(t, peers.CPP, peers.CPP, n2, n3, n1, n1)
	peers.CheckManualOutcome(t, peers.Python, peers.Python, n3, n1, n2, n2)
	peers.CheckManualOutcome(t, peers.JavaScript, peers.CPP, n1, n2, n3, n3)
}

var proxyLine = regexp.MustCompile(`^(\S+) (\S+) -`)

// identities returns the identity of every object that a client is given for the manual's topics.
func identities(t *testing.T, n *floetest.Node) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, topic := range []string{"A", "B", "C"} {
		for _, line := range call(t, service(n), "proxies", topic) {
			if m := proxyLine.FindStringSubmatch(line); m != nil {
				out[topic+" "+m[1]] = m[2]
			}
		}
	}
	if out["A topic"] != "IceStorm/topic.A" || out["C publisher"] != "IceStorm/C.publish" || out["B link"] != "IceStorm/B.link" {
		t.Errorf("%s: identities: %v", n.ID, out)
	}
	return out
}
