package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"floe/cluster/clustertest"
)

// TestStateThatDiffersStops: a node whose state is not that of the others
// says so and takes no part any more, the leader too, and what the others
// have stays.
func TestStateThatDiffersStops(t *testing.T) {
	for _, role := range []string{"leader", "follower"} {
		bubble(t, func(t *testing.T) {
			c := clustertest.New(t, 3)
			waitBarrier(c, mustPropose(t, c.Nodes[0], create("a")).Index)
			wrong := map[string]*clustertest.Node{"leader": c.Leader(), "follower": c.Follower()}[role]
			if err := wrong.Corrupt(create("only here")); err != nil {
				t.Fatal(err)
			}
			waitProblem(c, wrong, "the state at index")
			waitProblem(c, wrong, "which are the majority")
			c.Wait("out of service", func() error {
				if f := wrong.Figures(); !f.Differs || f.State != "stopped" || wrong.Ready() == nil {
					return fmt.Errorf("%+v", f)
				}
				return nil
			})
			for _, n := range without(c.Nodes, wrong) {
				mustPropose(t, n, create("b"+n.Name))
				for _, p := range n.Status(t.Context()).Problems {
					if strings.Contains(p, "this node stopped") {
						t.Errorf("%s: %s", n.Name, p)
					}
				}
			}
			if got := wrong.View().Graph.Topic("only here"); got == nil {
				t.Error("it does not serve what it has")
			}
			wrong.Stop()
			wrong.Start() // its log and snapshots were right
			c.WaitReady()
			waitTopics(c, 3)
		})
	}
}

// TestStateDiffersUnderLoad: found at an index that all pass, also while no
// two nodes stand at the same one.
func TestStateDiffersUnderLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		waitBarrier(c, mustPropose(t, c.Nodes[0], create("a")).Index)
		wrong := c.Follower()
		if err := wrong.Corrupt(create("only here")); err != nil {
			t.Fatal(err)
		}
		leader := c.Leader()
		for i := 0; !wrong.Figures().Differs; i++ {
			if i == 5000 {
				t.Fatal("not found")
			}
			mustPropose(t, leader, create(fmt.Sprint(i)))
			time.Sleep(10 * time.Millisecond) // of virtual time: never quiet
		}
	})
}

// TestTwoStatesDiffer: where nobody has a majority the leader is taken to be
// right.
func TestTwoStatesDiffer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 2)
		waitBarrier(c, mustPropose(t, c.Nodes[0], create("a")).Index)
		f := c.Follower()
		if err := f.Corrupt(create("only here")); err != nil {
			t.Fatal(err)
		}
		waitProblem(c, f, "where the leader is")
		waitProblem(c, c.Nodes[0], "the state at index")
		waitProblem(c, c.Nodes[1], "the state at index")
	})
}

// TestEqualStatesAreFoundEqual over all that nodes go through.
func TestEqualStatesAreFoundEqual(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		for round := range 3 {
			for i := range 150 {
				mustPropose(t, c.Nodes[i%3], create(fmt.Sprintf("%d-%d", round, i)))
			}
			n := c.Nodes[round%3]
			n.Kill()
			mustPropose(t, c.Nodes[(round+1)%3], create(fmt.Sprint("without ", round)))
			n.Start()
			c.WaitReady()
			time.Sleep(20 * time.Second) // of virtual time, in which they compare
		}
		c.Wait("no problems", func() error {
			for _, n := range c.Nodes {
				if p := n.Status(t.Context()).Problems; len(p) > 0 || n.Figures().Differs {
					return errors.New(strings.Join(p, "\n"))
				}
			}
			return nil
		})
	})
}

// TestNodeThatCantCatchUpIsNamed on every node that can be asked, and no more
// once it has.
func TestNodeThatCantCatchUpIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, rooms := roomyCluster(t, 3)
		stuck := c.Follower()
		rooms[stuck.Name].free.Store(0)
		waitProblem(c, stuck, "no space")
		began := time.Now()
		mustPropose(t, c.Leader(), create("a"))
		for _, n := range c.Nodes {
			waitProblem(c, n, "can't catch up, lacks changes of 30s ago and more: node "+stuck.Name)
		}
		if took := time.Since(began); took < 30*time.Second {
			t.Errorf("named after %v", took)
		}
		rooms[stuck.Name].free.Store(plenty)
		c.Wait("no problems", func() error {
			for _, n := range c.Nodes {
				if p := n.Status(t.Context()).Problems; len(p) > 0 {
					return errors.New(strings.Join(p, "\n"))
				}
			}
			return nil
		})
	})
}
