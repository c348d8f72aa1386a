package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/floetest"
	"floe/scripts/peers"
	"floe/transport/http/api"
)

// G01: an event crosses one link and no second one, also when every topic is used through another node.
func TestEventCrossesOneLinkOnThreeNodes(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	n1, n2, n3 := service(c.Nodes[0]), service(c.Nodes[1]), service(c.Nodes[2])
	admin(t, n1, "create A B C; link A B 0; link B C 0")
	subs := map[string]*peers.Subscriber{
		"A": peers.Subscribe(t, n2, peers.CPP, "A", "--mode", "oneway"),
		"B": peers.Subscribe(t, n3, peers.CPP, "B", "--mode", "oneway"),
		"C": peers.Subscribe(t, n1, peers.CPP, "C", "--mode", "oneway"),
	}
	waitCopies(t, c.Nodes, 3)
	peers.Publish(t, n1, peers.CPP, "A", "--publisher-kind", "local", "--cost", "100")
	peers.Publish(t, n2, peers.CPP, "B", "--publisher-kind", "local", "--cost", "200")
	// What a node sends to a subscriber comes in order: the last event from each node shows that no other is coming.
	for i, s := range []peers.Service{n1, n2} {
		for topic := range subs {
			peers.Publish(t, s, peers.CPP, topic, "--publisher-kind", "local", "--cost", fmt.Sprint(i+1), "--context", "last=1")
		}
	}
	want := map[string][]string{"A": {"100"}, "B": {"100", "200"}, "C": {"200"}}
	for topic, sub := range subs {
		sub.WaitFor("the last events of both nodes", func([]string) bool { return countLast(sub, topic) })
		if got := withoutLast(sub.Events()); !slices.Equal(got, want[topic]) {
			t.Errorf("%s: got %v, want %v", topic, got, want[topic])
		}
	}
}

// countLast tells whether the last event that is published on a topic itself has come from two nodes. A linked topic's
// last events come, too: they cross a link like any other.
func countLast(s *peers.Subscriber, topic string) bool {
	per := map[string]int{}
	for _, e := range s.Events() {
		if e.Context["last"] != "" {
			per[e.Cost]++
		}
	}
	links := map[string]int{"A": 1, "B": 2, "C": 2}[topic]
	return per["1"] == links && per["2"] == links
}

func withoutLast(events []peers.Event) []string {
	ours := costs(slices.DeleteFunc(events, func(e peers.Event) bool { return e.Context["last"] != "" }))
	slices.Sort(ours)
	return ours
}

// waitCopies waits until every node's own copy has so many subscribers.
func waitCopies(t *testing.T, nodes []*floetest.Node, want int) {
	t.Helper()
	for _, n := range nodes {
		floetest.Eventually(t, floetest.Patience, func() error {
			all, err := copyOf[api.Subscriber](n, "/v1/subscribers")
			got := len(slices.DeleteFunc(all, func(s api.Subscriber) bool { return s.Link }))
			if err == nil && got != want {
				err = fmt.Errorf("%s: %d subscribers, want %d", n.ID, got, want)
			}
			return err
		})
	}
}

// G03: in a diamond the far topic gets one copy, as a forwarded event fires no link.
func TestDiamondGivesOneCopy(t *testing.T) {
	t.Parallel()
	s := service(startNode(t))
	admin(t, s, "create x y w; link x y 0; link x w 0; link y w 0")
	sub := peers.Subscribe(t, s, peers.CPP, "w", "--mode", "oneway")
	peers.Publish(t, s, peers.CPP, "x", "--cost", "1")
	peers.Publish(t, s, peers.CPP, "w", "--cost", "2")
	sub.WaitEvents(2)
	if got, want := costs(sub.Events()), []string{"1", "2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// G05: what counts as a cost where the text is no clean number.
func TestCostTextsThatAreNoCleanNumbers(t *testing.T) {
	t.Parallel()
	s := service(startNode(t))
	admin(t, s, "create p q z n; link p q 1; link p z 0; link p n -1")
	texts := []string{"none", "0", "1", "2", "-1", "-5", "abc", "1abc", " 1", "0x2", "99999999999", "2147483647", ""}
	over, under := []string{"2", "99999999999", "2147483647"}, []string{"-1", "-5"}
	subs := map[string]*peers.Subscriber{}
	for _, topic := range []string{"q", "z", "n"} {
		subs[topic] = peers.Subscribe(t, s, peers.CPP, topic, "--mode", "oneway")
	}
	for _, text := range texts {
		peers.Publish(t, s, peers.CPP, "p", "--cost", text)
	}
	want := map[string][]string{"z": texts, "n": under, "q": slices.DeleteFunc(slices.Clone(texts), func(c string) bool { return slices.Contains(over, c) })}
	for topic, sub := range subs {
		peers.Publish(t, s, peers.CPP, topic, "--cost", "12345")
		sub.WaitEvents(len(want[topic]) + 1)
		expected := append(slices.Clone(want[topic]), "12345")
		for i := range expected {
			if expected[i] == "none" {
				expected[i] = "-"
			}
		}
		if diff := cmp.Diff(expected, costs(sub.Events())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", topic, diff)
		}
	}
}

// G07: a negative cost keeps its sign over a restart, and over one from a snapshot.
func TestNegativeCostOutlivesRestartAndSnapshot(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--snapshot-threshold", "4", "--snapshot-interval", "100ms")
	s := service(n)
	admin(t, s, "create B C; link B C -1", "create 1 2 3 4 5 6 7 8")
	n.WaitLog("snapshot complete")
	sub := peers.Subscribe(t, s, peers.CPP, "C", "--mode", "oneway")
	for range 2 {
		n.Kill()
		n.Start()
		n.WaitReady()
		if got, want := admin(t, s, "links"), "B to C with cost -1\n"; got != want {
			t.Errorf("links: got %q, want %q", got, want)
		}
		if got, want := n.Must("links"), "B to C with cost -1\n"; got != want {
			t.Errorf("floe links: got %q, want %q", got, want)
		}
	}
	peers.Publish(t, s, peers.CPP, "B", "--count", "3", "--cost", "none,-1,0")
	peers.Publish(t, s, peers.CPP, "C", "--cost", "9")
	sub.WaitEvents(2)
	if got, want := costs(sub.Events()), []string{"-1", "9"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// G08: a node stops as fast as ever where all that was published was too costly for the links, one inside and one to a
// real IceStorm.
func TestStopAfterAllEventsWereTooCostly(t *testing.T) {
	t.Parallel()
	storm := peers.IceStorm(t, "--instance", "Storm")
	n := startNode(t)
	s := federated(service(n), storm)
	admin(t, s, "create A IceStorm/B Storm/B; link A IceStorm/B 1; link A Storm/B 1")
	here := peers.Subscribe(t, s, peers.CPP, "B", "--mode", "oneway")
	there := peers.Subscribe(t, storm.Service, peers.CPP, "B", "--mode", "oneway")
	peers.Publish(t, s, peers.CPP, "A", "--count", "500", "--cost", "5")
	if d := took(n.Stop); d > 5*time.Second {
		t.Errorf("stopping took %v", d)
	}
	peers.Publish(t, storm.Service, peers.CPP, "B", "--cost", "1")
	if got, want := costs(there.WaitEvents(1)), []string{"1"}; !slices.Equal(got, want) {
		t.Errorf("at the IceStorm: got %v, want %v", got, want)
	}
	if got := here.Events(); len(got) > 0 {
		t.Errorf("at ours: %v", costs(got))
	}
}
