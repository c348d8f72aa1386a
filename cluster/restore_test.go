package cluster_test

import (
	"bytes"
	"fmt"
	"testing"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/fsm"
	"floe/topics"
)

// filled is a cluster of its own with some content.
func filled(t *testing.T) *clustertest.Cluster {
	t.Helper()
	c := clustertest.New(t, 1)
	for _, op := range []fsm.Op{create("a"), create("b"), fsm.Link{From: "a", To: "b", Cost: -3}, fsm.DestroyTopic{Name: "b"}, create("c"),
		fsm.Subscribe{Topic: "a", Subscription: topics.Subscription{Identity: topics.Identity{Name: "s"}, Proxy: []byte{3}}}} {
		mustPropose(t, c.Nodes[0], op)
	}
	return c
}

// restore restores a backup of a view through a node, in several parts.
func restore(t *testing.T, n *clustertest.Node, v *fsm.View) {
	t.Helper()
	var b bytes.Buffer
	if err := v.WriteBackup(&b); err != nil {
		t.Fatal(err)
	}
	parts := 0
	for part := b.Next(100); len(part) > 0; part = b.Next(100) {
		mustPropose(t, n, fsm.StageRestore{Restore: 7, Part: parts, Data: bytes.Clone(part)})
		parts++
	}
	mustPropose(t, n, fsm.CommitRestore{Restore: 7, Parts: parts})
}

// TestRestore: through a follower, with a node down that comes back, then one
// that joins, and a restart of all of them.
func TestRestore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		want := filled(t).Nodes[0].View()
		c := clustertest.New(t, 3, func(cfg *cluster.Config) { cfg.SnapshotThreshold = 8 })
		id := c.Nodes[0].View().ClusterID
		same := func() {
			t.Helper()
			c.Wait("the same content everywhere", func() error {
				for _, n := range c.Nodes {
					if v := n.View(); n.Running() && (v.Digest() != want.Digest() || v.ClusterID != id) {
						return fmt.Errorf("%s: digest %v in cluster %s", n.Name, v.Digest(), v.ClusterID)
					}
				}
				return nil
			})
		}
		down := c.Follower()
		down.Kill()
		restore(t, c.Follower(), want)
		same()
		down.Start()
		same()
		c.Add()
		c.WaitReady()
		c.WaitVoters(4)
		same()
		clustertest.Kill(c.Nodes...)
		for _, n := range c.Nodes {
			n.Start()
		}
		c.WaitReady()
		same()
		for _, n := range c.Nodes {
			if len(n.View().Members) != 4 || n.View().Voters() != 4 {
				t.Errorf("%s has members %v", n.Name, n.View().Members)
			}
		}
		// Ids go on above those of the backup.
		if r := mustPropose(t, c.Nodes[1], create("d")); uint64(r.Topic) <= want.Graph.Serial() {
			t.Errorf("topic d has id %d, the backup used ids up to %d", r.Topic, want.Graph.Serial())
		}
	})
}
