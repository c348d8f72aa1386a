package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/cluster/logstore"
	"floe/fsm"
)

// mostNodes is how many nodes a story has at most.
const mostNodes = 5

// story is one run of a cluster through a plan.
type story struct {
	*testing.T
	c     *clustertest.Cluster
	plan  *rand.Rand
	begun time.Time
	disks map[string]*clustertest.Disk
	out   map[string]bool // the nodes that were removed
	left  map[string]bool // those that left, or were removed perhaps
	watch *watch

	mu             sync.Mutex
	running        []*clustertest.Node // what the writer may ask
	acked, refused []string
}

// note adds a line to the story, which is shown when it fails.
func (s *story) note(format string, args ...any) {
	s.Logf("%7.3f s: %s", time.Since(s.begun).Seconds(), fmt.Sprintf(format, args...))
}

// found starts three nodes that found a cluster together.
func (s *story) found() {
	s.c = clustertest.Empty(s)
	for range 3 {
		s.prepare()
	}
	for _, n := range s.c.Nodes {
		n.Config.BootstrapExpect = 3
		for _, other := range s.c.Nodes {
			n.Config.Join = append(n.Config.Join, other.Address)
		}
	}
	for _, n := range s.c.Nodes {
		s.start(n)
	}
	s.c.WaitVoters(3)
	s.c.WaitReady()
}

// prepare makes a node, with a disk in memory, that does not run yet.
func (s *story) prepare() *clustertest.Node {
	return s.c.Plan(func(c *cluster.Config) {
		chance := rand.New(rand.NewPCG(s.plan.Uint64(), 2))
		var mu sync.Mutex // the disk's own goroutines draw
		disk := &clustertest.Disk{
			Delay: func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(chance.IntN(8000)) * time.Microsecond
			},
			Lands: func() bool {
				mu.Lock()
				defer mu.Unlock()
				return chance.IntN(2) == 0
			},
		}
		s.disks[c.ID] = disk
		c.Backend, c.Log = disk.Open, s.watch.log(c.ID)
		c.SnapshotThreshold, c.SnapshotInterval = 20, 3*time.Second
	})
}

// start starts a node; that it refuses to is the end of the story.
func (s *story) start(n *clustertest.Node) {
	if err := n.TryStart(); err != nil {
		s.Fatalf("start %s: %v", n.Name, err)
	}
	s.watch.follow(n)
	s.choose()
}

// choose has the writer ask the nodes that run now.
func (s *story) choose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = s.running[:0:0]
	for _, n := range s.c.Nodes {
		if n.Running() {
			s.running = append(s.running, n)
		}
	}
}

// write makes topics, one after the other, until the function it returns is called.
func (s *story) write(seed uint64) (stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	plan := rand.New(rand.NewPCG(seed, 3))
	var done sync.WaitGroup
	for writer := range 2 {
		done.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				s.writeOne(plan, fmt.Sprintf("w%d-%d", writer, i))
			}
		})
	}
	return func() { cancel(); done.Wait() }
}

func (s *story) writeOne(plan *rand.Rand, name string) {
	s.mu.Lock()
	node := s.running[plan.IntN(len(s.running))].Node // of this start
	pause := time.Duration(plan.IntN(200)) * time.Millisecond
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Second)
	defer cancel()
	_, err := node.Propose(ctx, create(name), "story")
	var none *cluster.NoQuorum
	s.mu.Lock()
	switch {
	case err == nil:
		s.acked = append(s.acked, name)
	case errors.As(err, &none):
		s.refused = append(s.refused, name)
	}
	s.mu.Unlock()
	time.Sleep(pause)
}

// pick returns a node at random, nil where there is none of the kind.
func (s *story) pick(kind func(*clustertest.Node) bool) *clustertest.Node {
	var all []*clustertest.Node
	for _, n := range s.c.Nodes {
		if kind(n) {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[s.plan.IntN(len(all))]
}

func runs(n *clustertest.Node) bool    { return n.Running() }
func stopped(n *clustertest.Node) bool { return !n.Running() }

// idles tells of a running node that is in no cluster any more.
func idles(n *clustertest.Node) bool {
	if !n.Running() {
		return false
	}
	state := n.Identity().State
	return state == logstore.Left || state == logstore.Removed
}

// working counts the nodes that run and are members.
func (s *story) working() int {
	return len(slices.DeleteFunc(slices.Clone(s.c.Nodes), func(n *clustertest.Node) bool { return stopped(n) || idles(n) }))
}

// heal ends all cuts and starts what is down. Who says that it is ready soon
// after has what was acknowledged before. A node that is in no cluster yet
// is told where all others are: those that it knew may have moved, or left.
func (s *story) heal() {
	s.note("all is made well")
	s.mu.Lock()
	before := s.acked[:len(s.acked):len(s.acked)]
	s.mu.Unlock()
	s.c.Network.HealAll()
	for _, n := range s.c.Nodes {
		if n.Identity().State == logstore.New {
			n.Stop()
			n.Config.Join = s.addresses()
		}
		if stopped(n) {
			s.start(n)
		}
	}
	time.Sleep(lagBound)
	for _, n := range s.c.Nodes {
		if n.Ready() == nil && len(before) > 0 && n.View().Graph.Topic(before[len(before)-1]) == nil {
			s.Errorf("%s says that it is ready, and lacks %s", n.Name, before[len(before)-1])
		}
	}
}

// addresses are those of all nodes.
func (s *story) addresses() []string {
	var out []string
	for _, n := range s.c.Nodes {
		out = append(out, n.Address)
	}
	return out
}

// end checks what has to be so in the end.
func (s *story) end() {
	s.c.Wait("those who were removed to know it", func() error {
		for _, n := range s.c.Nodes {
			if s.out[n.Name] && !idles(n) {
				return fmt.Errorf("%s is %s", n.Name, n.Identity().State)
			}
		}
		return nil
	})
	for _, n := range s.c.Nodes {
		s.c.Wait(n.Name+" to work", func() error {
			if idles(n) && (s.left[n.Name] || s.out[n.Name]) {
				return nil
			}
			return n.Ready()
		})
	}
	s.writeThroughAll()
	s.agree()
	elections := s.watch.elections()
	time.Sleep(3 * time.Second)
	if got := s.watch.elections(); got != elections {
		s.Errorf("%d elections while all is well", got-elections)
	}
	s.watch.quit()
}

// writeThroughAll makes a change through each member.
func (s *story) writeThroughAll() {
	for _, n := range s.c.Nodes {
		if idles(n) {
			continue
		}
		tries := 0
		s.c.Wait("a change through "+n.Name, func() error {
			tries++
			name := fmt.Sprintf("last-%s-%d", n.Name, tries)
			_, err := n.Propose(s.Context(), create(name), "story")
			if err == nil {
				s.acked = append(s.acked, name)
			}
			return err
		})
	}
}

// agree waits until the members are equal, and compares them with what was answered.
func (s *story) agree() {
	s.c.Wait("equal states", func() error {
		var first *fsm.View
		for _, n := range s.c.Nodes {
			view := n.View()
			switch {
			case idles(n):
			case first == nil:
				first = view
			case view.Index != first.Index || view.Digest() != first.Digest():
				return fmt.Errorf("%s at %d with %v, another at %d with %v", n.Name, view.Index, view.Digest(), first.Index, first.Digest())
			}
		}
		return nil
	})
	view := s.pick(func(n *clustertest.Node) bool { return !idles(n) }).View()
	for _, name := range s.acked {
		if view.Graph.Topic(name) == nil {
			s.Errorf("%s was acknowledged and is lost", name)
		}
	}
	for _, name := range s.refused {
		if view.Graph.Topic(name) != nil {
			s.Errorf("%s was refused for want of a leader, and was made", name)
		}
	}
}
