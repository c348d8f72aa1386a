package ops

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/transport/http/api"
)

// C03: a node that left and is started again idles and says so; the others notice nothing; join brings it back.
func TestLeaveAndComeBack(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	c.Nodes[0].Must("create", "kept")
	leader := c.WaitLeader()
	gone := c.Followers()[0]
	if out := gone.Must("leave"); !strings.Contains(out, "left") {
		t.Errorf("leave says %q", out)
	}
	if o := gone.AwaitEnd(); o.Exit != 0 {
		t.Errorf("after leave: %v", o)
	}
	c.WaitVoters(2)
	term := leader.WaitAnswering().Term

	gone.Start("--join", c.PeersWithout(gone))
	s := gone.WaitStatus("idle", func(s api.Status) bool { return s.Role == "left" })
	if !strings.Contains(strings.Join(s.Problems, "\n"), "left") {
		t.Errorf("problems of a node that left: %v", s.Problems)
	}
	if code, body := floetest.Get(gone.HTTP(), "/readyz"); code != 503 || !strings.Contains(body, "left") {
		t.Errorf("/readyz %d %q", code, body)
	}
	wantExit(t, gone.Floe("leave"), 4, "left")
	wantExit(t, gone.Floe("create", "x"), 4, "left")
	gone.Must("join", leader.Peer())
	c.WaitVoters(3)
	if got := names(t, gone, "--stale"); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("topics after coming back: %v", got)
	}
	if s := leader.WaitAnswering(); s.Leader != leader.ID || s.Term != term {
		t.Errorf("leader %s in term %d, before %s in %d", s.Leader, s.Term, leader.ID, term)
	}
}

// C04: removed from outside, it comes back with its data, without it, and under no name but its own.
func TestRemoveAndComeBack(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	gone := c.Followers()[0]
	c.WaitLeader().Must("remove", gone.ID)
	gone.WaitStatus("removed", func(s api.Status) bool { return s.Role == "removed" })
	c.WaitLeader().Must("create", "meanwhile")
	gone.Must("join", c.PeersWithout(gone))
	c.WaitVoters(3)

	c.WaitLeader().Must("remove", gone.ID)
	gone.WaitStatus("removed", func(s api.Status) bool { return s.Role == "removed" })
	gone.Stop()
	if err := os.RemoveAll(gone.Dir); err != nil {
		t.Fatal(err)
	}
	gone.Start("--join", c.PeersWithout(gone))
	c.WaitVoters(3)
	if got := names(t, gone, "--stale"); !slices.Equal(got, []string{"meanwhile"}) {
		t.Errorf("topics of the emptied node: %v", got)
	}
	c.WaitSame()
}

// C06: all leave, one after the other. The last one can't, keeps the data, and everybody comes back to it.
func TestAllNodesLeave(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	c.Nodes[0].Must("create", "kept")
	for _, n := range c.Nodes[:2] {
		n.Must("leave")
		n.AwaitEnd()
	}
	last := c.Nodes[2]
	c.WaitVoters(1)
	wantExit(t, last.Floe("leave"), 1, "node n3 is the last of its cluster", "stop it instead")
	last.Stop()
	for _, n := range c.Nodes {
		n.Start("--join", c.PeersWithout(n))
	}
	last.WaitReady()
	for _, n := range c.Nodes[:2] {
		n.WaitStatus("idle", func(s api.Status) bool { return s.Role == "left" })
		n.Must("join", last.Peer())
	}
	c.WaitVoters(3)
	for _, n := range c.Nodes {
		if got := names(t, n); !slices.Equal(got, []string{"kept"}) {
			t.Errorf("%s: topics %v", n.ID, got)
		}
	}
}

// C07: nodes leave and come back, every other time the leader, while others go on changing things.
func TestLeavingCostsNoService(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	for round := range 4 {
		gone := c.WaitLeader()
		if round%2 == 0 {
			gone = c.Followers()[0]
		}
		rest := slices.DeleteFunc(c.Running(), func(n *floetest.Node) bool { return n == gone })
		load := startCreating(t, rest, fmt.Sprintf("round%d-", round))
		load.wait(t, 5)
		gone.Must("leave")
		gone.AwaitEnd()
		load.wait(t, 5)
		gone.Start()
		gone.WaitStatus("idle", func(s api.Status) bool { return s.Role == "left" })
		gone.Must("join", rest[0].Peer())
		load.wait(t, 5)
		made := load.stop()
		t.Logf("round %d: longest gap %v over %d creates, %d failed", round, made.gap.Round(time.Millisecond), len(made.acked), len(made.failed))
		if made.gap > 5*time.Second { // 2 s on a machine of its own
			t.Errorf("round %d: no change was accepted for %v", round, made.gap)
		}
		c.WaitVoters(3)
		missing(t, c.Nodes[0], made.acked)
	}
}

// C18: online, offline, never seen since a restart, unknown; with and without quorum at risk.
func TestRemove(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 5)
	wantExit(t, c.Nodes[0].Floe("remove", "nobody"), 1, "node nobody is not in the cluster", "floe members")
	wantExit(t, c.Nodes[0].Floe("remove", "nobody", "--force"), 1, "node nobody is not in the cluster")
	wantExit(t, c.Nodes[0].Floe("remove", c.Nodes[1].Peer()), 1, "is not in the cluster")
	wantExit(t, c.Nodes[0].Floe("remove"), 2)
	wantExit(t, c.Nodes[0].Floe("remove", ""), 2)

	offline := c.Followers()[0]
	offline.Kill()
	c.WaitLeader().Must("remove", offline.ID)
	wantExit(t, c.WaitLeader().Floe("remove", offline.ID), 1, "not in the cluster")

	unseen := c.Followers()[0]
	c.Kill()
	for _, n := range c.Nodes {
		if n != unseen && n != offline {
			n.Start("--join", c.Peers())
		}
	}
	c.WaitLeader().Must("remove", unseen.ID)

	online := c.Followers()[0]
	leader := c.WaitLeader()
	term := leader.WaitAnswering().Term
	leader.Must("remove", online.ID, "--force") // though it is alive
	online.WaitStatus("removed", func(s api.Status) bool { return s.Role == "removed" })
	if s := leader.WaitAnswering(); s.Leader != leader.ID || s.Term != term || floetest.Voters(s) != 2 {
		t.Errorf("after a forced removal: leader %s in term %d, before %s in %d; %v", s.Leader, s.Term, leader.ID, term, s.Members)
	}
	offline.Start("--join", leader.Peer()) // a removed node learns it at its next start, and idles
	offline.WaitStatus("removed", func(s api.Status) bool { return s.Role == "removed" })

	// Two are left. What would cost quorum is refused, with or without a leader.
	other := slices.DeleteFunc(c.Followers(), func(n *floetest.Node) bool { return n == online || n == offline || n == leader })
	if len(other) != 1 {
		t.Fatalf("%d followers left", len(other))
	}
	other[0].Kill()
	leader.WaitStatus("without leader", func(s api.Status) bool { return s.Leader == "" })
	wantExit(t, leader.Floe("create", "x", "--timeout", "3s"), 4, "1 of 2 voters reachable")
	wantExit(t, leader.Floe("remove", other[0].ID, "--force"), 4, "1 of 2 voters reachable")
}

func TestRemoveThatWouldLoseQuorum(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	down := c.Followers()[0]
	down.Kill()
	leader := c.WaitLeader()
	up := c.Followers()[0]
	for _, id := range []string{up.ID, leader.ID} {
		wantExit(t, leader.Floe("remove", id), 1, "would lose quorum", "--force")
	}
	wantExit(t, up.Floe("leave"), 1, "would lose quorum")
	if s := leader.WaitAnswering(); floetest.Voters(s) != 3 {
		t.Errorf("members after the refusals: %v", s.Members)
	}
	leader.Must("remove", down.ID) // brings quorum nearer, so it needs no force
	leader.Must("create", "fine")
}

// R10: every transfer ends in time, with the target or the old leader leading.
func TestTransfer(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	watch := c.Add("watch", "--non-voter")
	watch.WaitReady()
	leader := c.WaitLeader()
	target := c.Followers()[0]
	if target == watch {
		target = c.Followers()[1]
	}
	load := startCreating(t, c.Nodes[:3], "during")
	wantExit(t, watch.Floe("transfer", leader.ID), 1, "node "+leader.ID+" is the leader already")
	wantExit(t, watch.Floe("transfer", "watch"), 1, "node watch has no vote and can't lead")
	wantExit(t, watch.Floe("transfer", "nobody"), 1, "node nobody is not in the cluster")
	wantExit(t, watch.Floe("transfer", ""), 2)
	stays(t, c, leader)

	target.Signal(syscall.SIGSTOP)
	o := watch.Floe("transfer", target.ID, "--timeout", "15s")
	if o.Exit != 1 || !strings.Contains(o.Stderr, "node "+target.ID+" does not answer") && !strings.Contains(o.Stderr, "leadership stays with "+leader.ID) {
		t.Errorf("transfer to a frozen node: %v", o)
	}
	target.Signal(syscall.SIGCONT)
	stays(t, c, leader)

	watch.Must("transfer", target.ID, "--timeout", "15s")
	stays(t, c, target)
	leader.Must("transfer", "--timeout", "15s")
	if now := c.WaitLeader(); now == target || now == watch {
		t.Errorf("after a transfer to anybody %s leads", now.ID)
	}
	made := load.stop()
	missing(t, c.Nodes[0], made.acked)
	t.Logf("longest gap under transfers: %v", made.gap)

	for _, n := range c.Nodes[:2] {
		n.Kill()
	}
	rest := c.Nodes[2]
	rest.WaitStatus("without leader", func(s api.Status) bool { return s.Leader == "" })
	wantExit(t, rest.Floe("transfer"), 4, "1 of 3 voters reachable")
}

// stays checks that the cluster agrees on that leader.
func stays(t *testing.T, c *floetest.Cluster, leader *floetest.Node) {
	t.Helper()
	if now := c.WaitLeader(); now != leader {
		t.Errorf("leader %s, want %s", now.ID, leader.ID)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	leader := c.WaitLeader()
	leader.Must("drain")
	if now := c.WaitLeader(); now == leader {
		t.Error("the drained node leads")
	}
	c.WaitVoters(3) // it stays a member
	leader.Must("create", "through-the-drained-one")
	leader.Must("drain")
	leader.Must("drain", "--undo")
	c.WaitLeader().Must("transfer", leader.ID)
	stays(t, c, leader)

	alone := floetest.NewNode(t, "alone")
	alone.Start()
	alone.WaitReady()
	alone.Must("drain") // nobody to hand over to: no error
	alone.Must("drain", "--undo")
	alone.Must("create", "T")
}

func TestJoinRefusals(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 2)
	wantExit(t, c.Nodes[1].Floe("join", c.Nodes[0].Peer()), 1, "node n2 is a member of cluster", "already")
	wantExit(t, c.Nodes[1].Floe("join", "nowhere"), 2, "nowhere")
	wantExit(t, c.Nodes[1].Floe("join"), 2)
	nobody := floetest.NewIP(t) + ":7400"
	if o := c.Nodes[1].Floe("join", nobody); o.Exit != 1 && o.Exit != 4 || !strings.Contains(o.Stderr, nobody) {
		t.Errorf("join of a silent address: %v", o)
	}

	// C11: two clusters in which somebody changed something.
	other := floetest.NewNode(t, "other")
	other.Start()
	other.WaitReady()
	other.Must("create", "theirs")
	c.Nodes[0].Must("create", "ours")
	ours, theirs := c.Nodes[0].WaitAnswering().ClusterID, other.WaitAnswering().ClusterID
	wantExit(t, other.Floe("join", c.Nodes[0].Peer()), 1, ours, theirs, "nothing was changed", "empty data directory")
	wantExit(t, c.Nodes[0].Floe("join", other.Peer()), 1, ours, theirs, "nothing was changed")
	if a, b := names(t, other), names(t, c.Nodes[1]); !slices.Equal(a, []string{"theirs"}) || !slices.Equal(b, []string{"ours"}) {
		t.Errorf("topics %v and %v after the refusals", a, b)
	}
	c.WaitVoters(2)

	// A one-node cluster in which nobody changed anything may.
	fresh := floetest.NewNode(t, "fresh")
	fresh.Start()
	fresh.WaitReady()
	fresh.Must("join", c.Nodes[1].Peer())
	c.Nodes = append(c.Nodes, fresh)
	c.WaitVoters(3)
	if got := names(t, fresh); !slices.Equal(got, []string{"ours"}) {
		t.Errorf("topics of the one that joined: %v", got)
	}
}

// C13: same address, new name, fresh data. The old name blocks nothing.
func TestNewNameAtAnOldAddress(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	old := c.Followers()[0]
	old.Kill()
	renamed := floetest.NewNode(t, "renamed")
	renamed.IP = old.IP
	c.Nodes = append(slices.DeleteFunc(c.Nodes, func(n *floetest.Node) bool { return n == old }), renamed)
	renamed.Start("--join", c.PeersWithout(renamed))
	c.WaitVoters(4)
	leader := c.WaitLeader()
	s := leader.WaitStatus("telling the two apart", func(s api.Status) bool {
		r := floetest.Roles(s)
		return r[old.ID] == "unreachable" && (r["renamed"] == "follower" || r["renamed"] == "leader")
	})
	if len(s.Members) != 4 {
		t.Errorf("members %v", s.Members)
	}
	leader.Must("remove", old.ID)
	c.WaitVoters(3)
	for _, n := range c.Nodes {
		n.WaitStatus("clean", func(s api.Status) bool { return len(s.Members) == 3 && len(s.Problems) == 0 })
	}
}

// C23, shortened: short-lived members pile up. They are listed, block nothing, and slow no join.
func TestDeadMembersPileUp(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	var took []time.Duration
	var dead []string
	for i := range 10 {
		n := floetest.NewNode(t, fmt.Sprintf("short%d", i))
		n.Start("--join", c.Peers(), "--non-voter")
		n.WaitReady()
		took = append(took, n.Since())
		n.Kill()
		dead = append(dead, n.ID)
	}
	t.Logf("joins took %v", took)
	if took[9] > 2*took[0]+2*time.Second {
		t.Errorf("the tenth join took %v, the first %v", took[9], took[0])
	}
	s := c.Nodes[0].WaitAnswering()
	for _, id := range dead {
		if floetest.Roles(s)[id] != "unreachable" {
			t.Errorf("dead node %s is %q", id, floetest.Roles(s)[id])
		}
	}
	if floetest.Voters(s) != 3 {
		t.Errorf("%d voters, want 3", floetest.Voters(s))
	}
	for _, id := range dead {
		c.Nodes[1].Must("remove", id)
	}
	for _, n := range c.Nodes {
		n.WaitStatus("clean", func(s api.Status) bool { return len(s.Members) == 3 && len(s.Problems) == 0 })
	}
}
