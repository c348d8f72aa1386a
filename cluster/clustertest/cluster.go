package clustertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"floe/cluster"
)

// Patience is how long the Wait functions wait before they fail the test.
const Patience = 60 * time.Second

// Cluster is a cluster in this process.
type Cluster struct {
	T       testing.TB
	Network *Network
	// Nodes are in the order they were added; a stopped one keeps its place.
	Nodes []*Node
}

// Node is one node, running or not.
type Node struct {
	*cluster.Node
	// Name is the node's id, Address where it is or was last.
	Name, Address string
	// Config is what it was last started with.
	Config cluster.Config

	c    *Cluster
	host *Host
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// New returns a cluster of that many voters, n1, n2 and so on, ready for use.
// It is stopped at the end of the test.
func New(t testing.TB, size int, change ...func(*cluster.Config)) *Cluster {
	t.Helper()
	c := Empty(t)
	for range size {
		c.Add(change...)
		c.WaitReady()
	}
	c.WaitVoters(size)
	return c
}

// Empty returns a cluster without nodes.
func Empty(t testing.TB) *Cluster {
	c := &Cluster{T: t, Network: NewNetwork()}
	t.TempDir() // its clean-up, set here, comes after Stop
	t.Cleanup(c.Stop)
	return c
}

// Add starts one more node; it joins through those that run. The functions
// change its configuration.
func (c *Cluster) Add(change ...func(*cluster.Config)) *Node {
	c.T.Helper()
	n := c.Plan(change...)
	n.Start()
	return n
}

// Plan makes a node without starting it.
func (c *Cluster) Plan(change ...func(*cluster.Config)) *Node {
	c.T.Helper()
	n := &Node{c: c, Name: fmt.Sprintf("n%d", len(c.Nodes)+1), Address: c.Network.NewAddress()}
	n.Config = cluster.Config{DataDir: c.T.TempDir(), ID: n.Name, Join: c.Addresses(), Program: "test"}
	for _, f := range change {
		f(&n.Config)
	}
	if n.Config.ID != "" {
		n.Name = n.Config.ID
	}
	c.Nodes = append(c.Nodes, n)
	return n
}

// Addresses returns the addresses of the nodes that run.
func (c *Cluster) Addresses() []string {
	var out []string
	for _, n := range c.Nodes {
		if n.Running() {
			out = append(out, n.Address)
		}
	}
	return out
}

// Names returns the ids of all nodes.
func (c *Cluster) Names() []string {
	var out []string
	for _, n := range c.Nodes {
		out = append(out, n.Name)
	}
	return out
}

// Running tells whether the node runs.
func (n *Node) Running() bool {
	if n.done == nil {
		return false
	}
	select {
	case <-n.done:
		return false
	default:
		return true
	}
}

// Start starts a node that does not run, at its Address, and fails the test
// if it can't be opened.
func (n *Node) Start() {
	n.c.T.Helper()
	if err := n.TryStart(); err != nil {
		n.c.T.Fatalf("start %s: %v", n.Name, err)
	}
}

// TryStart is Start that returns the error of opening.
func (n *Node) TryStart() error {
	n.host = n.c.Network.Host(n.Name, n.Address)
	n.Config.Network = n.host.Network()
	node, err := cluster.Open(n.Config)
	if err != nil {
		n.host.Close()
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.Node, n.stop, n.done = node, cancel, make(chan struct{})
	host, done := n.host, n.done
	go func() {
		defer close(done)
		n.err = node.Run(ctx)
		host.Close()
	}()
	return nil
}

// Stop ends the node in good order and waits.
func (n *Node) Stop() {
	if n.done == nil {
		return
	}
	n.stop()
	<-n.done
}

// Kill ends the node without a word to the others: it is off the network
// first. What it acknowledged is on its disk.
func (n *Node) Kill() {
	if n.host != nil {
		n.host.Close()
	}
	n.Stop()
}

// Kill kills nodes at one moment.
func Kill(nodes ...*Node) {
	for _, n := range nodes {
		n.host.Close()
	}
	for _, n := range nodes {
		n.Stop()
	}
}

// Err waits for the node's Run to end and returns its error.
func (n *Node) Err() error {
	n.c.T.Helper()
	select {
	case <-n.done:
		return n.err
	case <-time.After(Patience):
		n.c.T.Fatalf("%s: still running", n.Name)
		return nil
	}
}

// Restart starts the node again at a new address, with a join list.
func (n *Node) Restart(join ...string) {
	n.c.T.Helper()
	n.Address = n.c.Network.NewAddress()
	n.Config.Join = join
	n.Start()
}

// Stop stops all nodes.
func (c *Cluster) Stop() {
	for _, n := range c.Nodes {
		if n.stop != nil {
			n.stop()
		}
	}
	for _, n := range c.Nodes {
		n.Stop()
	}
}

// Leader waits for a leader that all running members agree on.
func (c *Cluster) Leader() *Node {
	c.T.Helper()
	var leader *Node
	c.Wait("a leader", func() error {
		leader = nil
		for _, n := range c.Nodes {
			if n.Running() && n.IsLeader() {
				leader = n
			}
		}
		if leader == nil {
			return fmt.Errorf("nobody leads")
		}
		return nil
	})
	return leader
}

// Follower waits for a running node that is ready and does not lead.
func (c *Cluster) Follower() *Node {
	c.T.Helper()
	leader := c.Leader()
	var follower *Node
	c.Wait("a follower", func() error {
		for _, n := range c.Nodes {
			if n.Running() && n != leader && n.Ready() == nil {
				follower = n
				return nil
			}
		}
		return fmt.Errorf("none is ready")
	})
	return follower
}

// WaitReady waits until all running nodes are ready.
func (c *Cluster) WaitReady() {
	c.T.Helper()
	c.Wait("all nodes ready", func() error {
		for _, n := range c.Nodes {
			if !n.Running() {
				continue
			}
			if err := n.Ready(); err != nil {
				return fmt.Errorf("%s: %w", n.Name, err)
			}
		}
		return nil
	})
}

// WaitVoters waits until every running node sees that many voters.
func (c *Cluster) WaitVoters(count int) {
	c.T.Helper()
	c.Wait(fmt.Sprintf("%d voters", count), func() error {
		for _, n := range c.Nodes {
			if n.Running() && n.View().Voters() != count {
				return fmt.Errorf("%s sees %d", n.Name, n.View().Voters())
			}
		}
		return nil
	})
}

// Wait waits until the condition holds: it returns nil.
func (c *Cluster) Wait(what string, condition func() error) {
	c.T.Helper()
	deadline := time.After(Patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			c.T.Fatalf("waited %v for %s: %v", Patience, what, err)
		}
	}
}
