package cluster_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
)

func withKey(b byte) func(*cluster.Config) {
	return func(cfg *cluster.Config) { cfg.GossipKey = bytes.Repeat([]byte{b}, 32) }
}

// allSeen waits until every node that runs hears that many by gossip.
func allSeen(c *clustertest.Cluster, want int, nodes ...*clustertest.Node) {
	c.T.Helper()
	for range 600 {
		all := true
		for _, n := range nodes {
			all = all && n.Figures().Alive == want
		}
		if all {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, n := range nodes {
		c.T.Errorf("%s hears %d by gossip, want %d", n.Name, n.Figures().Alive, want)
	}
	c.T.FailNow()
}

// The secret is changed under load, and no node is lost to another meanwhile;
// what was changed lasts over restarts, and the old one is good for nothing.
func TestGossipSecretsAreRotated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3, withKey('a'))
		allSeen(c, 3, c.Nodes...)
		done, lost := make(chan struct{}), make(chan string, 1)
		go func() { // watches who is held to be alive
			defer close(lost)
			for {
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond):
				}
				for _, n := range c.Nodes {
					for _, other := range c.Nodes {
						if !n.Alive(other.Name) || n.Figures().Alive != 3 {
							select {
							case lost <- n.Name + " lost " + other.Name:
							default:
							}
						}
					}
				}
			}
		}()
		oldID, newID := cluster.KeyID(bytes.Repeat([]byte{'a'}, 32)), cluster.KeyID(bytes.Repeat([]byte{'b'}, 32))
		n1 := c.Nodes[0]
		for i, step := range []func() error{
			func() error { return n1.AddKey(t.Context(), bytes.Repeat([]byte{'b'}, 32)) },
			func() error { return n1.AddKey(t.Context(), bytes.Repeat([]byte{'b'}, 32)) },
			func() error { return c.Nodes[1].UseKey(t.Context(), newID) },
			func() error { return c.Nodes[2].RemoveKey(t.Context(), oldID) },
		} {
			if err := step(); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			for j := range 20 {
				mustPropose(t, n1, create(strings.Repeat("x", i+1)+string(rune('a'+j))))
				time.Sleep(time.Second)
			}
		}
		close(done)
		if text, bad := <-lost; bad {
			t.Error(text)
		}
		all, silent := n1.Keys(t.Context())
		if len(all) != 1 || all[0].ID != newID || len(all[0].Nodes) != 3 || len(all[0].Senders) != 3 || len(silent) != 0 {
			t.Errorf("keys %+v, silent %v", all, silent)
		}
		c.Nodes[2].Kill()
		c.Nodes[2].Start() // with the first secret still in its configuration
		c.WaitReady()
		allSeen(c, 3, c.Nodes...)
		info, err := os.Stat(filepath.Join(c.Nodes[2].Config.DataDir, "gossip-keys.json"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		c.Add(withKey('a'))
		c.WaitReady()
		time.Sleep(time.Minute)
		allSeen(c, 3, c.Nodes[:3]...)
		c.Add(withKey('b'))
		c.WaitReady()
		allSeen(c, 4, c.Nodes[0], c.Nodes[1], c.Nodes[2], c.Nodes[4])
	})
}

func TestRefusedChangesOfSecrets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 2, withKey('a'))
		n := c.Nodes[0]
		first := cluster.KeyID(bytes.Repeat([]byte{'a'}, 32))
		wantCode(t, "short", n.AddKey(t.Context(), []byte("short")), "invalid")
		wantCode(t, "use unknown", n.UseKey(t.Context(), "0000"), cluster.CodeKeys)
		wantCode(t, "remove unknown", n.RemoveKey(t.Context(), "0000"), cluster.CodeKeys)
		wantCode(t, "remove the one in use", n.RemoveKey(t.Context(), first), cluster.CodeKeys)
		for i := range byte(7) {
			if err := n.AddKey(t.Context(), bytes.Repeat([]byte{'b' + i}, 16)); err != nil {
				t.Fatal(err)
			}
		}
		wantCode(t, "one more", n.AddKey(t.Context(), bytes.Repeat([]byte{'z'}, 16)), cluster.CodeKeys)
		c.Nodes[1].Kill()
		err := n.UseKey(t.Context(), first)
		if !errors.Is(err, &cluster.Refused{Code: cluster.CodeKeys}) || !strings.Contains(err.Error(), "n2 does not answer") {
			t.Errorf("got %v", err)
		}
		plain := clustertest.New(t, 1)
		wantCode(t, "in the clear", plain.Nodes[0].AddKey(t.Context(), bytes.Repeat([]byte{'a'}, 16)), cluster.CodeKeys)
	})
}
