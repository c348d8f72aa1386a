package ops

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/suite/ice"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

// C01: a node comes back under another address.
func TestNodeComesBackElsewhere(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	moved := c.Followers()[0]
	old := moved.Peer()
	moved.Kill()
	moved.Move()
	moved.Start("--join", c.Peers())
	c.WaitVoters(3)
	for _, n := range c.Nodes {
		s := n.WaitStatus("at the new address", func(s api.Status) bool { return addressOf(s, moved.ID) == moved.Peer() })
		if len(s.Members) != 3 || floetest.Roles(s)[moved.ID] != "follower" {
			t.Errorf("%s sees %v", n.ID, s.Members)
		}
		if out := n.Must("members", "--json"); strings.Contains(out, old) {
			t.Errorf("%s still names %s: %s", n.ID, old, out)
		}
	}
	// The old address is free for others.
	c.WaitLeader().Must("transfer", moved.ID)
	moved.Must("create", "through-the-moved-one")
}

func addressOf(s api.Status, id string) string {
	for _, m := range s.Members {
		if m.ID == id {
			return m.Address
		}
	}
	return ""
}

// All at once, elsewhere; then a majority; without anything but a join list that reaches somebody.
func TestAllNodesComeBackElsewhere(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	c.Nodes[0].Must("create", "A", "B")
	c.Nodes[1].Must("link", "A", "B", "-3")
	before := identities(t, c.Nodes[0])
	for _, moves := range [][]int{{0, 1, 2}, {0, 2}} {
		for _, i := range moves {
			c.Nodes[i].Kill()
		}
		for _, i := range moves {
			c.Nodes[i].Move()
		}
		for _, i := range moves {
			c.Nodes[i].Start("--join", c.Peers())
		}
		c.WaitVoters(3)
		for _, n := range c.Nodes {
			if got := identities(t, n); got != before {
				t.Errorf("%s: topics now %s, before %s", n.ID, got, before)
			}
			if got := n.Must("links"); got != "A to B with cost -3\n" {
				t.Errorf("%s: links %q", n.ID, got)
			}
		}
	}
	c.WaitSame()
}

// identities is the list of topics with their ids.
func identities(t *testing.T, n *floetest.Node) string {
	t.Helper()
	return n.Must("topics", "--json")
}

func TestMajorityRestarts(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	c.Nodes[0].Must("create", "kept")
	leader := c.WaitLeader()
	other := c.Followers()[0]
	leader.Kill()
	other.Kill()
	leader.Start()
	other.Start()
	c.WaitVoters(3)
	for _, n := range c.Nodes {
		if got := names(t, n); !slices.Equal(got, []string{"kept"}) {
			t.Errorf("%s: topics %v", n.ID, got)
		}
	}
}

// What programs need in order to start, and publishing, go on from the last applied state, also on a node that restarts
// when the others are gone for good.
func TestCutOffNodeServesItsLastState(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	survivor := c.Followers()[0]
	survivor.Must("create", "first")
	survivor.Must("create", "last")
	changed := survivor.WaitAnswering().AppliedIndex
	// After a second of quiet an entry covers the last change on every disk.
	survivor.WaitStatus("past the last change", func(s api.Status) bool { return s.AppliedIndex > changed })
	c.Kill()
	survivor.Start("--join", c.Peers())
	survivor.WaitStatus("looking for the others", func(s api.Status) bool { return s.Role == "follower" || s.Role == "candidate" })

	o := survivor.Floe("topics")
	wantExit(t, o, 4, "1 of 3 voters reachable")
	if o.Took > 5*time.Second {
		t.Errorf("topics without quorum took %v", o.Took)
	}
	o = survivor.Floe("create", "refused")
	wantExit(t, o, 4, "1 of 3 voters reachable")
	if o.Took > 5*time.Second {
		t.Errorf("create without quorum took %v", o.Took)
	}
	o = survivor.Floe("topics", "--stale")
	if o.Exit != 0 || o.Stdout != "first\nlast\n" || !strings.Contains(o.Stderr, survivor.ID) {
		t.Errorf("topics --stale: %v", o)
	}
	if code, body := floetest.Get(survivor.HTTP(), "/readyz"); code != 503 || !strings.Contains(body, "leader") {
		t.Errorf("/readyz %d %q, want 503 and the reason", code, body)
	}
	publishAlone(t, survivor, "last")
}

// publishAlone publishes over Ice and natively on a node without quorum, and receives both.
func publishAlone(t *testing.T, n *floetest.Node, topic string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), floetest.Patience)
	defer cancel()
	sub, err := n.Client(floetest.Patience).Subscribe(ctx, []string{topic})
	if err != nil {
		t.Fatalf("subscribe without quorum: %v", err)
	}
	defer sub.Close()
	conn, err := ice.Dial(n.Ice(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	proxy, err := conn.TopicProxy(topic, 5*time.Second)
	if err != nil {
		t.Fatalf("retrieve without quorum: %v", err)
	}
	publisher, err := conn.Publisher(proxy.Identity, 5*time.Second)
	if err != nil {
		t.Fatalf("getPublisher without quorum: %v", err)
	}
	if _, err := conn.Call(ice.Request{Identity: publisher.Identity, Operation: "hello", Encaps: ice.Text("x")}, 5*time.Second); err != nil {
		t.Fatalf("publish without quorum: %v", err)
	}
	n.Must("pub", topic, "native")
	for _, want := range []string{"hello", "message"} {
		if got, err := nextEvent(sub); err != nil || got.Operation != want {
			t.Fatalf("event %+v, %v, want operation %s", got, err, want)
		}
	}
}

// nextEvent returns the next event of a stream.
func nextEvent(s *client.Stream) (*api.Received, error) {
	for {
		e, err := s.Next()
		if err != nil || e.Received != nil {
			return e.Received, err
		}
	}
}

// X01: the node that was down when the last change was made comes back first.
func TestStaleNodeComesBackFirst(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	stale := c.Followers()[0]
	c.Nodes[0].Must("create", "A", "B") // the second carries to every disk that all three are voters
	stale.WaitStatus("has both", func(s api.Status) bool { return s.Topics == 2 })
	stale.Kill()
	c.Running()[0].Must("create", "T")
	c.Kill()
	stale.Start("--join", c.Peers())
	stale.WaitStatus("looking for the others", func(s api.Status) bool { return s.Role == "follower" || s.Role == "candidate" })
	wantExit(t, stale.Floe("create", "alone"), 4, "1 of 3 voters reachable")
	c.Restart()
	c.WaitVoters(3)
	for _, n := range c.Nodes {
		if got := names(t, n); !slices.Equal(got, []string{"A", "B", "T"}) {
			t.Errorf("%s: topics %v, want A, B and T", n.ID, got)
		}
	}
}

// R18: a read right after a restart has all that was acknowledged, or says that it can't tell.
func TestReadRightAfterARestart(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "n1")
	n.Start()
	n.WaitReady()
	c := n.Client(5 * time.Second)
	for round := range 25 {
		if _, err := c.Create(t.Context(), string(rune('a'+round))); err != nil {
			t.Fatal(err)
		}
		n.Kill()
		n.Start()
		floetest.Eventually(t, floetest.Patience, func() error {
			got, err := c.Topics(t.Context())
			if err == nil && len(got) != round+1 {
				t.Fatalf("round %d: %d topics right after the restart, want %d", round, len(got), round+1)
			}
			return err
		})
	}
}

// C16: a node that was off is taken back without anybody's help.
func TestNodeThatWasOffIsTakenBack(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	off := c.WaitLeader()
	off.Kill()
	rest := c.Followers()
	for _, n := range c.Running() {
		n.WaitStatus("noticing", func(s api.Status) bool { return floetest.Roles(s)[off.ID] == "unreachable" })
	}
	rest[0].Must("create", "meanwhile")
	off.Start()
	c.WaitVoters(3)
	off.WaitStatus("a follower", func(s api.Status) bool { return s.Role == "follower" })
	if got := names(t, off, "--stale"); !slices.Equal(got, []string{"meanwhile"}) {
		t.Errorf("topics of the node taken back: %v", got)
	}
}

// C14, shortened: five nodes at once.
func TestFiveNodesRestartAtOnce(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 5)
	for range 3 {
		c.Kill()
		c.Restart()
		for _, n := range c.Nodes {
			n.WaitStatus("seeing five alive", func(s api.Status) bool {
				for _, role := range floetest.Roles(s) {
					if role != "leader" && role != "follower" {
						return false
					}
				}
				return len(s.Members) == 5
			})
		}
	}
}
