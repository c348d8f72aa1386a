package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/fsm"
)

// memberlist does not wait for its last probe, which ends by itself within its
// time-out.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}

// bubble runs a story in virtual time.
func bubble(t *testing.T, story func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// Virtual time in which memberlist's last probe ends; see TestMain.
		t.Cleanup(func() { time.Sleep(time.Minute) })
		story(t)
	})
}

func create(name string) fsm.Op { return fsm.CreateTopic{Name: name} }

// mustPropose makes a change through a node.
func mustPropose(t *testing.T, n *clustertest.Node, op fsm.Op) fsm.Result {
	t.Helper()
	r, err := n.Propose(t.Context(), op, "test")
	if err != nil {
		t.Fatalf("propose through %s: %v", n.Name, err)
	}
	return r
}

// waitTopics waits until all running nodes have that many topics.
func waitTopics(c *clustertest.Cluster, count int) {
	c.T.Helper()
	c.Wait(fmt.Sprintf("%d topics everywhere", count), func() error {
		for _, n := range c.Nodes {
			if got := n.View().Graph.Len(); n.Running() && got != count {
				return fmt.Errorf("%s has %d", n.Name, got)
			}
		}
		return nil
	})
}

// waitBarrier waits until all running nodes have the barrier that follows a change.
func waitBarrier(c *clustertest.Cluster, index uint64) {
	c.T.Helper()
	c.Wait("a barrier", func() error {
		for _, n := range c.Nodes {
			if n.Running() && n.View().Index <= index {
				return fmt.Errorf("%s is at %d", n.Name, n.View().Index)
			}
		}
		return nil
	})
}

func TestOneNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 1)
		n := c.Nodes[0]
		made := mustPropose(t, n, create("a"))
		if n.View().Graph.Topic("a") == nil {
			t.Error("the topic is not in the View that Propose waited for")
		}
		waitBarrier(c, made.Index)
		id, digest := n.View().ClusterID, n.View().Digest()
		n.Kill()
		n.Start()
		if got := n.View().Digest(); got != digest {
			t.Errorf("digest right after the start is %v, want %v", got, digest)
		}
		c.WaitReady()
		if got := n.View().ClusterID; got != id {
			t.Errorf("cluster id after a restart is %s, want %s", got, id)
		}
	})
}

func TestThreeNodes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		for i, n := range c.Nodes {
			name := string(rune('a' + i))
			mustPropose(t, n, create(name))
			if n.View().Graph.Topic(name) == nil {
				t.Errorf("%s does not read its own write", n.Name)
			}
		}
		for _, n := range c.Nodes {
			v, err := n.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := v.Graph.Len(); got != 3 {
				t.Errorf("%s reads %d topics, want 3", n.Name, got)
			}
		}
	})
}

// TestForwardedChangeIsFast: a follower learns of a commit at once, not with
// the next heartbeat.
func TestForwardedChangeIsFast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		f := c.Follower()
		start := time.Now()
		const changes = 20
		for i := range changes {
			mustPropose(t, f, create(fmt.Sprint(i)))
		}
		// Virtual time passes only where somebody waits for a timer.
		if took := time.Since(start); took > changes*30*time.Millisecond {
			t.Errorf("%d changes through a follower took %v", changes, took)
		}
	})
}

func TestRefusalTravels(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 2)
		mustPropose(t, c.Nodes[0], create("a"))
		for _, n := range c.Nodes {
			_, err := n.Propose(t.Context(), create("a"), "test")
			var r *fsm.Refusal
			if !errors.As(err, &r) || r.Name != "a" {
				t.Errorf("%s: a topic made twice: %v, want a refusal", n.Name, err)
			}
		}
	})
}

func TestNextChangeAfterLeaderDied(t *testing.T) {
	for _, timing := range []cluster.Timing{cluster.LAN, cluster.Fast} {
		bubble(t, func(t *testing.T) {
			c := clustertest.New(t, 3, func(cfg *cluster.Config) { cfg.Timing = timing })
			f := c.Follower()
			leader := c.Leader()
			start := time.Now()
			leader.Kill()
			mustPropose(t, f, create("a"))
			took := time.Since(start)
			t.Logf("election time-out %v: accepted after %v", timing.Election, took)
			if took > 5*timing.Election {
				t.Errorf("election time-out %v: accepted after %v", timing.Election, took)
			}
		})
	}
}

// TestChangesDuringElections: each change asked for is made once, whatever
// the leader does meanwhile.
func TestChangesDuringElections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		type outcome struct {
			name string
			err  error
		}
		outcomes := make(chan outcome)
		const workers, each = 6, 15
		for w := range workers {
			n := c.Nodes[w%3]
			go func() {
				for i := range each {
					name := fmt.Sprintf("%d-%d", w, i)
					_, err := n.Propose(ctx, create(name), "test")
					outcomes <- outcome{name, err}
				}
			}()
		}
		made, doubtful := map[string]bool{}, 0
		for got := range workers * each {
			o := <-outcomes
			var u *cluster.Unknown
			switch {
			case o.err == nil:
				made[o.name] = true
			case errors.As(o.err, &u): // an election that took very long
				doubtful++
			default:
				t.Errorf("topic %s: %v", o.name, o.err) // made twice would be a refusal
			}
			if got%30 == 10 {
				isolateLeader(c)
			}
			if got%30 == 20 {
				c.Network.HealAll()
			}
		}
		c.Network.HealAll()
		c.WaitReady()
		view, err := c.Nodes[0].Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name := range made {
			if view.Graph.Topic(name) == nil {
				t.Errorf("topic %s was acknowledged and is not there", name)
			}
		}
		t.Logf("%d made, %d unknown", len(made), doubtful)
		if got := view.Graph.Len(); got < len(made) || got > len(made)+doubtful || doubtful > workers {
			t.Errorf("%d topics, %d acknowledged, %d unknown", got, len(made), doubtful)
		}
		waitTopics(c, view.Graph.Len())
	})
}

func without(nodes []*clustertest.Node, one *clustertest.Node) []*clustertest.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *clustertest.Node) bool { return n == one })
}

func isolateLeader(c *clustertest.Cluster) {
	for _, n := range c.Nodes {
		if n.IsLeader() {
			c.Network.Isolate(n.Name, c.Names()...)
			return
		}
	}
}

func TestNoQuorum(t *testing.T) {
	for _, timing := range []cluster.Timing{cluster.LAN, cluster.WAN} {
		bubble(t, func(t *testing.T) {
			c := clustertest.New(t, 3, func(cfg *cluster.Config) { cfg.Timing = timing })
			n, leader := c.Follower(), c.Leader()
			mustPropose(t, n, create("a"))
			clustertest.Kill(without(c.Nodes, n)...)
			bound := min(2*timing.Election+time.Second, 4750*time.Millisecond)
			check := func(what string, f func() error) {
				start := time.Now()
				err := f()
				// The follower takes up to two heartbeats to notice the loss.
				if took := time.Since(start); took > bound+2*timing.Election || took > 4900*time.Millisecond { // an HTTP client waits for 5 s
					t.Errorf("%s: took %v", what, took)
				}
				var q *cluster.NoQuorum
				if !errors.As(err, &q) {
					t.Fatalf("%s: %v, want no quorum", what, err)
				}
				if want := "no quorum: 1 of 3 voters reachable, 2 needed, last leader " + leader.Name; !strings.HasPrefix(q.Error(), want) {
					t.Errorf("%s:\n got %s\nwant %s", what, q, want)
				}
			}
			check("read", func() error { _, err := n.Read(t.Context()); return err })
			check("change", func() error { _, err := n.Propose(t.Context(), create("b"), "test"); return err })
			if n.View().Graph.Topic("a") == nil {
				t.Error("the copy is gone")
			}
			if n.Ready() == nil {
				t.Error("ready without a leader")
			}
			for _, m := range n.Members(t.Context()) {
				if want := map[bool]string{true: "unreachable", false: m.Role}[m.ID != n.Name]; m.Role != want {
					t.Errorf("%s is %s, want %s", m.ID, m.Role, want)
				}
			}
		})
	}
}

// TestUnknown: a change handed to a leader that is cut off at once is called unknown.
func TestUnknown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		leader := c.Leader()
		c.Network.Isolate(leader.Name, c.Names()...)
		_, err := leader.Propose(t.Context(), create("a"), "test")
		var u *cluster.Unknown
		if !errors.As(err, &u) {
			t.Errorf("%v, want unknown", err)
		}
	})
}

// TestReadSeesOthersChanges: a read on any node has what was acknowledged on
// any other before.
func TestReadSeesOthersChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		for i := range 30 {
			name := fmt.Sprint(i)
			mustPropose(t, c.Nodes[i%3], create(name))
			v, err := c.Nodes[(i+1)%3].Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if v.Graph.Topic(name) == nil {
				t.Fatalf("read misses %s", name)
			}
		}
	})
}

// TestGroupCommit: changes in flight share their way to the disk. In a
// bubble only the number of entries per append can tell; see BenchmarkPropose.
func TestManyInFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 1)
		errs := make(chan error)
		const changes = 256
		for i := range changes {
			go func() {
				_, err := c.Nodes[0].Propose(t.Context(), create(fmt.Sprint(i)), "test")
				errs <- err
			}()
		}
		for range changes {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		waitTopics(c, changes)
	})
}
