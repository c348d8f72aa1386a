package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/cluster/logstore"
	"floe/cluster/logstore/faulty"
)

// TestDiskFailsOnLeader: the others go on, and the node serves its last View
// and says what is wrong.
func TestDiskFailsOnLeader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var broken [3]atomic.Bool
		c := clustertest.Empty(t)
		for i := range 3 {
			c.Add(func(cfg *cluster.Config) {
				cfg.Backend = faulty.Wrap(logstore.OpenBolt, func(op string) error {
					if broken[i].Load() {
						return errors.New("input/output error")
					}
					return nil
				})
			})
			c.WaitReady()
		}
		c.WaitVoters(3)
		mustPropose(t, c.Nodes[0], create("a"))
		waitTopics(c, 1)
		leader, follower := c.Leader(), c.Follower()
		for i, n := range c.Nodes {
			broken[i].Store(n == leader)
		}
		mustPropose(t, follower, create("b"))
		if leader.View().Graph.Topic("a") == nil {
			t.Error("the last View is gone")
		}
		c.Wait("words", func() error {
			problems := strings.Join(leader.Status(t.Context()).Problems, "\n")
			if !strings.Contains(problems, "input/output error") {
				return fmt.Errorf("problems: %s", problems)
			}
			return nil
		})
		if leader.Ready() == nil || leader.IsLeader() {
			t.Error("ready, or leading, without a disk")
		}
		_, err := leader.Propose(t.Context(), create("c"), "test")
		var q *cluster.NoQuorum
		if !errors.As(err, &q) {
			t.Errorf("change through it: %v", err)
		}
	})
}
