package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/floetest"
	"floe/scripts/peers"
	"floe/scripts/suite/ice"
	"floe/transport/http/api"
	"floe/transport/ice/proto"
)

// X03: all topics, links, costs, subscribers and their QoS are back after all nodes were killed, and all deliver.
func TestWholeGraphIsBackAfterAKill(t *testing.T) {
	t.Parallel()
	c := startThree(t, "--flush-interval", "50ms")
	s := service(c.Nodes[0])
	names := []string{"t1", "t2", "t3", "t4", "t5"}
	admin(t, s, "create "+strings.Join(names, " "), "link t1 t2 3; link t2 t3 0; link t3 t4 -2; link t4 t5 0; link t5 t1 7")
	var subs []*peers.Subscriber
	for _, mode := range []string{"oneway", "batch"} {
		subs = append(subs, peers.Subscribe(t, s, peers.CPP, strings.Join(names, ","), "--mode", mode, "--identity", mode,
			"--qos", "retryCount=4", "--qos", "connectionCached=1"))
	}
	links, all := list[api.Link](c.Nodes[0], t, "links"), list[api.Subscriber](c.Nodes[0], t, "subscribers")
	c.Kill()
	restart(t, c)
	for _, n := range c.Nodes {
		if diff := cmp.Diff(links, list[api.Link](n, t, "links")); diff != "" {
			t.Errorf("%s: links (-before +after):\n%s", n.ID, diff)
		}
		if diff := cmp.Diff(all, list[api.Subscriber](n, t, "subscribers")); diff != "" {
			t.Errorf("%s: subscribers (-before +after):\n%s", n.ID, diff)
		}
	}
	for i, name := range names {
		peers.Publish(t, service(c.Nodes[i%3]), peers.CPP, name, "--cost", "100", "--publisher-kind", "local")
	}
	// Each topic gets its own event, and those of links of cost 0.
	want := []string{"t1", "t2", "t3", "t3", "t4", "t5", "t5"}
	for _, sub := range subs {
		var got []string
		for _, e := range sub.WaitEvents(len(want)) {
			got = append(got, e.Topic)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// X04: a subscriber that moved while a node was down is found by that node at its new address only.
func TestNodeThatMissedASubscribersMove(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	n1, n3 := c.Nodes[0], c.Nodes[2]
	admin(t, service(n1), "create A")
	old := peers.Subscribe(t, service(n1), peers.CPP, "A", "--identity", "s1", "--mode", "oneway")
	n3.Stop()
	fresh := peers.Subscribe(t, service(n1), peers.CPP, "A", "--identity", "s1", "--again", "--qos", "retryCount=3")
	restart(t, c)
	floetest.Eventually(t, floetest.Patience, func() error {
		if c.WaitLeader() == n3 {
			return nil
		}
		if o := n1.Floe("transfer", n3.ID); o.Exit != 0 {
			return fmt.Errorf("%v", o)
		}
		return fmt.Errorf("%s does not lead yet", n3.ID)
	})
	peers.Publish(t, service(n3), peers.CPP, "A", "--count", "3", "--publisher-kind", "local")
	fresh.WaitEvents(3)
	if got := old.Events(); len(got) > 0 {
		t.Errorf("the old endpoint got %d events", len(got))
	}
}

// X06, X10: without a quorum a subscribe ends within its limit; with it the same identity can be subscribed, once, and
// nobody has to restart a node.
func TestSubscribeWithoutQuorum(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	leader, followers := c.WaitLeader(), c.Followers()
	s := service(leader)
	admin(t, s, "create A")
	const proxy = "s1 -o:tcp -h 127.0.0.1 -p 9"
	for _, n := range followers {
		n.Signal(syscall.SIGSTOP)
	}
	var lines []string
	var exit int
	d := took(func() { lines, exit = peers.Call(t, s, "subscribe", "A", proxy) })
	failure := lines[len(lines)-1]
	if exit != 1 || d > 7*time.Second || !strings.Contains(failure, "1 of 3 voters reachable") && !strings.Contains(failure, "unknown") {
		t.Errorf("after %v: exit %d, %q", d, exit, failure)
	}
	for _, n := range followers {
		n.Signal(syscall.SIGCONT)
	}
	c.WaitLeader()
	c.WaitVoters(3)
	lines, exit = peers.Call(t, s, "subscribe", "A", proxy)
	if exit != 0 && !strings.Contains(lines[len(lines)-1], "AlreadySubscribed") {
		t.Errorf("with quorum again: %q", lines)
	}
	waitSubscribers(t, c.Nodes, "A", "s1")
	call(t, s, "unsubscribe", "A", proxy)
	call(t, s, "subscribe", "A", proxy)
	waitSubscribers(t, c.Nodes, "A", "s1")
}

// G10, X09: destroying a topic races with subscribing to it and linking it, through three nodes. Nothing of it comes
// back, also not after a restart of all.
func TestDestroyRacesWithSubscribeAndLink(t *testing.T) {
	t.Parallel()
	const rounds = 200
	c := startThree(t)
	names := []string{}
	for i := range rounds {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	admin(t, service(c.Nodes[0]), "create u v "+strings.Join(names, " "))
	call(t, service(c.Nodes[0]), "subscribe", "v", "s1 -o:tcp -h 127.0.0.1 -p 9")
	c.WaitSame()
	admin(t, service(c.Nodes[1]), "destroy v")
	c.WaitSame()
	conns := []*ice.Conn{dial(t, c.Nodes[0]), dial(t, c.Nodes[1])}
	linker := c.Nodes[2].Client(floetest.Patience)
	subscriber, err := proto.ParseProxy("s1 -o:tcp -h 127.0.0.1 -p 9")
	if err != nil {
		t.Fatal(err)
	}
	subscribed, linked := 0, 0
	for _, name := range names {
		topic := proto.Identity{Category: "IceStorm", Name: "topic." + name}
		var destroyed, subscription, link error
		var racers sync.WaitGroup
		racers.Go(func() {
			_, destroyed = conns[0].Call(ice.Request{Identity: topic, Operation: "destroy"}, floetest.Patience)
		})
		racers.Go(func() { subscription = conns[1].Subscribe(topic, nil, subscriber, floetest.Patience) })
		racers.Go(func() {
			_, link = linker.Link(context.Background(), api.NewLink{From: name, To: "u"})
		})
		racers.Wait()
		if destroyed != nil {
			t.Fatalf("destroy %s: %v", name, destroyed)
		}
		if subscription == nil {
			subscribed++
		}
		if link == nil {
			linked++
		}
	}
	t.Logf("of %d rounds %d subscribed and %d linked before the topic went", rounds, subscribed, linked)
	checkOnlyU := func() {
		t.Helper()
		defer showCopies(t, c)
		c.WaitSame()
		for _, n := range c.Nodes {
			if got := n.Must("topics") + n.Must("links") + n.Must("subscribers"); got != "u\n" {
				t.Errorf("%s: topics, links and subscribers: got %q, want only u", n.ID, got)
			}
		}
	}
	checkOnlyU()
	c.Kill()
	restart(t, c)
	checkOnlyU()
}

// showCopies shows each node's own copy where the test failed.
func showCopies(t *testing.T, c *floetest.Cluster) {
	if !t.Failed() {
		return
	}
	for _, n := range c.Running() {
		status, err := n.Status()
		_, graph := floetest.Get(n.HTTP(), "/v1/graph?stale=1")
		_, subscribers := floetest.Get(n.HTTP(), "/v1/subscribers?stale=1")
		t.Logf("%s: index %d, digest %s (%v)\n%s\n%s", n.ID, status.AppliedIndex, status.Digest, err, graph, subscribers)
	}
}

func dial(t *testing.T, n *floetest.Node) *ice.Conn {
	t.Helper()
	c, err := ice.Dial(n.Ice(), floetest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// X12: a node with calls outstanding to hosts that answer nothing stops within its limit.
func TestStopWithSubscribersAtSilentHosts(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--stop-timeout", "2s")
	s := service(n)
	admin(t, s, "create A")
	host, port := silentHost(t)
	for i := range 20 {
		call(t, s, "subscribe", "A", fmt.Sprintf("s%d -t:%s", i, endpoint("tcp", host, port)), "retryCount=-1")
	}
	peers.Publish(t, s, peers.CPP, "A", "--count", "10")
	if d := took(n.Stop); d > 4*time.Second {
		t.Errorf("stopping took %v", d)
	}
	if !strings.Contains(n.Log(), "200 events were left undelivered") {
		t.Errorf("it does not say what was left:\n%s", n.Tail())
	}
}
