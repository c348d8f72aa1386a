package cluster_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/cluster/logstore"
	"floe/fsm"
)

var (
	throwAways   = flag.Int("throwaways", 40, "how many members TestThrowAwayMembers throws away")
	massRestarts = flag.Int("restarts", 20, "how often TestMassRestarts restarts all")
)

// onMemory gives a node a disk in memory and returns it.
func onMemory(disks map[string]*clustertest.Disk) func(*cluster.Config) {
	return func(cfg *cluster.Config) {
		disk := &clustertest.Disk{Delay: func() time.Duration { return 2 * time.Millisecond }}
		disks[cfg.ID] = disk
		cfg.Backend = disk.Open
	}
}

// TestRemovalsAtOnce: of several that are asked to go at one moment only so
// many go that those left are a majority, with every node that is down counted.
func TestRemovalsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 5, onMemory(map[string]*clustertest.Disk{}))
		leader := c.Leader()
		others := without(c.Nodes, leader)
		others[3].Kill()
		errs := make([]error, 3)
		var asking sync.WaitGroup
		for i, n := range others[:3] {
			asking.Go(func() {
				if i == 0 {
					errs[i] = n.Leave(t.Context())
					return
				}
				_, errs[i] = leader.Remove(t.Context(), n.Name, false)
			})
		}
		asking.Wait()
		went := 0
		for i, err := range errs {
			var r *cluster.Refused
			switch {
			case err == nil:
				went++
			case errors.As(err, &r) && r.Code == cluster.CodeQuorum:
			default:
				t.Errorf("removal %d: %v", i, err)
			}
		}
		if went != 2 {
			t.Errorf("%d of three went: %v; want two, as three voters with one down are left", went, errs)
		}
		if got := leader.View().Voters(); got != 5-went {
			t.Errorf("%d voters, want %d", got, 5-went)
		}
		mustPropose(t, leader, create("a"))
	})
}

// TestRemovedWhileItGetsItsVote: a joiner that is removed at the moment at which
// it has caught up does not come back by the vote that it was to be given.
func TestRemovedWhileItGetsItsVote(t *testing.T) {
	bubble(t, func(t *testing.T) {
		slow := atomic.Bool{} // a change is on its way for so long that the next one overtakes it
		c := clustertest.New(t, 3, func(cfg *cluster.Config) {
			disk := &clustertest.Disk{Delay: func() time.Duration {
				if slow.Load() {
					return 700 * time.Millisecond
				}
				return 2 * time.Millisecond
			}}
			cfg.Backend = disk.Open
		})
		voters := c.Nodes[:3:3]
		leader := c.Leader()
		c.Add(func(cfg *cluster.Config) { cfg.ID = "joiner" }, onMemory(map[string]*clustertest.Disk{}))
		c.Wait("the joiner", func() error {
			if !slices.ContainsFunc(leader.View().Servers, func(s fsm.Server) bool { return s.ID == "joiner" }) {
				return errors.New("not in the group")
			}
			return nil
		})
		slow.Store(true)
		if _, err := leader.Remove(t.Context(), "joiner", false); err != nil {
			t.Fatal(err)
		}
		slow.Store(false)
		time.Sleep(5 * time.Second) // for what was still to come
		for _, n := range voters {
			if s := n.View().Servers; len(s) != 3 {
				t.Errorf("%s sees %v", n.Name, s)
			}
		}
	})
}

// TestChangesOfMembershipAtOnce: nodes join while others leave, all at one
// moment, the leader too.
func TestChangesOfMembershipAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 5, onMemory(map[string]*clustertest.Disk{}))
		for round := range 3 {
			leader := c.Leader()
			gone := without(c.Nodes, leader)[0]
			var changing sync.WaitGroup
			for _, n := range []*clustertest.Node{leader, gone} {
				changing.Go(func() {
					if err := n.Leave(t.Context()); err != nil {
						t.Errorf("%s leaves: %v", n.Name, err)
					}
				})
			}
			for _, id := range []string{"a", "b"} {
				c.Add(func(cfg *cluster.Config) { cfg.ID = id + fmt.Sprint(round) }, onMemory(map[string]*clustertest.Disk{}))
			}
			changing.Wait()
			for _, n := range []*clustertest.Node{leader, gone} {
				n.Stop()
				c.Nodes = without(c.Nodes, n)
			}
			c.WaitReady()
			c.WaitVoters(5)
			mustPropose(t, c.Nodes[0], create(leader.Name+gone.Name))
		}
		waitTopics(c, 3)
	})
}

// TestThrowAwayMembers: many short-lived nodes that are never removed block
// nothing and slow nothing down, and go when they are told to.
func TestThrowAwayMembers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3, onMemory(map[string]*clustertest.Disk{}))
		voters := c.Nodes[:3:3]
		change := func(name string) time.Duration {
			began := time.Now()
			mustPropose(t, voters[1], create(name))
			return time.Since(began)
		}
		before := change("before")
		var dead []string
		for i := range *throwAways {
			n := c.Add(func(cfg *cluster.Config) { cfg.ID, cfg.NonVoter = fmt.Sprintf("short%d", i), true }, onMemory(map[string]*clustertest.Disk{}))
			began := time.Now()
			c.WaitReady()
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("join %d took %v", i, took)
			}
			n.Kill()
			c.Nodes = voters
			dead = append(dead, n.Name)
		}
		term := c.Leader().Term()
		if took := change("beside the dead"); took > 2*before+20*time.Millisecond {
			t.Errorf("a change takes %v beside %d dead members, %v before", took, len(dead), before)
		}
		time.Sleep(time.Minute)
		if got := c.Leader().Term(); got != term {
			t.Errorf("term %d, was %d", got, term)
		}
		for _, id := range dead {
			if _, err := voters[2].Remove(t.Context(), id, false); err != nil {
				t.Errorf("remove %s: %v", id, err)
			}
		}
		c.Wait("all to be gone", func() error {
			for _, n := range voters {
				if v := n.View(); len(v.Servers) != 3 || len(v.Members) != 3 {
					return fmt.Errorf("%s sees %d servers, %d members", n.Name, len(v.Servers), len(v.Members))
				}
			}
			return nil
		})
	})
}

// TestMassRestarts: the power of five nodes fails at one moment, again and
// again, at times while they are starting.
func TestMassRestarts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		disks := map[string]*clustertest.Disk{}
		c := clustertest.New(t, 5, onMemory(disks))
		for round := range *massRestarts {
			for _, n := range c.Nodes {
				n.PowerOff(disks[n.Name])
			}
			for _, n := range c.Nodes {
				n.Start()
			}
			if round%4 == 3 { // they do not come to an election
				time.Sleep(time.Duration(round) * 50 * time.Millisecond)
				continue
			}
			began := time.Now()
			c.WaitReady()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("round %d: %v until all were ready", round, took)
			}
			mustPropose(t, c.Nodes[round%5], create(fmt.Sprint(round)))
		}
		c.WaitReady()
		c.WaitVoters(5)
		waitTopics(c, *massRestarts-*massRestarts/4)
	})
}

// TestRemovedBehindACut: a node that is removed while it is cut off changes
// nothing, is told when it is back, and disturbs nobody.
func TestRemovedBehindACut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 4, onMemory(map[string]*clustertest.Disk{}))
		for _, kind := range []string{"leader", "follower"} {
			away := c.Leader()
			if kind == "follower" {
				away = c.Follower()
			}
			rest := without(c.Nodes, away)
			c.Network.Isolate(away.Name, c.Names()...)
			c.Wait("another leader", func() error {
				if id := rest[0].LeaderID(); id == "" || id == away.Name {
					return fmt.Errorf("%q leads", id)
				}
				return nil
			})
			if _, err := rest[0].Remove(t.Context(), away.Name, false); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := away.Propose(ctx, create("never"), "test"); err == nil {
				t.Errorf("the removed %s made a change", kind)
			}
			cancel()
			term := rest[0].Term()
			c.Network.HealAll()
			c.Wait("the "+kind+" to know", func() error {
				if got := away.Identity().State; got != logstore.Removed {
					return fmt.Errorf("state %s", got)
				}
				return nil
			})
			time.Sleep(time.Minute)
			if got := rest[0].Term(); got != term {
				t.Errorf("the removed %s disturbed: term %d, was %d", kind, got, term)
			}
			away.Stop()
			c.Nodes = rest
			c.WaitReady()
			mustPropose(t, rest[0], create("after "+kind))
		}
		waitTopics(c, 2)
	})
}
