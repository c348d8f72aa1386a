package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
)

// lagBound is how long a node may be behind once it reaches the leader again:
// its own reconnecting and that of the leader included.
const lagBound = time.Second

// TestCaughtUpSoonAfterACut: however long a node was cut off, it has all
// changes soon after, in entries or as a snapshot; and as long as it lacks
// what was made meanwhile it is not ready.
func TestCaughtUpSoonAfterACut(t *testing.T) {
	for name, threshold := range map[string]uint64{"entries": 0, "snapshot": 10} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := clustertest.New(t, 3, func(cfg *cluster.Config) {
					if threshold > 0 {
						cfg.SnapshotThreshold, cfg.SnapshotInterval = threshold, time.Second
					}
				})
				for _, cut := range []time.Duration{300 * time.Millisecond, 3 * time.Second, time.Minute} {
					checkCut(t, c, cut)
				}
			})
		})
	}
}

// checkCut cuts a follower off while changes are made, and looks at what it
// says and has afterwards.
func checkCut(t *testing.T, c *clustertest.Cluster, cut time.Duration) {
	t.Helper()
	leader, away := c.Leader(), c.Follower()
	c.Network.Isolate(away.Name, c.Names()...)
	last := ""
	for i, begun := 0, time.Now(); time.Since(begun) < cut; i++ {
		last = fmt.Sprintf("%v-%d", cut, i)
		mustPropose(t, leader, create(last))
		time.Sleep(cut / 50)
	}
	c.Network.HealAll()
	healed := time.Now()
	has := func() bool { return away.View().Graph.Topic(last) != nil }
	c.Wait("the node to have all", func() error {
		// A cut that cost no election may not have been noticed yet.
		if err := away.Ready(); err == nil && !has() && cut > lagBound {
			t.Fatalf("after a cut of %v: ready %v after the cut, without what was made meanwhile", cut, time.Since(healed))
		}
		if !has() {
			return fmt.Errorf("%s is at %d", away.Name, away.View().Index)
		}
		return nil
	})
	if took := time.Since(healed); took > lagBound {
		t.Errorf("after a cut of %v it took %v to have all", cut, took)
	}
	c.WaitReady()
	if took := time.Since(healed); took > 2*lagBound {
		t.Errorf("after a cut of %v it took %v to be ready", cut, took)
	}
}

// TestFollowerThatLacksChangesIsNotReady, for whatever reason: here it hears
// its leader and takes no entries, as it has no room.
func TestFollowerThatLacksChangesIsNotReady(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, rooms := roomyCluster(t, 3)
		leader, full := c.Leader(), c.Follower()
		rooms[full.Name].free.Store(0)
		waitProblem(c, full, "no space")
		if err := full.Ready(); err != nil {
			t.Errorf("not ready, and lacks nothing: %v", err)
		}
		mustPropose(t, leader, create("a"))
		time.Sleep(2 * time.Second)
		for range 30 {
			if err := full.Ready(); err == nil || !strings.Contains(err.Error(), "catching up with leader "+leader.Name+": it ") {
				t.Fatalf("it lacks a change for long, and says: %v", err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		rooms[full.Name].free.Store(plenty)
		roomy := time.Now()
		c.WaitReady()
		if full.View().Graph.Topic("a") == nil {
			t.Error("ready without what it lacked")
		}
		if took := time.Since(roomy); took > 2*lagBound {
			t.Errorf("it took %v to catch up once there was room", took)
		}
	})
}
