package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/cluster/logstore"
)

// poisoned is a cluster whose log has an entry that no node can apply, with
// changes before and one behind it.
func poisoned(t *testing.T) (c *clustertest.Cluster, index uint64) {
	c = clustertest.New(t, 3)
	mustPropose(t, c.Nodes[0], create("before"))
	index = c.Leader().ApplyRaw([]byte("not a command"))
	for _, n := range c.Nodes {
		waitProblem(c, n, fmt.Sprintf("entry %d could not be applied", index))
		waitProblem(c, n, fmt.Sprintf("floe recover --skip %d", index))
		if n.Ready() == nil || n.View().Graph.Topic("before") == nil {
			t.Errorf("%s: ready, or without the state before the entry", n.Name)
		}
	}
	return c, index
}

// TestSkip: an entry that stops every node is skipped on each of them, and
// all goes on, for nodes that enter later too.
func TestSkip(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, index := poisoned(t)
		if _, err := c.Nodes[0].Propose(t.Context(), create("x"), "test"); err == nil || !strings.Contains(err.Error(), "could not be applied") {
			t.Errorf("a change meanwhile: %v", err)
		}
		var locked *logstore.LockedError
		if _, err := cluster.Skip(c.Nodes[0].Config.DataDir, index); !errors.As(err, &locked) {
			t.Errorf("while it runs: %v", err)
		}
		for _, n := range c.Nodes {
			n.Stop()
		}
		for _, n := range c.Nodes {
			s, err := cluster.Skip(n.Config.DataDir, index)
			if err != nil || s.Node != n.Name {
				t.Fatalf("%+v, %v", s, err)
			}
			if b, err := os.ReadFile(s.Copy); err != nil || string(b) != "not a command" {
				t.Errorf("kept %q, %v", b, err)
			}
			if s, err := cluster.Skip(n.Config.DataDir, index); err != nil || s.Copy != "" {
				t.Errorf("a second time: %+v, %v", s, err)
			}
		}
		for _, n := range c.Nodes {
			n.Start()
		}
		c.WaitReady()
		mustPropose(t, c.Nodes[0], create("after"))
		c.Add() // gets the log from its beginning
		c.WaitReady()
		c.WaitVoters(4)
		waitTopics(c, 2)
		for _, n := range c.Nodes {
			if got, want := n.View().Digest(), c.Nodes[0].View().Digest(); got != want {
				t.Errorf("%s: digest %v, want %v", n.Name, got, want)
			}
		}
	})
}

// TestSkipForgottenOnOneNode: that one stays stopped and says why, also when
// it was to lead.
func TestSkipForgottenOnOneNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, index := poisoned(t)
		for _, n := range c.Nodes {
			n.Stop()
		}
		forgotten := c.Nodes[0]
		for _, n := range c.Nodes[1:] {
			if _, err := cluster.Skip(n.Config.DataDir, index); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range c.Nodes {
			n.Start()
		}
		c.Wait("the others", func() error {
			_, err := c.Nodes[1].Propose(t.Context(), create("after"), "test")
			return err
		})
		waitProblem(c, forgotten, fmt.Sprintf("floe recover --skip %d", index))
		if leader := c.Leader(); leader != forgotten {
			if err := leader.Transfer(t.Context(), forgotten.Name); err != nil {
				t.Fatal(err)
			}
		}
		c.Wait("changes, though it was to lead", func() error {
			_, err := c.Nodes[1].Propose(t.Context(), create("later"), "test")
			return err
		})
		forgotten.Stop()
		if _, err := cluster.Skip(forgotten.Config.DataDir, index); err != nil {
			t.Fatal(err)
		}
		forgotten.Start()
		c.WaitReady()
		waitTopics(c, 3)
	})
}

// TestSkipIsRefused for what is no such entry, and changes nothing.
func TestSkipIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 1, func(cfg *cluster.Config) { cfg.SnapshotThreshold, cfg.SnapshotInterval = 5, 100*time.Millisecond })
		n := c.Nodes[0]
		for i := range 20 {
			mustPropose(t, n, create(fmt.Sprint(i)))
		}
		c.Wait("a snapshot", func() error {
			if n.Figures().SnapshotIndex == 0 {
				return errors.New("none")
			}
			return nil
		})
		snapshot, last := n.Figures().SnapshotIndex, n.Figures().LastIndex
		n.Stop()
		for index, want := range map[uint64]string{0: "snapshot", snapshot: "in the snapshot at", last + 50: "its log ends at"} {
			if _, err := cluster.Skip(n.Config.DataDir, index); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("entry %d: got %v, want %q", index, err, want)
			}
		}
		if _, err := cluster.Skip(t.TempDir(), 7); err == nil {
			t.Error("an empty directory")
		}
		n.Start()
		c.WaitReady()
		waitTopics(c, 20)
	})
}
