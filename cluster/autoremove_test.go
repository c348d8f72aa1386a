package cluster_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
)

// members are the nodes of the group as one of them sees it.
func members(n *clustertest.Node) (ids []string) {
	for _, s := range n.View().Servers {
		ids = append(ids, s.ID)
	}
	return ids
}

func TestSilentNodesAreRemoved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const after = 20 * time.Second
		auto := func(cfg *cluster.Config) { cfg.AutoRemove = cluster.AutoRemove{After: after} }
		c := clustertest.New(t, 5, auto)
		spare := c.Add(auto, func(cfg *cluster.Config) { cfg.NonVoter = true })
		c.WaitReady()
		stay := c.Leader()

		gone := func(n *clustertest.Node) {
			t.Helper()
			n.Kill()
			died := time.Now()
			c.Wait("the removal of "+n.Name, func() error {
				if slices.Contains(members(stay), n.Name) {
					return fmt.Errorf("members %v", members(stay))
				}
				return nil
			})
			if took := time.Since(died); took < after-2*time.Second || took > 2*after { // it was heard up to a look before
				t.Errorf("%s was removed after %v", n.Name, took)
			}
		}
		gone(spare)
		for range 2 {
			gone(c.Follower())
		}

		// Three voters are the least that is left.
		last := c.Follower()
		last.Kill()
		time.Sleep(5 * after)
		if got := members(stay); len(got) != 3 || !slices.Contains(got, last.Name) {
			t.Errorf("members %v", got)
		}
	})
}

// Who comes back in time stays, and so do all without the setting.
func TestNodesThatComeBackStay(t *testing.T) {
	for name, auto := range map[string]cluster.AutoRemove{"in time": {After: 2 * time.Minute}, "off": {}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := clustertest.New(t, 5, func(cfg *cluster.Config) { cfg.AutoRemove = auto })
				stay := c.Leader()
				for range 4 {
					n := c.Follower()
					n.Kill()
					time.Sleep(time.Minute)
					n.Restart()
					c.WaitReady()
					time.Sleep(5 * time.Second) // the leader heard of it
				}
				if got := members(stay); len(got) != 5 {
					t.Errorf("members %v", got)
				}
			})
		})
	}
}
