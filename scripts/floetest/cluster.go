package floetest

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"floe/transport/http/api"
)

// Cluster is a set of nodes that belong together.
type Cluster struct {
	Nodes []*Node

	t testing.TB
}

// NewCluster makes nodes n1, n2, ... that don't run yet. Each later start of a node is told where all of them are.
func NewCluster(t testing.TB, size int, flags ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	for i := range size {
		c.Nodes = append(c.Nodes, NewNode(t, fmt.Sprintf("n%d", i+1), flags...))
	}
	return c
}

// StartCluster starts a cluster of voters and waits until all are ready: the first founds it, the others join it.
func StartCluster(t testing.TB, size int, flags ...string) *Cluster {
	t.Helper()
	c := NewCluster(t, size, flags...)
	first := c.Nodes[0]
	first.Start()
	for _, n := range c.Nodes[1:] {
		n.Start("--join", first.Peer())
	}
	c.WaitVoters(size)
	return c
}

// Add makes one more node of the cluster and starts it with a join list of all others.
func (c *Cluster) Add(id string, flags ...string) *Node {
	c.t.Helper()
	n := NewNode(c.t, id, flags...)
	n.Start("--join", c.PeersWithout(n))
	c.Nodes = append(c.Nodes, n)
	return n
}

// Peers is the join list that names all nodes.
func (c *Cluster) Peers() string { return c.PeersWithout(nil) }

// PeersWithout is the join list that names all nodes but one.
func (c *Cluster) PeersWithout(one *Node) string {
	var all []string
	for _, n := range c.Nodes {
		if n != one {
			all = append(all, n.Peer())
		}
	}
	return strings.Join(all, ",")
}

// Running are the nodes whose process is there.
func (c *Cluster) Running() []*Node {
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *Node) bool { return !n.Running() })
}

// WaitVoters waits until all running nodes are ready and see that many voters.
func (c *Cluster) WaitVoters(voters int) {
	c.t.Helper()
	for _, n := range c.Running() {
		n.WaitReady()
		n.WaitStatus(fmt.Sprintf("in a cluster of %d voters", voters), func(s api.Status) bool { return Voters(s) == voters })
	}
}

// WaitLeader waits until all running nodes name the same leader, which runs, and returns it. Nodes that left or were
// removed are not asked.
func (c *Cluster) WaitLeader() *Node {
	c.t.Helper()
	var leader *Node
	Eventually(c.t, Patience, func() error {
		leaders := map[string]string{}
		for _, n := range c.Running() {
			s, err := n.Status()
			if err != nil {
				return err
			}
			if s.Role != "left" && s.Role != "removed" {
				leaders[n.ID] = s.Leader
			}
		}
		var err error
		leader, err = c.agreed(leaders)
		return err
	})
	return leader
}

func (c *Cluster) agreed(leaders map[string]string) (*Node, error) {
	for _, n := range c.Running() {
		same := len(leaders) > 0
		for _, l := range leaders {
			same = same && l == n.ID
		}
		if same {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no agreed leader: %v", leaders)
}

// Followers are the running nodes apart from the leader, those that left or were removed included.
func (c *Cluster) Followers() []*Node {
	c.t.Helper()
	leader := c.WaitLeader()
	return slices.DeleteFunc(c.Running(), func(n *Node) bool { return n == leader })
}

// Kill kills all nodes at once.
func (c *Cluster) Kill() {
	for _, n := range c.Running() {
		n.p.signal(syscall.SIGKILL)
	}
	for _, n := range c.Nodes {
		n.Kill()
	}
}

// Restart starts all nodes that don't run, each with the addresses of all, and waits until they are ready.
func (c *Cluster) Restart() {
	c.t.Helper()
	for _, n := range c.Nodes {
		if !n.Running() {
			n.Start("--join", c.Peers())
		}
	}
	for _, n := range c.Nodes {
		n.WaitReady()
	}
}

// WaitSame waits until all running nodes stand at one index, and fails where their digests differ there.
func (c *Cluster) WaitSame() {
	c.t.Helper()
	Eventually(c.t, Patience, func() error {
		seen := map[uint64]string{}
		for _, n := range c.Running() {
			s, err := n.Status()
			if err != nil {
				return err
			}
			if d, ok := seen[s.AppliedIndex]; ok && d != s.Digest {
				return fmt.Errorf("digests differ at %d", s.AppliedIndex)
			}
			seen[s.AppliedIndex] = s.Digest
		}
		if len(seen) != 1 {
			return fmt.Errorf("at different indexes: %v", seen)
		}
		return nil
	})
}

// Since returns the time since the node's last start.
func (n *Node) Since() time.Duration { return time.Since(n.begun) }
