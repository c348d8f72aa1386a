package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/cluster/logstore"
	"floe/cluster/logstore/faulty"
)

// disk is what a test does to the disk of a node.
type disk struct {
	fails atomic.Pointer[error]         // the result of all operations
	hangs atomic.Pointer[chan struct{}] // they hang until it is closed
	slow  atomic.Int64                  // nanoseconds that each write takes
	calls atomic.Int64
}

func (d *disk) hook(op string) error {
	d.calls.Add(1)
	if ch := d.hangs.Load(); ch != nil {
		<-*ch
	}
	if op == faulty.StoreLogs || op == faulty.Set {
		time.Sleep(time.Duration(d.slow.Load()))
	}
	if err := d.fails.Load(); err != nil {
		return *err
	}
	return nil
}

func (d *disk) fail(err error) { d.fails.Store(&err) }

// hang lasts until release, or the end of the test.
func (d *disk) hang(t *testing.T) (release func()) {
	ch := make(chan struct{})
	d.hangs.Store(&ch)
	release = sync.OnceFunc(func() { d.hangs.Store(nil); close(ch) })
	t.Cleanup(release)
	return release
}

// faultyCluster is a cluster of voters on disks that the test holds.
func faultyCluster(t *testing.T, size int, change ...func(*cluster.Config)) (*clustertest.Cluster, map[string]*disk) {
	t.Helper()
	c := clustertest.Empty(t)
	disks := map[string]*disk{}
	for range size {
		d := &disk{}
		n := c.Plan(append(change, func(cfg *cluster.Config) { cfg.Backend = faulty.Wrap(logstore.OpenBolt, d.hook) })...)
		disks[n.Name] = d
		n.Start()
		c.WaitReady()
	}
	c.WaitVoters(size)
	return c, disks
}

// waitProblem waits until a node says that among its problems.
func waitProblem(c *clustertest.Cluster, n *clustertest.Node, text string) {
	c.T.Helper()
	c.Wait("a problem: "+text, func() error {
		all := strings.Join(n.Status(context.Background()).Problems, "\n")
		if !strings.Contains(all, text) {
			return fmt.Errorf("problems: %s", all)
		}
		return nil
	})
}

// waitOtherLeader waits until the nodes agree on a leader that is not n.
func waitOtherLeader(c *clustertest.Cluster, n *clustertest.Node) *clustertest.Node {
	c.T.Helper()
	var leader *clustertest.Node
	c.Wait("another leader than "+n.Name, func() error {
		for _, other := range without(c.Nodes, n) {
			if other.Running() && other.IsLeader() {
				leader = other
				return nil
			}
		}
		return errors.New("none")
	})
	return leader
}

// TestDiskFails: the others go on, and the node serves its last View, says
// what is wrong, and never touches its disk again.
func TestDiskFails(t *testing.T) {
	for _, role := range []string{"leader", "follower"} {
		bubble(t, func(t *testing.T) {
			c, disks := faultyCluster(t, 3)
			mustPropose(t, c.Nodes[0], create("a"))
			waitTopics(c, 1)
			broken := map[string]*clustertest.Node{"leader": c.Leader(), "follower": c.Follower()}[role]
			disks[broken.Name].fail(errors.New("input/output error"))
			other := without(c.Nodes, broken)[0]
			mustPropose(t, other, create("b"))
			if broken.View().Graph.Topic("a") == nil {
				t.Error("the last View is gone")
			}
			waitProblem(c, broken, "input/output error")
			if broken.Ready() == nil || broken.IsLeader() || !broken.Figures().Failed {
				t.Errorf("%s: ready, leading or not failed without a disk", role)
			}
			_, err := broken.Propose(t.Context(), create("c"), "test")
			var q *cluster.NoQuorum
			if !errors.As(err, &q) {
				t.Errorf("change through it: %v", err)
			}
			disks[broken.Name].fails.Store(nil) // it would work again
			calls, vote := disks[broken.Name].calls.Load(), broken.Identity().VoteTerm
			mustPropose(t, other, create("d"))
			if role == "follower" {
				if err := c.Leader().Transfer(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute) // of virtual time
			if got := disks[broken.Name].calls.Load(); got != calls || broken.Identity().VoteTerm != vote || broken.Ready() == nil {
				t.Errorf("%s: after the failure: %d operations, vote in term %d", role, got-calls, broken.Identity().VoteTerm)
			}
			if !broken.Running() {
				t.Fatalf("%s: ended: %v", role, broken.Err())
			}
			broken.Stop()
			broken.Start()
			c.WaitReady()
			waitTopics(c, 3)
		})
	}
}

// TestExitOnDiskError: a node told so ends, with the error of the storage.
func TestExitOnDiskError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, disks := faultyCluster(t, 3, func(cfg *cluster.Config) { cfg.ExitOnDiskError = true })
		leader := c.Leader()
		disks[leader.Name].fail(errors.New("input/output error"))
		mustPropose(t, without(c.Nodes, leader)[0], create("a"))
		var f *logstore.FailedError
		if err := leader.Err(); !errors.As(err, &f) {
			t.Errorf("got %v, want FailedError", err)
		}
	})
}

// TestDiskHangsOnLeader: others elect and go on, while the disk of the leader
// gives no answer, and it comes back when the disk does. A second time within
// ten minutes it does not give up.
func TestDiskHangsOnLeader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, disks := faultyCluster(t, 3)
		leader := c.Leader()
		release := disks[leader.Name].hang(t)
		started := time.Now()
		go leader.Propose(t.Context(), create("stuck"), "test") // has something to write
		next := waitOtherLeader(c, leader)
		took := time.Since(started)
		t.Logf("another leader after %v", took)
		if took < cluster.DefaultDiskStall || took > cluster.DefaultDiskStall+3*time.Second {
			t.Errorf("another leader after %v", took)
		}
		if leader.IsLeader() || leader.LeaderID() == leader.Name {
			t.Error("the node that is silent calls itself the leader")
		}
		mustPropose(t, next, create("a"))
		waitProblem(c, leader, "hangs")
		release()
		c.WaitReady()
		c.Wait("no problem", func() error {
			if p := leader.Status(t.Context()).Problems; len(p) > 0 {
				return errors.New(strings.Join(p, "\n"))
			}
			return nil
		})
		mustPropose(t, leader, create("b"))

		if err := c.Leader().Transfer(t.Context(), leader.Name); err != nil {
			t.Fatal(err)
		}
		c.WaitReady()
		release = disks[leader.Name].hang(t)
		go leader.Propose(t.Context(), create("again"), "test")
		time.Sleep(giveUpAgain / 2) // of virtual time
		if leader.LeaderID() != leader.Name {
			t.Error("gave up again within ten minutes")
		}
		waitProblem(c, leader, "hangs")
		time.Sleep(giveUpAgain)
		waitOtherLeader(c, leader)
		release()
		c.WaitReady()
	})
}

const giveUpAgain = 10 * time.Minute

// TestDiskHangsOnFollower: it confirms nothing and votes for nobody until its
// disk answers.
func TestDiskHangsOnFollower(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, disks := faultyCluster(t, 3)
		leader, f := c.Leader(), c.Follower()
		third := without(without(c.Nodes, leader), f)[0]
		release := disks[f.Name].hang(t)
		mustPropose(t, leader, create("a"))
		waitProblem(c, f, "hangs")
		third.Kill() // the one that is left must not get its vote
		time.Sleep(time.Minute)
		if leader.IsLeader() {
			t.Error("a follower whose disk hangs keeps a leader in office")
		}
		release()
		c.WaitReady()
		mustPropose(t, f, create("b"))
	})
}

// TestStopWhileDiskHangs: the end waits for --disk-stall and no longer.
func TestStopWhileDiskHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, disks := faultyCluster(t, 3)
		leader := c.Leader()
		release := disks[leader.Name].hang(t)
		go leader.Propose(t.Context(), create("stuck"), "test")
		waitProblem(c, leader, "hangs")
		began := time.Now()
		leader.Stop()
		if took := time.Since(began); took > 2*cluster.DefaultDiskStall {
			t.Errorf("the end took %v", took)
		}
		if err := leader.Err(); err == nil || !strings.Contains(err.Error(), leader.Config.DataDir) || !strings.Contains(err.Error(), "hangs") {
			t.Errorf("got %v", err)
		}
		release()
	})
}

// TestSlowDiskCostsNoElection: pauses of 300 ms are no reason.
func TestSlowDiskCostsNoElection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, disks := faultyCluster(t, 3)
		term := c.Leader().Term()
		for _, d := range disks {
			d.slow.Store(int64(300 * time.Millisecond))
		}
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
			if _, err := c.Nodes[0].Propose(t.Context(), create(fmt.Sprint(time.Now().UnixNano())), "test"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if got := c.Leader().Term(); got != term {
			t.Errorf("from term %d to %d", term, got)
		}
	})
}

// room is the free space that a test gives a node.
type room struct{ free atomic.Uint64 }

const plenty = 1 << 30

func (r *room) look(string) (free, size uint64, err error) { return r.free.Load(), 64 * plenty, nil }

// roomyCluster is a cluster of voters whose free space the test sets.
func roomyCluster(t *testing.T, size int, change ...func(*cluster.Config)) (*clustertest.Cluster, map[string]*room) {
	t.Helper()
	rooms := map[string]*room{}
	c := clustertest.New(t, size, append(change, func(cfg *cluster.Config) {
		r := &room{}
		r.free.Store(plenty)
		rooms[cfg.ID] = r
		cfg.FreeSpace = r.look
	})...)
	return c, rooms
}

// TestDiskFull: a leader without room hands over, and may be asked for changes
// through all of it; it takes its part again by itself.
func TestDiskFull(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, rooms := roomyCluster(t, 3)
		full := c.Leader()
		rooms[full.Name].free.Store(8 << 20)
		next := waitOtherLeader(c, full)
		waitProblem(c, full, "no space")
		waitProblem(c, full, full.Config.DataDir)
		mustPropose(t, next, create("a"))
		if got := full.View().Graph.Topic("a"); got != nil {
			t.Error("a node without room took an entry")
		}
		wantNoSpace(t, full, "node "+full.Name, full.Config.DataDir)
		if _, err := full.Read(t.Context()); !errors.Is(err, &cluster.Refused{Code: cluster.CodeNoSpace}) {
			t.Errorf("a read of what it lacks: %v", err)
		}
		if err := next.Transfer(t.Context(), without(without(c.Nodes, full), next)[0].Name); err != nil {
			t.Errorf("its vote is missing: %v", err)
		}
		rooms[full.Name].free.Store(plenty)
		waitTopics(c, 1)
		c.WaitReady()
		mustPropose(t, full, create("b"))
		if f := full.Figures(); f.Failed || f.Full || f.Free != plenty || f.Reserve != 16<<20 {
			t.Errorf("figures %+v", f)
		}
	})
}

// wantNoSpace proposes and wants the refusal.
func wantNoSpace(t *testing.T, n *clustertest.Node, words ...string) {
	t.Helper()
	started := time.Now()
	_, err := n.Propose(t.Context(), create("x"), "test")
	if !errors.Is(err, &cluster.Refused{Code: cluster.CodeNoSpace}) {
		t.Fatalf("got %v, want no space", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	if took := time.Since(started); took > 3*time.Second {
		t.Errorf("refused after %v", took)
	}
}

// TestAllDisksFull: changes are refused with the reason and the place, nothing
// is left of them, and they are taken again when there is space.
func TestAllDisksFull(t *testing.T) {
	for _, size := range []int{1, 3} {
		bubble(t, func(t *testing.T) {
			c, rooms := roomyCluster(t, size)
			mustPropose(t, c.Nodes[0], create("a"))
			for _, r := range rooms {
				r.free.Store(0)
			}
			for _, n := range c.Nodes {
				waitProblem(c, n, "no space")
			}
			for _, n := range c.Nodes {
				wantNoSpace(t, n, "no space", "data directory", "node n")
			}
			for _, r := range rooms {
				r.free.Store(17 << 20) // more than the reserve, but not by a quarter
			}
			time.Sleep(time.Minute)
			wantNoSpace(t, c.Nodes[0])
			for _, r := range rooms {
				r.free.Store(plenty)
			}
			c.Wait("changes again", func() error {
				_, err := c.Nodes[0].Propose(t.Context(), create("b"), "test")
				return err
			})
			waitTopics(c, 2)
		})
	}
}

// TestNoSpaceAfterAnAnswerThatWasLost: a change that may have been made is not
// refused for want of space: nobody knows.
func TestNoSpaceAfterAnAnswerThatWasLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		slow := atomic.Bool{}
		c, rooms := roomyCluster(t, 3, func(cfg *cluster.Config) {
			disk := &clustertest.Disk{Delay: func() time.Duration {
				if slow.Load() {
					return 200 * time.Millisecond
				}
				return 0
			}}
			cfg.Backend = disk.Open
		})
		leader, asker := c.Leader(), c.Follower()
		slow.Store(true)
		done := make(chan error, 1)
		go func() {
			_, err := asker.Propose(t.Context(), create("a"), "test")
			done <- err
		}()
		time.Sleep(100 * time.Millisecond) // it is on its way to the disks
		c.Network.Isolate(asker.Name, leader.Name)
		c.Wait("the change", func() error {
			if leader.View().Graph.Topic("a") == nil {
				return errors.New("not made")
			}
			return nil
		})
		for _, r := range rooms {
			r.free.Store(0)
		}
		for _, n := range c.Nodes {
			waitProblem(c, n, "no space")
		}
		c.Network.HealAll()
		if err := <-done; !errors.As(err, new(*cluster.Unknown)) {
			t.Errorf("got %v, want unknown: it was made", err)
		}
	})
}

// TestFollowersFull: a leader whose followers have no room refuses what it
// could not have committed.
func TestFollowersFull(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, rooms := roomyCluster(t, 3)
		leader := c.Leader()
		for _, n := range without(c.Nodes, leader) {
			rooms[n.Name].free.Store(0)
			waitProblem(c, n, "no space")
		}
		_, err := leader.Propose(t.Context(), create("first"), "test") // may be in the log by then
		if err == nil {
			t.Fatal("acknowledged without a majority")
		}
		wantNoSpace(t, leader, "2 of 3 voters", "no space")
		for _, r := range rooms {
			r.free.Store(plenty)
		}
		c.Wait("changes again", func() error {
			_, err := leader.Propose(t.Context(), create("b"), "test")
			return err
		})
		c.WaitReady()
	})
}

// TestWriteFindsNoSpace: where the disk fills up faster than anybody looks,
// the storage is opened anew when there is space, without a restart.
func TestWriteFindsNoSpace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, disks := faultyCluster(t, 3)
		for _, full := range []*clustertest.Node{c.Leader(), c.Follower()} {
			d := disks[full.Name]
			d.fail(fmt.Errorf("raft.db: %w", &fs.PathError{Op: "write", Path: "raft.db", Err: syscall.ENOSPC}))
			other := without(c.Nodes, full)[0]
			mustPropose(t, other, create("a"+full.Name))
			c.Wait("out of service", func() error {
				if !full.Figures().Failed {
					return errors.New("in service")
				}
				return nil
			})
			d.fails.Store(nil)
			c.WaitReady()
			mustPropose(t, full, create("b"+full.Name))
			if p := full.Status(t.Context()).Problems; len(p) > 0 {
				t.Errorf("problems: %v", p)
			}
		}
		waitTopics(c, 4)
	})
}
