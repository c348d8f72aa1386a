package ops

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"floe/scripts/floetest"
	"floe/transport/http/api"
)

func TestStartAloneFoundsACluster(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "")
	n.Start()
	n.WaitReady()
	s := n.WaitAnswering()
	if s.ClusterID == "" || s.Leader != s.Node || floetest.Voters(s) != 1 || len(s.Problems) != 0 {
		t.Errorf("status of a lone node: %+v", s)
	}
	n.Stop()
	n.Start()
	n.WaitReady()
	if again := n.WaitAnswering(); again.Node != s.Node || again.ClusterID != s.ClusterID {
		t.Errorf("after a restart node %s of cluster %s, before %s of %s", again.Node, again.ClusterID, s.Node, s.ClusterID)
	}
}

func TestJoinThroughAnyNode(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 2)
	leader := c.WaitLeader()
	for i, through := range []*floetest.Node{c.Followers()[0], leader} {
		n := floetest.NewNode(t, fmt.Sprintf("j%d", i))
		n.Start("--join", through.Peer())
		c.Nodes = append(c.Nodes, n)
		c.WaitVoters(3 + i)
	}
}

// Every order of the three starts, the last one late: after the others have met.
func TestBootstrapExpectInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			c := floetest.NewCluster(t, 3)
			for _, i := range order[:2] {
				c.Nodes[i].Start("--join", c.Peers(), "--bootstrap-expect", "3")
			}
			for _, i := range order[:2] {
				s := c.Nodes[i].WaitStatus("waiting for the third", func(s api.Status) bool {
					return strings.Contains(strings.Join(s.Problems, "\n"), "here so far: 2 of the 3 nodes")
				})
				if s.ClusterID != "" {
					t.Fatalf("two of three founded cluster %s", s.ClusterID)
				}
			}
			c.Nodes[order[2]].Start("--join", c.Peers(), "--bootstrap-expect", "3")
			c.WaitVoters(3)
			oneCluster(t, c)
		})
	}
}

// oneCluster checks that all running nodes name the same cluster, and returns its id.
func oneCluster(t *testing.T, c *floetest.Cluster) string {
	t.Helper()
	ids := map[string]bool{}
	id := ""
	for _, n := range c.Running() {
		id = n.WaitAnswering().ClusterID
		ids[id] = true
	}
	if len(ids) != 1 || id == "" {
		t.Fatalf("clusters %v, want one", ids)
	}
	return id
}

// C10: the flags of the first start stay in the unit file.
func TestBootstrapFlagsLeftInPlace(t *testing.T) {
	t.Parallel()
	c := floetest.NewCluster(t, 3)
	flags := func() []string { return []string{"--join", c.Peers(), "--bootstrap-expect", "3"} }
	for _, n := range c.Nodes {
		n.Start(flags()...)
	}
	c.WaitVoters(3)
	id := oneCluster(t, c)
	c.Nodes[0].Must("create", "kept")
	for round := range 10 {
		cut := c.Nodes[round%3]
		c.Kill()
		for _, n := range c.Nodes {
			if n != cut || round%2 == 0 {
				n.Start(flags()...)
			}
		}
		for _, n := range c.Running() {
			n.WaitReady()
			n.WaitLog("--bootstrap-expect and --non-voter change nothing")
		}
		if !cut.Running() { // it meets the others only now
			cut.Start(flags()...)
			cut.WaitReady()
		}
		if now := oneCluster(t, c); now != id {
			t.Fatalf("round %d: cluster %s, before %s", round, now, id)
		}
	}
	c.WaitVoters(3)
	if got := names(t, c.Nodes[1]); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("topics %v after ten restarts", got)
	}
}

// A node that restarts alone with the bootstrap flags must not found another cluster.
func TestBootstrapFlagsOnACutOffNode(t *testing.T) {
	t.Parallel()
	c := floetest.NewCluster(t, 3)
	for _, n := range c.Nodes {
		n.Start("--join", c.Peers(), "--bootstrap-expect", "3")
	}
	c.WaitVoters(3)
	id := oneCluster(t, c)
	c.Kill()
	alone := c.Nodes[2]
	alone.Start("--join", c.Peers(), "--bootstrap-expect", "3")
	s := alone.WaitStatus("without quorum", func(s api.Status) bool { return len(s.Problems) > 0 })
	if s.ClusterID != id || s.Leader != "" {
		t.Errorf("alone in cluster %q with leader %q, want %q and none", s.ClusterID, s.Leader, id)
	}
}

func TestNonVoterStaysOne(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 1)
	watch := floetest.NewNode(t, "watch")
	watch.Start("--join", c.Nodes[0].Peer(), "--non-voter")
	watch.WaitReady()
	c.Nodes[0].Must("create", "seen")
	if got := names(t, watch); !slices.Equal(got, []string{"seen"}) {
		t.Errorf("the non-voter has topics %v", got)
	}
	watch.Must("create", "forwarded")
	watch.Kill()
	watch.Start() // the flag is of the first start
	watch.WaitReady()
	s := watch.WaitStatus("a non-voter", func(s api.Status) bool { return s.Role == "non-voter" })
	if floetest.Voters(s) != 1 {
		t.Errorf("%d voters, want 1", floetest.Voters(s))
	}
	wantExit(t, c.Nodes[0].Floe("transfer", "watch"), 1, "node watch has no vote")
	// Its end costs no quorum, and the leader's end leaves it without one, never a leader.
	c.Nodes[0].Kill()
	watch.WaitStatus("without leader", func(s api.Status) bool { return s.Leader == "" && s.Role == "non-voter" })
	wantExit(t, watch.Floe("create", "refused"), 4, "0 of 1 voters reachable")
}

// C21: alive and ready are told apart, before joining, as leader, as follower and without quorum; no node has to be ready
// for another to start.
func TestReadySignals(t *testing.T) {
	t.Parallel()
	c := floetest.NewCluster(t, 2)
	check := func(n *floetest.Node, want int, reason string) {
		t.Helper()
		if code, body := floetest.Get(n.HTTP(), "/readyz"); code != want || !strings.Contains(body, reason) {
			t.Errorf("node %s: /readyz %d %q, want %d %q", n.ID, code, body, want, reason)
		}
		if code, body := floetest.Get(n.HTTP(), "/healthz"); code != 200 {
			t.Errorf("node %s: /healthz %d %q", n.ID, code, body)
		}
	}
	first, second := c.Nodes[0], c.Nodes[1]
	first.Start("--join", c.Peers(), "--bootstrap-expect", "2")
	first.WaitAnswering()
	check(first, 503, "in no cluster yet")
	second.Start("--join", c.Peers(), "--bootstrap-expect", "2")
	c.WaitVoters(2)
	for _, n := range c.Nodes {
		n.WaitReady()
		check(n, 200, "ready")
	}
	second.Kill()
	first.WaitStatus("without a leader", func(s api.Status) bool { return s.Leader == "" })
	check(first, 503, "leader")
}

// C08: the join list names the node itself, or nobody who answers.
func TestJoinLists(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	leader := c.WaitLeader()
	leader.Kill()
	leader.Start("--join", c.Peers())
	leader.WaitReady()
	c.WaitVoters(3)

	lost := floetest.NewNode(t, "lost")
	nowhere := floetest.NewIP(t) + ":7400"
	lost.Start("--join", nowhere)
	s := lost.WaitStatus("saying who does not answer", func(s api.Status) bool {
		return strings.Contains(strings.Join(s.Problems, "\n"), "no answer from "+nowhere)
	})
	if s.Node != "lost" || s.ClusterID != "" {
		t.Errorf("status %+v", s)
	}
	if code, body := floetest.Get(lost.HTTP(), "/healthz"); code != 200 {
		t.Errorf("/healthz %d %s", code, body)
	}
	if code, body := floetest.Get(lost.HTTP(), "/readyz"); code != 503 || body == "" {
		t.Errorf("/readyz %d %q, want 503 and a reason", code, body)
	}
	wantExit(t, lost.Floe("create", "early"), 4, "lost")
	host, _, _ := strings.Cut(nowhere, ":")
	late := floetest.NewNode(t, "late")
	late.IP = host
	late.Start("--join", c.Peers())
	c.Nodes = append(c.Nodes, late, lost)
	c.WaitVoters(5) // lost has tried again until somebody was there
}

func TestMalformedStartFlags(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "bad")
	for _, flags := range [][]string{
		{"--join", "nowhere"}, {"--join", "127.0.0.1:"}, {"--join", "127.0.0.1:99999"}, {"--join", ""}, {"--join", "127.0.0.1:7400,,127.0.0.2:7400"},
		{"--join", "::1:7400"}, {"--peer", "x"}, {"--peer", "off"}, {"--http", "127.0.0.1"}, {"--ice", "127.0.0.1:-1"}, {"--bind", "host"},
		{"--advertise", "0.0.0.0"}, {"--advertise", "name"}, {"--bootstrap-expect", "3"}, {"--bootstrap-expect", "x", "--join", "127.0.0.1:7400"},
		{"--bootstrap-expect", "1", "--join", "127.0.0.1:7400"}, {"--timing", "slow"}, {"--queue-events", "0"}, {"--allow-from", "10.0.0.0/33"},
		{"--disk-stall", "-1s"}, {"--id", "a b"}, {"--id", "-x"}, {"--bootstrap-expect", "3", "--non-voter", "--join", "127.0.0.1:7400"}, {"surplus"},
	} {
		o := n.StartRefused(flags...)
		if o.Exit != 2 || !strings.Contains(o.Stderr, "error: ") || strings.Contains(o.Stderr, "goroutine ") {
			t.Errorf("%q: exit %d, want 2 and an error: %s", flags, o.Exit, o.Stderr)
		}
	}
	noData(t, n)
}

// C19: listening everywhere.
func TestListeningEverywhere(t *testing.T) {
	t.Parallel()
	open := []string{"--insecure", "--allow-from", "127.0.0.0/8"}
	for _, c := range []struct {
		name  string
		flags []string
		said  []string
	}{
		{"needs --insecure", []string{"--bind", "0.0.0.0", "--allow-from", "127.0.0.0/8"}, []string{"--insecure=peer"}},
		{"needs --allow-from", []string{"--bind", "0.0.0.0", "--insecure"}, []string{"--allow-from"}},
		{"ipv6 needs --insecure", []string{"--peer", "[::]:0"}, []string{"--insecure=peer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := floetest.NewNode(t, "open")
			wantExit(t, n.StartRefused(c.flags...), 2, c.said...)
			noData(t, n)
		})
	}
	for _, at := range []string{"0.0.0.0:0", "[::]:0"} {
		t.Run(at, func(t *testing.T) {
			n := floetest.NewNode(t, "open", append(open, "--peer", at, "--ice", at, "--http", "127.0.0.1:0")...)
			n.Start()
			unspecified(t, n)
		})
		t.Run(at+" with --advertise", func(t *testing.T) {
			n := floetest.NewNode(t, "open", append(open, "--peer", at, "--ice", at, "--advertise", "127.0.0.1")...)
			n.Start()
			n.WaitReady()
			noneUnspecified(t, n)
		})
	}
}

// unspecified checks a node that listens everywhere and was not told what to advertise: where the machine leaves no
// choice it starts, else it names the setting that is missing.
func unspecified(t *testing.T, n *floetest.Node) {
	t.Helper()
	n.WaitLog("") // it has begun
	n.IP = "127.0.0.1"
	floetest.Eventually(t, floetest.Patience, func() error {
		if n.Running() && !strings.Contains(n.Log(), "listening for http") {
			return fmt.Errorf("neither started nor refused: %s", n.Log())
		}
		return nil
	})
	if !n.Running() {
		wantExit(t, n.AwaitEnd(), 1, "no address to advertise", "--advertise IP")
		noData(t, n)
		return
	}
	noneUnspecified(t, n)
}

// noneUnspecified checks what the node tells others about itself.
func noneUnspecified(t *testing.T, n *floetest.Node) {
	t.Helper()
	at := n.HTTP()
	if _, rest, ok := strings.Cut(n.Log(), "listening for http "); ok {
		rest, _, _ = strings.Cut(rest, "\n")
		at = strings.TrimSpace(rest)
	}
	floetest.Eventually(t, floetest.Patience, func() error {
		code, body := floetest.Get(at, "/v1/members")
		if code != 200 || !strings.Contains(body, `"leader"`) {
			return fmt.Errorf("members: %d %s", code, body)
		}
		for _, never := range []string{"0.0.0.0", "[::]", "-h ::"} {
			if strings.Contains(body, never) {
				t.Fatalf("members are told %s: %s", never, body)
			}
		}
		return nil
	})
}
