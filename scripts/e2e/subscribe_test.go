package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/peers"
)

// W01: no text of retryCount is refused, and none blocks the identity.
func TestOddRetryCountsBlockNothing(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := service(n)
	admin(t, s, "create A")
	for i, text := range []string{"abc", "", "10abc", "-2"} {
		proxy := fmt.Sprintf("s%d -t:tcp -h 127.0.0.1 -p 9", i)
		call(t, s, "subscribe", "A", proxy, "retryCount="+text)
		call(t, s, "unsubscribe", "A", proxy)
		call(t, s, "subscribe", "A", proxy, "retryCount=3")
	}
	waitSubscribers(t, []*floetest.Node{n}, "A", "s0", "s1", "s2", "s3")
}

// W03: an identity that is subscribed stays so, whatever comes with the same name, until it is unsubscribed; then every
// node uses the new address.
func TestSubscriberThatMoves(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	n1, n2 := service(c.Nodes[0]), service(c.Nodes[1])
	admin(t, n1, "create A")
	old := peers.Subscribe(t, n1, peers.CPP, "A", "--identity", "s1", "--mode", "oneway")
	old.Kill()
	for _, proxy := range []string{"s1 -t:tcp -h 127.0.0.1 -p 9", "s1 -o:tcp -h 127.0.0.1 -p 9", "s1 -f facet:tcp -h 127.0.0.1 -p 9"} {
		lines, exit := peers.Call(t, n2, "subscribe", "A", proxy)
		if exit != 1 || !strings.Contains(lines[len(lines)-1], "AlreadySubscribed") {
			t.Errorf("%s: %q", proxy, lines)
		}
	}
	fresh := peers.Subscribe(t, n2, peers.CPP, "A", "--identity", "s1", "--mode", "oneway", "--again")
	waitCopies(t, c.Nodes, 1)
	for _, n := range c.Nodes {
		peers.Publish(t, service(n), peers.CPP, "A", "--publisher-kind", "local")
	}
	fresh.WaitEvents(len(c.Nodes))
	waitSubscribers(t, c.Nodes, "A", "s1")
}

// W05: every node answers as Finder, and what it names can be used.
func TestFinderOnEveryNode(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	admin(t, service(c.Nodes[0]), "create A")
	c.WaitSame()
	for _, n := range c.Nodes {
		if stdout, stderr, exit := peers.Admin(t, n.Ice(), "topics"); stdout != "A\n" || exit != 0 {
			t.Errorf("%s: exit %d, %q, %q", n.ID, exit, stdout, stderr)
		}
		ids := call(t, service(n), "call", "IceStorm/Finder:"+endpoint("tcp", n.IP, floetest.IcePort), "ice_ids")
		if text := fmt.Sprintf("%x", "::IceStorm::Finder"); !strings.Contains(ids[0], text) {
			t.Errorf("%s: ice_ids: %q", n.ID, ids)
		}
	}
}

// W07, W11: a retry count is taken for every kind of subscriber, and batches lose nothing.
func TestEveryKindOfSubscriberGetsAll(t *testing.T) {
	t.Parallel()
	s := service(startNode(t, "--flush-interval", "200ms"))
	admin(t, s, "create A")
	var subs []*peers.Subscriber
	for _, mode := range []string{"twoway", "ordered", "oneway", "batch", "datagram", "batchdatagram"} {
		subs = append(subs, peers.Subscribe(t, s, peers.CPP, "A", "--mode", mode, "--qos", "retryCount=5"))
	}
	peers.Publish(t, s, peers.CPP, "A", "--count", "50")
	for i, sub := range subs {
		got := seqs(sub.WaitEvents(50))
		if i == 0 { // five calls at a time: the only kind that may come in another order
			slices.Sort(got)
		}
		for seq, v := range got {
			if v != seq {
				t.Errorf("kind %d: event %d at place %d", i, v, seq)
				break
			}
		}
	}
	// The batch came as one burst, one flush interval after its first event.
	if first := subs[3].Events()[0]; first.Latency < 100*time.Millisecond {
		t.Errorf("the first event of a batch came after %v", first.Latency)
	}
}

// W08: a subscriber whose process is there and whose object is gone is removed at once on all nodes, with one line in
// the log; others stay.
func TestSubscriberWithoutItsObjectIsRemoved(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	s := service(c.Nodes[0])
	admin(t, s, "create A")
	peers.Subscribe(t, s, peers.CPP, "A", "--identity", "gone", "--behaviour", "object-not-exist", "--qos", "retryCount=-1")
	stays := peers.Subscribe(t, s, peers.CPP, "A", "--identity", "stays")
	waitCopies(t, c.Nodes, 2)
	peers.Publish(t, s, peers.CPP, "A", "--count", "2", "--publisher-kind", "local")
	waitSubscribers(t, c.Nodes, "A", "stays")
	peers.Publish(t, s, peers.CPP, "A", "--publisher-kind", "local")
	stays.WaitEvents(3)
	const removed = "dead receiver removed"
	c.Nodes[0].WaitLog(removed)
	lines := 0
	for _, n := range c.Nodes {
		lines += strings.Count(n.Log(), removed)
	}
	if lines != 1 {
		t.Errorf("%d lines say that it was removed, want 1", lines)
	}
}

// W10: what is published while a subscriber with endless retries is away is kept, within bounds, and comes in order when
// it is back within the discard interval.
func TestBacklogOfASubscriberThatComesBack(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--discard-interval", "20s", "--queue-events", "10")
	s := service(n)
	admin(t, s, "create A elsewhere")
	at := "tcp -h 127.0.0.1 -p " + freePort(t)
	first := peers.Subscribe(t, s, peers.CPP, "A", "--identity", "s1", "--mode", "oneway", "--endpoints", at, "--qos", "retryCount=-1")
	peers.Publish(t, s, peers.CPP, "A")
	first.WaitEvents(1)
	first.Kill()
	// The first failure is seen when something is sent; from then on what comes is kept.
	floetest.Eventually(t, floetest.Patience, func() error {
		peers.Publish(t, s, peers.CPP, "A", "--cost", "7")
		if v, err := metric(n, "floe_topic_receivers_failing", `topic="A"`); v != 1 || err != nil {
			return fmt.Errorf("not seen to fail: %v, %v", v, err)
		}
		return nil
	})
	peers.Publish(t, s, peers.CPP, "A", "--count", "15", "--cost", "8")
	// The same object at the same place, without subscribing it to A again.
	back := peers.Subscribe(t, s, peers.CPP, "elsewhere", "--identity", "s1", "--mode", "oneway", "--endpoints", at)
	if got, want := seqs(back.WaitEvents(10)), []int{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}; !slices.Equal(got, want) {
		t.Errorf("backlog: got %v, want %v", got, want)
	}
	if got := mustMetric(t, n, "floe_events_dropped_total", `reason="queue_full"`); got < 5 {
		t.Errorf("%v dropped, want at least 5", got)
	}
	waitSubscribers(t, []*floetest.Node{n}, "A", "s1")
}

// W12: a subscriber fed only through its own publisher is removed by the same rules.
func TestSubscriberFedByItsOwnPublisherIsRemoved(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := service(n)
	admin(t, s, "create A")
	refused := "s1 -t:tcp -h 127.0.0.1 -p " + freePort(t)
	publisher := answer(t, call(t, s, "subscribe", "A", refused), "publisher")
	call(t, s, "call", publisher, "anything")
	waitSubscribers(t, []*floetest.Node{n}, "A")
}

// S01: a stopped subscriber with endless retries costs bounded memory; what does not fit is counted.
func TestStoppedSubscriberCostsBoundedMemory(t *testing.T) {
	t.Parallel()
	const events, size, bound = 30_000, 4 << 10, 16 << 20
	n := startNode(t, "--queue-bytes", fmt.Sprint(bound))
	s := service(n)
	admin(t, s, "create A")
	sub := peers.Subscribe(t, s, peers.CPP, "A", "--qos", "retryCount=-1", "--print", "summary")
	fast := peers.Subscribe(t, s, peers.CPP, "A", "--mode", "oneway", "--print", "summary")
	sub.Signal(syscall.SIGSTOP)
	peers.Publish(t, s, peers.CPP, "A", "--count", fmt.Sprint(events), "--size", fmt.Sprint(size))
	waitMetric(t, n, func(v float64) bool { return v == 2*events }, "floe_events_offered_total", `face="ice"`)
	waitMetric(t, n, func(v float64) bool { return v <= bound/size }, "floe_events_queued", `face="ice"`)
	// Twice the queue, as the garbage collector lets it, and some; all events together would be 117 MiB.
	if heap := mustMetric(t, n, "go_memstats_heap_alloc_bytes"); heap > 2*bound+16<<20 {
		t.Errorf("the heap has %.0f MB", heap/1e6)
	}
	if got := mustMetric(t, n, "floe_events_dropped_total", `reason="queue_full"`); got < events-bound/size-100 {
		t.Errorf("%v dropped, want nearly %d", got, events)
	}
	if got := fast.Summary("A"); got.Count != events || got.Gaps != 0 {
		t.Errorf("the other subscriber: %+v", got)
	}
	sub.Signal(syscall.SIGCONT)
}

// S03: at its limit a queue drops the oldest, or its subscriber, on all nodes, whatever its retries.
func TestQueuePolicies(t *testing.T) {
	t.Parallel()
	start := func(policy string) (*floetest.Cluster, peers.Service, *peers.Subscriber) {
		c := startThree(t, "--queue-events", "100", "--queue-policy", policy)
		s := service(c.Nodes[0])
		admin(t, s, "create A")
		sub := peers.Subscribe(t, s, peers.CPP, "A", "--identity", "s1", "--mode", "ordered", "--qos", "retryCount=-1")
		sub.Signal(syscall.SIGSTOP)
		peers.Publish(t, s, peers.CPP, "A", "--count", "300", "--publisher-kind", "local")
		return c, s, sub
	}
	c, _, sub := start("drop-oldest")
	waitMetric(t, c.Nodes[0], func(v float64) bool { return v == 200 }, "floe_events_dropped_total", `reason="queue_full"`)
	sub.Signal(syscall.SIGCONT)
	got := seqs(sub.WaitEvents(100))
	if len(got) != 100 || got[0] != 200 || !slices.IsSorted(got) || got[99] != 299 {
		t.Errorf("got %v, want 200 to 299", got)
	}
	waitSubscribers(t, c.Nodes, "A", "s1")

	c, _, _ = start("remove-subscriber")
	waitSubscribers(t, c.Nodes, "A")
}
