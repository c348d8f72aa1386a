package cluster_test

import (
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/fsm"
)

func joinToken(c *clustertest.Cluster, secret string) {
	mustPropose(c.T.(*testing.T), c.Nodes[0], fsm.SetToken{Token: fsm.Token{
		Name: secret, Hash: fsm.HashToken(secret), Made: time.Now().UnixNano(), Ends: time.Now().Add(time.Hour).UnixNano()}})
}

// A token is for one node, also where two show it at once. Where the founder
// takes nodes by tokens alone, one without stays out.
func TestJoinTokenIsGoodOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		byToken := func(cfg *cluster.Config) { cfg.JoinByToken = true }
		c := clustertest.New(t, 1, byToken)
		joinToken(c, "one")
		first := c.Addresses()
		with := func(token string) func(*cluster.Config) {
			return func(cfg *cluster.Config) { cfg.JoinByToken, cfg.JoinToken, cfg.Join = true, token, first }
		}
		two := []*clustertest.Node{c.Plan(with("one")), c.Plan(with("one")), c.Plan(with(""))}
		for _, n := range two {
			n.Start()
		}
		time.Sleep(time.Minute) // of the bubble: who is out goes on asking
		if got := len(c.Nodes[0].View().Servers); got != 2 {
			t.Fatalf("%d nodes, want 2", got)
		}
		if left := c.Nodes[0].View().Tokens; len(left) != 0 {
			t.Errorf("tokens left: %v", left)
		}
		joinToken(c, "two")
		for _, n := range two {
			if n.Ready() != nil {
				n.UseJoinToken("two")
			}
		}
		time.Sleep(time.Minute)
		if got := len(c.Nodes[0].View().Servers); got != 3 {
			t.Errorf("%d nodes, want 3", got)
		}
	})
}

// Nodes that found a cluster together need no token, and one that comes later does.
func TestFoundersNeedNoToken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.Empty(t)
		var nodes []*clustertest.Node
		for range 3 {
			nodes = append(nodes, c.Plan(func(cfg *cluster.Config) { cfg.JoinByToken, cfg.BootstrapExpect = true, 3 }))
		}
		var all []string
		for _, n := range nodes {
			all = append(all, n.Address)
		}
		for _, n := range nodes {
			n.Config.Join = all
			n.Start()
		}
		c.WaitReady()
		c.WaitVoters(3)
		late := c.Plan(func(cfg *cluster.Config) { cfg.JoinByToken, cfg.BootstrapExpect, cfg.Join = true, 3, all })
		late.Start()
		time.Sleep(time.Minute)
		if got := len(nodes[0].View().Servers); got != 3 {
			t.Errorf("%d nodes, want 3", got)
		}
	})
}
