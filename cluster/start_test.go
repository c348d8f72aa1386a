package cluster_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/cluster/logstore"
)

func TestJoinThroughFollower(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 2)
		f := c.Follower()
		n := c.Add(func(cfg *cluster.Config) { cfg.Join = []string{f.Address} })
		c.WaitReady()
		c.WaitVoters(3)
		if got, want := n.View().ClusterID, f.View().ClusterID; got != want || got == "" {
			t.Errorf("cluster id %q, want %q", got, want)
		}
	})
}

func TestNonVoterStaysOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 1)
		n := c.Add(func(cfg *cluster.Config) { cfg.NonVoter = true })
		c.WaitReady()
		check := func() {
			t.Helper()
			made := mustPropose(t, n, create(fmt.Sprint(n.View().Index)))
			waitBarrier(c, made.Index) // time for many promotions
			if got := n.View().Voters(); got != 1 {
				t.Errorf("%d voters, want 1", got)
			}
		}
		check()
		n.Stop()
		n.Config.NonVoter = false // changes nothing later
		n.Restart(c.Nodes[0].Address)
		c.WaitReady()
		check()
	})
}

// A non-voter neither stands for election nor votes, however the membership
// changes while leaders are cut off (case C17). A candidate votes for itself.
func TestNonVoterNeverStands(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		watch := c.Add(func(cfg *cluster.Config) { cfg.ID, cfg.NonVoter = "watch", true })
		c.WaitReady()
		for range 10 {
			leader := c.Leader()
			extra := c.Add(func(cfg *cluster.Config) { cfg.NonVoter = true }) // asks to be let in meanwhile
			c.Network.Isolate(leader.Name, c.Names()...)
			c.Wait("another leader", func() error {
				if watch.IsLeader() {
					t.Fatal("the non-voter leads")
				}
				if id := watch.LeaderID(); id == leader.Name || id == "" {
					return fmt.Errorf("%q leads", id)
				}
				return nil
			})
			c.Network.HealAll()
			c.WaitReady()
			if _, err := c.Leader().Remove(t.Context(), extra.Name, false); err != nil {
				t.Fatal(err)
			}
			extra.Stop()
		}
		if term := watch.Identity().VoteTerm; term != 0 {
			t.Errorf("the non-voter voted in term %d", term)
		}
	})
}

func TestBootstrapExpect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.Empty(t)
		var all []string
		for range 3 {
			n := c.Plan(func(cfg *cluster.Config) { cfg.BootstrapExpect = 3 })
			all = append(all, n.Address)
		}
		for _, n := range c.Nodes {
			n.Config.Join = all // includes itself
			n.Start()
		}
		c.WaitReady()
		c.WaitVoters(3)
		id := c.Nodes[0].View().ClusterID
		for range 3 { // the flag stays in the unit file
			clustertest.Kill(c.Nodes...)
			for _, n := range c.Nodes {
				n.Start()
			}
			c.WaitReady()
		}
		for _, n := range c.Nodes {
			if got := n.View().ClusterID; got != id {
				t.Errorf("%s: cluster id %s, want %s", n.Name, got, id)
			}
		}
	})
}

func TestBootstrapExpectWaitsForAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.Empty(t)
		a := c.Plan(func(cfg *cluster.Config) { cfg.BootstrapExpect = 3 })
		b := c.Plan(func(cfg *cluster.Config) { cfg.BootstrapExpect = 3 })
		late := c.Plan(func(cfg *cluster.Config) { cfg.BootstrapExpect = 3 })
		for _, n := range c.Nodes {
			n.Config.Join = []string{a.Address, b.Address, late.Address}
		}
		a.Start()
		b.Start()
		c.Wait("a problem in words", func() error {
			if p := strings.Join(a.Status(t.Context()).Problems, "\n"); !strings.Contains(p, "no answer from "+late.Address) {
				return errors.New(p)
			}
			return nil
		})
		time.Sleep(time.Minute) // of virtual time
		if got := a.Identity().State; got != logstore.New {
			t.Fatalf("two of three: state %s", got)
		}
		late.Start()
		c.WaitReady()
		c.WaitVoters(3)
	})
}

func TestUnreachableJoinAddress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.Empty(t)
		first := c.Plan()
		n := c.Plan(func(cfg *cluster.Config) { cfg.Join = []string{first.Address} })
		n.Start()
		s := n.Status(t.Context())
		if s.Node != n.Name || s.ClusterID != "" || len(s.Problems) == 0 {
			t.Errorf("status %+v", s)
		}
		first.Start()
		c.WaitReady()
		c.WaitVoters(2)
	})
}

func TestJoinListNamesOnlyItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.Empty(t)
		n := c.Plan()
		n.Config.Join = []string{n.Address}
		n.Start()
		c.Wait("the problem named", func() error {
			all := strings.Join(n.Status(t.Context()).Problems, "\n")
			if strings.Contains(all, "names only this node") && strings.Contains(all, "without --join") {
				return nil
			}
			return errors.New(all)
		})
	})
}

// TestFoundingTogetherRaisesNoAlarm: nodes that wait for each other, or for a
// cluster that is just being founded, tell of no problem at once.
func TestFoundingTogetherRaisesNoAlarm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.Empty(t)
		a, b := c.Plan(), c.Plan()
		a.Config.Join, b.Config.Join = []string{b.Address}, []string{a.Address}
		b.Start()
		a.Start()
		problems := func() string { return strings.Join(a.Status(t.Context()).Problems, "; ") }
		time.Sleep(time.Second) // of virtual time
		if got := problems(); strings.Contains(got, "none is in a cluster") {
			t.Errorf("after a second: %s", got)
		}
		time.Sleep(10 * time.Second)
		if got := problems(); !strings.Contains(got, "none is in a cluster") {
			t.Errorf("after 11 s: got %q", got)
		}
	})
}

func TestAllRestartElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		made := mustPropose(t, c.Nodes[1], create("a"))
		waitBarrier(c, made.Index)
		for range 3 {
			clustertest.Kill(c.Nodes...)
			first := c.Nodes[0]
			first.Restart()
			for _, n := range c.Nodes[1:] {
				n.Restart(first.Address)
			}
			c.WaitReady()
			for _, n := range c.Nodes {
				if n.View().Graph.Topic("a") == nil {
					t.Errorf("%s lost the topic", n.Name)
				}
			}
			c.Wait("addresses in the state", func() error {
				for _, n := range c.Nodes {
					for _, other := range c.Nodes {
						m, _ := n.View().Member(other.Name)
						if got := m.Address("peer"); got != other.Address {
							return fmt.Errorf("%s has %s at %s, want %s", n.Name, other.Name, got, other.Address)
						}
					}
				}
				return nil
			})
		}
	})
}

// TestOneMovesWithoutList: a node that comes back elsewhere finds the others
// by what its state says, and they follow it.
func TestOneMovesWithoutList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		for _, n := range c.Nodes {
			start := time.Now()
			n.Kill()
			n.Restart()
			c.WaitReady()
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%s found again after %v", n.Name, took)
			}
		}
	})
}

func TestCutOffNodeServesLastState(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 3)
		made := mustPropose(t, c.Nodes[0], create("a"))
		waitBarrier(c, made.Index)
		digest := c.Nodes[0].View().Digest()
		clustertest.Kill(c.Nodes...)
		n := c.Nodes[2]
		n.Start()
		if got := n.View().Digest(); got != digest {
			t.Errorf("digest %v, want %v", got, digest)
		}
		if len(n.View().Servers) != 3 {
			t.Errorf("servers %v, want 3", n.View().Servers)
		}
		var q *cluster.NoQuorum
		if _, err := n.Read(t.Context()); !errors.As(err, &q) {
			t.Errorf("read: %v, want no quorum", err)
		}
	})
}

func TestSnapshotsCarryJoiners(t *testing.T) {
	bubble(t, func(t *testing.T) {
		small := func(cfg *cluster.Config) { cfg.SnapshotThreshold, cfg.SnapshotInterval = 8, 50*time.Millisecond }
		c := clustertest.New(t, 1, small)
		first := c.Nodes[0]
		for i := range 60 {
			mustPropose(t, first, create(fmt.Sprint(i)))
		}
		c.Wait("a snapshot", func() error {
			_, err := os.Stat(filepath.Join(first.Config.DataDir, "snapshots"))
			if entries, _ := os.ReadDir(filepath.Join(first.Config.DataDir, "snapshots")); len(entries) == 0 {
				return errors.Join(err, errors.New("none"))
			}
			return nil
		})
		c.Add(small)
		c.WaitReady()
		c.WaitVoters(2)
		waitTopics(c, 60)
		for _, n := range c.Nodes {
			n.Kill()
			n.Start()
		}
		c.WaitReady()
		waitTopics(c, 60)
	})
}

func TestTwoClustersRefuseEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 1)
		other := c.Add(func(cfg *cluster.Config) { cfg.Join = nil })
		c.WaitReady()
		mustPropose(t, c.Nodes[0], create("a"))
		mustPropose(t, other, create("b"))
		ids := [2]string{c.Nodes[0].View().ClusterID, other.View().ClusterID}
		if ids[0] == ids[1] {
			t.Fatal("one cluster id for two clusters")
		}
		err := other.Join(t.Context(), c.Nodes[0].Address)
		if !errors.Is(err, &cluster.Refused{Code: cluster.CodeOtherCluster}) || !strings.Contains(err.Error(), ids[0]) || !strings.Contains(err.Error(), ids[1]) {
			t.Errorf("join: %v, want a refusal with both ids", err)
		}
		if strings.Contains(err.Error(), "floe leave") || !strings.Contains(err.Error(), "floe graph") || !strings.Contains(err.Error(), "--join "+c.Nodes[0].Address) {
			t.Errorf("join: %v; the last node of a cluster can't leave it", err)
		}
		var u *cluster.Unreachable
		if err := other.Join(t.Context(), c.Network.NewAddress()); !errors.As(err, &u) {
			t.Errorf("join through nobody: %v, want unreachable", err)
		}
		other.Stop()
		other.Config.Join = []string{c.Nodes[0].Address}
		other.Start()
		var o *cluster.OtherCluster
		if err := other.Err(); !errors.As(err, &o) || o.Dir != other.Config.DataDir {
			t.Errorf("restart with a join list of another cluster: %v", err)
		}
		other.Config.Join = nil
		other.Start()
		c.WaitReady()
		if other.View().Graph.Topic("b") == nil || c.Nodes[0].View().Graph.Len() != 1 {
			t.Error("something was merged or lost")
		}
	})
}

func TestUnusedClusterOfOneJoins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 1)
		mustPropose(t, c.Nodes[0], create("a"))
		n := c.Add(func(cfg *cluster.Config) { cfg.Join = nil })
		c.WaitReady()
		if err := n.Join(t.Context(), c.Nodes[0].Address); err != nil {
			t.Fatal(err)
		}
		c.WaitVoters(2)
		waitTopics(c, 1)
		err := n.Join(t.Context(), c.Nodes[0].Address)
		if !errors.Is(err, &cluster.Refused{Code: cluster.CodeAlready}) {
			t.Errorf("join again: %v", err)
		}
	})
}

func TestIdentityErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := clustertest.New(t, 2)
		n := c.Nodes[1]

		t.Log("id of a live node taken twice")
		twice := c.Plan(func(cfg *cluster.Config) { cfg.ID = n.Name })
		twice.Start()
		var d *cluster.DuplicateID
		err := twice.Err()
		if !errors.As(err, &d) || !strings.Contains(err.Error(), "floe remove n2 --force") || !strings.Contains(err.Error(), twice.Config.DataDir) {
			t.Errorf("a name twice: %v", err)
		}

		t.Log("another id, as the refusal advises")
		other := c.Plan(func(cfg *cluster.Config) { cfg.ID, cfg.DataDir = "n9", twice.Config.DataDir })
		other.Start()
		c.WaitVoters(3)

		t.Log("a copy of live data")
		copied := c.Plan(func(cfg *cluster.Config) { cfg.ID = "" })
		copyDir(t, copied.Config.DataDir, n.Config.DataDir)
		copied.Start()
		if err := copied.Err(); !errors.As(err, &d) {
			t.Errorf("a copy of live data: %v", err)
		}

		t.Log("locked")
		locked := c.Plan(func(cfg *cluster.Config) { cfg.ID, cfg.DataDir = "", n.Config.DataDir })
		var l *logstore.LockedError
		if err := locked.TryStart(); !errors.As(err, &l) || l.Node != n.Name || !strings.Contains(err.Error(), "--data") {
			t.Errorf("locked: %v", err)
		}

		n.Stop()
		t.Log("another id than stored")
		renamed := c.Plan(func(cfg *cluster.Config) { cfg.ID, cfg.DataDir = "other", n.Config.DataDir })
		var w *cluster.WrongID
		if err := renamed.TryStart(); !errors.As(err, &w) || w.Stored != n.Name {
			t.Errorf("wrong id: %v", err)
		}

		t.Log("emptied, name kept")
		emptied := c.Plan(func(cfg *cluster.Config) { cfg.ID = n.Name })
		emptied.Start()
		if err := emptied.Err(); !errors.As(err, &d) || strings.Count(err.Error(), "--force") != 1 {
			t.Errorf("emptied: %v", err)
		}

		t.Log("log damaged")
		path := filepath.Join(n.Config.DataDir, "raft.db")
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, len(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		var x *cluster.DamagedData
		if err := n.TryStart(); !errors.As(err, &x) || x.Node != n.Name || !strings.Contains(err.Error(), n.Config.DataDir) || !strings.Contains(err.Error(), "floe remove n2 --force") {
			t.Errorf("log damaged: %v", err)
		}

		t.Log("log gone")
		if err := os.Remove(filepath.Join(n.Config.DataDir, "raft.db")); err != nil {
			t.Fatal(err)
		}
		var f *logstore.ForeignDataError
		if err := n.TryStart(); !errors.As(err, &f) {
			t.Errorf("log gone: %v", err)
		}
	})
}

func copyDir(t *testing.T, to, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBadConfig(t *testing.T) {
	dir := t.TempDir()
	network := clustertest.NewNetwork().Host("n", "10.0.0.1:7400").Network()
	for _, test := range []struct {
		name   string
		change func(*cluster.Config)
		want   string
	}{
		{"no dir", func(c *cluster.Config) { c.DataDir = "" }, "no data directory"},
		{"id", func(c *cluster.Config) { c.ID = "a b" }, `node id "a b"`},
		{"long id", func(c *cluster.Config) { c.ID = strings.Repeat("x", 65) }, `node id "xxxxx`},
		{"join", func(c *cluster.Config) { c.Join = []string{"host"} }, `"host" is not host:port`},
		{"expect alone", func(c *cluster.Config) { c.BootstrapExpect = 3 }, "needs a join list"},
		{"expect one", func(c *cluster.Config) { c.BootstrapExpect = 1 }, "needs 2 nodes"},
		{"no network", func(c *cluster.Config) { c.Network = cluster.Network{} }, "no network"},
	} {
		cfg := cluster.Config{DataDir: dir, Network: network}
		test.change(&cfg)
		if _, err := cluster.Open(cfg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}
