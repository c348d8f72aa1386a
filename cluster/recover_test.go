package cluster_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/cluster/logstore"
)

var recoveredAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// recoverNode recovers a stopped node with the members of a list.
func recoverNode(t *testing.T, n *clustertest.Node, list string) *cluster.Recovery {
	t.Helper()
	r, err := openRecovery(n.Config.DataDir, list)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Recover(recoveredAt); err != nil {
		t.Fatal(err)
	}
	return r
}

func openRecovery(dir, list string) (*cluster.Recovery, error) {
	members, err := cluster.ParseMembers(list)
	if err != nil {
		return nil, err
	}
	return cluster.OpenRecovery(dir, members, nil)
}

// files are the sums of all files below a directory but the lock.
func files(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" {
			return err
		}
		b, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = sha256.Sum256(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lostMajority is a cluster of three of which only the first node's data
// counts any more; none runs.
func lostMajority(t *testing.T) *clustertest.Cluster {
	t.Helper()
	c := clustertest.New(t, 3)
	for i := range 5 {
		mustPropose(t, c.Nodes[i%3], create(fmt.Sprint(i)))
	}
	waitTopics(c, 5)
	clustertest.Kill(c.Nodes...)
	for _, n := range c.Nodes {
		n.Config.Join = nil
	}
	return c
}

func TestRecoverIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := lostMajority(t)
		n := c.Nodes[0]
		before := files(t, n.Config.DataDir)
		for list, said := range map[string]string{
			"":                    "is not ID=HOST:PORT",
			"null":                "is not ID=HOST:PORT",
			"n1":                  "is not ID=HOST:PORT",
			"n1=10.0.0.1":         "is not ID=HOST:PORT",
			"n1=10.0.0.1:0":       "is not ID=HOST:PORT",
			"=10.0.0.1:7400":      "is not ID=HOST:PORT",
			"n1=:7400":            "is not ID=HOST:PORT",
			"n1=h:1,n1=h:2":       "twice",
			"n1=h:1,n2=h:1":       "twice",
			"n1=h:1,":             "is not ID=HOST:PORT",
			"n1=h:1,stranger=h:2": "stranger is not in the cluster, whose nodes are n1, n2, n3",
			"n2=h:1":              "is the data of node n1, which is not among the members named",
		} {
			if _, err := openRecovery(n.Config.DataDir, list); err == nil || !strings.Contains(err.Error(), said) {
				t.Errorf("%q: %v, want %q", list, err, said)
			}
		}
		empty := t.TempDir()
		if _, err := openRecovery(empty, "n1=h:1"); err == nil || !strings.Contains(err.Error(), "holds no data of a node") || len(files(t, empty)) != 0 {
			t.Errorf("an empty directory: %v", err)
		}
		if after := files(t, n.Config.DataDir); !maps.Equal(before, after) {
			t.Error("refused, and something was changed")
		}
		n.Start()
		var locked *logstore.LockedError
		if _, err := openRecovery(n.Config.DataDir, "n1=h:1"); !errors.As(err, &locked) {
			t.Errorf("of a node that runs: %v", err)
		}
	})
}

// TestRecover: the survivor leads with all it had; what comes back of the
// others is told, and disturbs nobody; fresh nodes join.
func TestRecover(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := lostMajority(t)
		n, ghosts := c.Nodes[0], c.Nodes[1:]
		want, was := n.View(), n.Identity()
		before := files(t, n.Config.DataDir)
		r := recoverNode(t, n, "n1="+n.Address)
		if r.Digest != want.Digest().String() || r.Last < want.Index || r.Committed > r.Last || fmt.Sprint(r.Gone) != "[n2 n3]" || len(r.Voters) != 3 {
			t.Errorf("%+v", r)
		}
		saved := files(t, filepath.Join(n.Config.DataDir, "backup-before-recover-20260102T030405Z"))
		if !maps.Equal(saved, before) {
			t.Errorf("saved %d files that are not those from before (%d)", len(saved), len(before))
		}
		n.Start()
		c.WaitReady()
		if v := n.View(); !n.IsLeader() || v.Digest() != want.Digest() || v.ClusterID != want.ClusterID || v.Voters() != 1 {
			t.Errorf("recovered: cluster %s with digest %v and %d voters", v.ClusterID, v.Digest(), v.Voters())
		}
		if now := n.Identity(); now.Incarnation == was.Incarnation || len(now.Incarnation) < len(was.Incarnation) {
			t.Errorf("incarnation was %s and is %s", was.Incarnation, now.Incarnation)
		}
		if got := n.Status(t.Context()).ClusterID; got != want.ClusterID {
			t.Errorf("cluster id for people: %s", got)
		}
		for i, g := range ghosts {
			g.Start()
			mustPropose(t, n, create(fmt.Sprint("beside ghost ", i)))
		}
		term := n.Term()
		for _, g := range ghosts {
			c.Wait("the ghost to be told", func() error {
				if got := g.Identity().State; got != logstore.Removed {
					return fmt.Errorf("%s is %s", g.Name, got)
				}
				return nil
			})
			if g.View().Graph.Len() != 5 {
				t.Errorf("%s has taken part: %d topics", g.Name, g.View().Graph.Len())
			}
		}
		if !n.IsLeader() || n.Term() != term || n.View().Graph.Len() != 7 {
			t.Errorf("the ghosts disturbed: term %d and then %d, %d topics", term, n.Term(), n.View().Graph.Len())
		}
		ghosts[1].Stop()
		c.Add()
		c.Wait("the fresh node", func() error { return c.Nodes[3].Ready() })
		// One who was lost may come back as a new node under its old id.
		if err := ghosts[0].Join(t.Context(), n.Address); err != nil {
			t.Fatal(err)
		}
		c.WaitReady()
		c.WaitVoters(3)
		waitTopics(c, 7)
		clustertest.Kill(n, ghosts[0], c.Nodes[3])
		for _, x := range []*clustertest.Node{n, ghosts[0], c.Nodes[3]} {
			x.Start()
		}
		c.WaitReady()
		mustPropose(t, c.Nodes[3], create("after all"))
		waitTopics(c, 8)
	})
}

// TestGhostMajorityIsKeptOut: those who were lost come back together, elect a
// leader in the group as it was, and reach the survivor before they are told.
func TestGhostMajorityIsKeptOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := lostMajority(t)
		n, ghosts := c.Nodes[0], c.Nodes[1:]
		recoverNode(t, n, "n1="+n.Address)
		c.Network.Isolate(n.Name, c.Names()...)
		for _, g := range ghosts {
			g.Start()
		}
		c.Wait("a leader of the ghosts", func() error {
			for _, g := range ghosts {
				if g.IsLeader() {
					return nil
				}
			}
			return errors.New("nobody leads")
		})
		for i := range 20 {
			mustPropose(t, ghosts[i%2], create(fmt.Sprint("ghostly ", i)))
		}
		n.Start()
		c.Wait("the survivor", n.Ready)
		term := n.Term()
		c.Network.HealAll()
		for range 50 { // its Raft must hear nothing of them, as long as they lead
			mustPropose(t, n, create(randomName()))
		}
		for _, g := range ghosts {
			c.Wait("the ghost to be told", func() error {
				if got := g.Identity().State; got != logstore.Removed {
					return fmt.Errorf("%s is %s", g.Name, got)
				}
				return nil
			})
		}
		if !n.IsLeader() || n.Term() != term || n.View().Graph.Len() != 55 {
			t.Errorf("term %d and then %d, %d topics", term, n.Term(), n.View().Graph.Len())
		}
	})
}

var names int

func randomName() string {
	names++
	return fmt.Sprint("topic ", names)
}

// TestGhostOfTheJoinList: a node whose own start names the recovered one ends
// with words.
func TestGhostOfTheJoinList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := lostMajority(t)
		n, ghost := c.Nodes[0], c.Nodes[1]
		recoverNode(t, n, "n1="+n.Address)
		n.Config.Join = []string{ghost.Address, c.Nodes[2].Address}
		n.Start()
		c.WaitReady()
		ghost.Config.Join = []string{n.Address}
		ghost.Start()
		if err := ghost.Err(); err == nil || !strings.Contains(err.Error(), "its cluster was recovered without it") {
			t.Errorf("%v", err)
		}
		// The other way round it is no news.
		ghost.Config.Join = nil
		ghost.Start()
		n.Stop()
		n.Start()
		c.Wait("the survivor", n.Ready)
	})
}

// TestTwoSurvivors: of five, two are left, and both are recovered.
func TestTwoSurvivors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 5)
		mustPropose(t, c.Nodes[0], create("a"))
		waitTopics(c, 1)
		late := c.Nodes[1] // is behind
		late.Kill()
		mustPropose(t, c.Nodes[0], create("b"))
		waitTopics(c, 2)
		clustertest.Kill(c.Nodes...)
		c.Nodes = c.Nodes[:2]
		list := fmt.Sprintf("n2=%s,n1=%s", c.Nodes[1].Address, c.Nodes[0].Address)
		var groups []string
		for _, n := range c.Nodes {
			n.Config.Join = nil
			groups = append(groups, recoverNode(t, n, list).Group)
		}
		if groups[0] != groups[1] {
			t.Fatalf("groups %v", groups)
		}
		for _, n := range c.Nodes {
			n.Start()
		}
		c.WaitReady()
		c.WaitVoters(2)
		waitTopics(c, 2)
		mustPropose(t, late, create("c"))
		waitTopics(c, 3)
		c.Add()
		c.WaitReady()
		c.WaitVoters(3)
		for _, n := range c.Nodes {
			if len(n.View().Members) != 3 {
				t.Errorf("%s knows members %v", n.Name, n.View().Members)
			}
		}
	})
}

// TestForgottenSurvivor: one that is counted on and was not recovered itself
// is told what to do.
func TestForgottenSurvivor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := lostMajority(t)
		n, other := c.Nodes[0], c.Nodes[1]
		recoverNode(t, n, fmt.Sprintf("n1=%s,n2=%s", n.Address, other.Address))
		n.Start()
		other.Start()
		c.Wait("words", func() error {
			if problems := strings.Join(other.Status(t.Context()).Problems, "\n"); !strings.Contains(problems, "run the same floe recover on "+other.Config.DataDir) {
				return fmt.Errorf("problems: %s", problems)
			}
			return nil
		})
		if n.Ready() == nil {
			t.Error("ready on its own")
		}
		list := fmt.Sprintf("n1=%s,n2=%s", n.Address, other.Address)
		other.Stop()
		recoverNode(t, other, list)
		other.Start()
		c.WaitReady()
		c.WaitVoters(2)
	})
}

// TestRecoverTwice: a recovered node may be recovered again, from what came
// after.
func TestRecoverTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := lostMajority(t)
		n := c.Nodes[0]
		list := "n1=" + n.Address
		first := recoverNode(t, n, list)
		n.Start()
		c.WaitReady()
		mustPropose(t, n, create("between"))
		n.Kill()
		second := recoverNode(t, n, list)
		if first.Group == second.Group || !strings.Contains(second.Group, "#2-") {
			t.Errorf("groups %s, %s", first.Group, second.Group)
		}
		n.Start()
		c.WaitReady()
		if n.View().Graph.Len() != 6 {
			t.Errorf("%d topics", n.View().Graph.Len())
		}
		dirs, _ := filepath.Glob(filepath.Join(n.Config.DataDir, "backup-before-recover-*"))
		if len(dirs) != 2 {
			t.Errorf("copies: %v", dirs)
		}
	})
}

// TestInterruptedRecovery: what a crash in the middle left does not start, and
// is recovered all the same.
func TestInterruptedRecovery(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := lostMajority(t)
		n := c.Nodes[0]
		dir, list := n.Config.DataDir, "n1="+n.Address
		identity, err := os.ReadFile(filepath.Join(dir, "identity.json"))
		if err != nil {
			t.Fatal(err)
		}
		r := recoverNode(t, n, list)
		next, err := os.ReadFile(filepath.Join(dir, "identity.json"))
		if err != nil {
			t.Fatal(err)
		}
		// As it stands before the last step.
		pending := filepath.Join(dir, "recovering")
		write := func(path string, b []byte) {
			t.Helper()
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(pending, 0o700); err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(pending, "identity.json"), next)
		write(filepath.Join(dir, "identity.json"), identity)
		if err := n.TryStart(); err == nil || !strings.Contains(err.Error(), "run floe recover again") {
			t.Fatalf("started: %v", err)
		}
		again := recoverNode(t, n, list)
		if again.Digest != r.Digest || again.Last != r.Last {
			t.Errorf("%+v, before %+v", again, r)
		}
		n.Start()
		c.WaitReady()
		// Only the traces were left: that is no hindrance.
		n.Kill()
		next, _ = os.ReadFile(filepath.Join(dir, "identity.json"))
		if err := os.Mkdir(pending, 0o700); err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(pending, "identity.json"), next)
		if _, err := openRecovery(dir, list); err == nil || !strings.Contains(err.Error(), "recovered already") {
			t.Errorf("recovered again: %v", err)
		}
		n.Start()
		c.WaitReady()
	})
}
