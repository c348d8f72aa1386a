package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
)

// aged is a cluster of three in which a follower that is stopped has an older
// copy of its whole data directory, and something it acknowledged is missing.
func aged(t *testing.T) (c *clustertest.Cluster, old *clustertest.Node) {
	c = clustertest.New(t, 3)
	old = c.Follower()
	waitBarrier(c, mustPropose(t, c.Leader(), create("before")).Index)
	old.Stop()
	copied := t.TempDir()
	copyDir(t, copied, old.Config.DataDir)
	old.Start()
	c.WaitReady()
	waitBarrier(c, mustPropose(t, c.Leader(), create("after")).Index)
	waitTopics(c, 2)
	old.Kill()
	old.Config.DataDir = copied
	return c, old
}

// wantOlder waits for a node to end for being an older copy.
func wantOlder(t *testing.T, n *clustertest.Node) {
	t.Helper()
	var older *cluster.OlderData
	if err := n.Err(); !errors.As(err, &older) {
		t.Fatalf("got %v, want OlderData", err)
	}
	for _, want := range []string{n.Name, n.Config.DataDir, "older copy", "floe remove " + n.Name + " --force", "--join"} {
		if !strings.Contains(older.Error(), want) {
			t.Errorf("%q does not say %q", older, want)
		}
	}
}

// TestOlderCopyIsRefused: the whole directory of an earlier time, identity
// and all, is refused at the start, and the remedy it names works.
func TestOlderCopyIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, old := aged(t)
		old.Start()
		wantOlder(t, old)
		if got := old.Identity().VoteTerm; got > c.Leader().Term() {
			t.Errorf("voted in term %d", got)
		}
		if _, err := c.Leader().Remove(t.Context(), old.Name, true); err != nil {
			t.Fatal(err)
		}
		old.Config.DataDir = t.TempDir()
		old.Config.Join = c.Addresses()
		old.Start()
		c.WaitReady()
		c.WaitVoters(3)
		waitTopics(c, 2)
	})
}

// TestOlderCopyCutOff: an older copy that finds nobody serves what it has,
// and does not vote: not even when one of the others comes that it would be a
// majority with, and that has fewer votes to give than it needs.
func TestOlderCopyCutOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, old := aged(t)
		others := without(c.Nodes, old)
		clustertest.Kill(others...)
		old.Start()
		time.Sleep(time.Minute) // of virtual time
		if !old.Running() || old.View().Graph.Topic("before") == nil {
			t.Error("a node that is cut off does not serve its copy")
		}
		vote := old.Identity().VoteTerm
		others[0].Start() // knows it from its own disk
		wantOlder(t, old)
		if got := old.Identity().VoteTerm; got != vote {
			t.Errorf("voted in term %d", got)
		}
		others[1].Start()
		c.WaitReady()
		waitTopics(c, 2)
	})
}

// TestForgottenVoteIsRefused: a directory from before a vote, while nothing
// else was changed.
func TestForgottenVoteIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		f, leader := c.Follower(), c.Leader()
		made := mustPropose(t, leader, create("a"))
		waitBarrier(c, made.Index)
		f.Stop()
		copied := t.TempDir()
		copyDir(t, copied, f.Config.DataDir)
		f.Start()
		c.WaitReady()
		voted := f.Identity().VoteTerm
		for round := 0; f.Identity().VoteTerm == voted; round++ {
			if round == 20 {
				t.Fatal("it never votes")
			}
			l := c.Leader()
			if l == f {
				if err := l.Transfer(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				continue
			}
			target := leader
			if l == leader {
				target = without(without(c.Nodes, leader), f)[0]
			}
			if err := l.Transfer(t.Context(), target.Name); err != nil {
				t.Fatal(err)
			}
			c.WaitReady()
		}
		time.Sleep(time.Minute) // of virtual time: it has told the others
		f.Kill()
		f.Config.DataDir = copied
		f.Start()
		wantOlder(t, f)
	})
}

// TestRestartsAreNoOlderCopies: nodes that die in all ways, and those that
// were behind, come back.
func TestRestartsAreNoOlderCopies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		for round := range 12 {
			n := c.Nodes[round%3]
			for i := range 5 {
				mustPropose(t, c.Nodes[(round+1)%3], create(fmt.Sprintf("%d-%d", round, i)))
			}
			if round%2 == 0 {
				n.Kill()
			} else {
				n.Stop()
			}
			if round%4 == 3 {
				clustertest.Kill(c.Nodes...)
			}
			for _, n := range c.Nodes {
				if !n.Running() {
					n.Start()
				}
			}
			c.WaitReady()
		}
		waitTopics(c, 60)
	})
}
