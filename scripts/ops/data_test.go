package ops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"floe/scripts/floetest"
	"floe/transport/http/api"
)

// noData fails the test where the node has made its data directory.
func noData(t *testing.T, n *floetest.Node) {
	t.Helper()
	if _, err := os.Stat(n.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("data directory of a node that was refused: %v", err)
	}
}

// contents maps the files under a directory to their bytes.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// unchanged fails the test where a directory is no longer what it was. The lock holds the id of the process that took it
// last, and bbolt rewrites its pages when it opens a file: what raft.db holds is seen at the next start.
func unchanged(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	now := contents(t, dir)
	for path, b := range now {
		if base := filepath.Base(path); base == "lock" || base == "raft.db" {
			continue
		}
		if was, ok := before[path]; !ok || was != b {
			t.Errorf("%s was changed (was there: %t)", path, ok)
		}
	}
	for path := range before {
		if _, ok := now[path]; !ok {
			t.Errorf("%s is gone", path)
		}
	}
}

// stopped starts a node, has it create a topic, and stops it.
func stopped(t *testing.T, id string) *floetest.Node {
	t.Helper()
	n := floetest.NewNode(t, id)
	n.Start()
	n.WaitReady()
	n.Must("create", "kept")
	n.Stop()
	return n
}

func TestMissingDataDirectoryIsMade(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "deep")
	n.Dir = filepath.Join(n.Dir, "a", "b")
	n.Start()
	n.WaitReady()
	if s := n.WaitAnswering(); s.Data != n.Dir {
		t.Errorf("status names data %q, want %q", s.Data, n.Dir)
	}
}

// A11: each ends at once, exit 1, naming the path, and changes nothing.
func TestDataDirectoryThatIsNone(t *testing.T) {
	t.Parallel()
	t.Run("a file", func(t *testing.T) {
		n := floetest.NewNode(t, "n1")
		if err := os.WriteFile(n.Dir, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		wantExit(t, n.StartRefused(), 1, n.Dir, "not a directory")
		if b, err := os.ReadFile(n.Dir); string(b) != "precious" {
			t.Errorf("file now %q, %v", b, err)
		}
	})
	t.Run("below a file", func(t *testing.T) {
		n := floetest.NewNode(t, "n1")
		if err := os.WriteFile(n.Dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		n.Dir = filepath.Join(n.Dir, "data")
		wantExit(t, n.StartRefused(), 1, n.Dir)
	})
	t.Run("read-only", func(t *testing.T) {
		n := stopped(t, "n1")
		readOnly(t, n.Dir)
		before := contents(t, n.Dir)
		wantExit(t, n.StartRefused(), 1, n.Dir, "read-only")
		unchanged(t, n.Dir, before)
	})
	t.Run("somebody else's files", func(t *testing.T) {
		n := floetest.NewNode(t, "n1")
		if err := os.Mkdir(n.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(n.Dir, "notes.txt"), []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := contents(t, n.Dir)
		wantExit(t, n.StartRefused(), 1, n.Dir, "notes.txt", "an empty or a new directory")
		unchanged(t, n.Dir, before)
	})
}

// readOnly makes a directory read-only for everybody, root as well, until the test ends.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		for path := range contents(t, dir) {
			if err := os.Chmod(path, 0o400); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		return
	}
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Fatalf("bind mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatalf("read-only remount: %v", err)
	}
}

// R20: two processes on one data directory.
func TestDataDirectoryInUse(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "n1")
	n.Start()
	n.WaitReady()
	second := floetest.NewNode(t, "n1")
	second.Dir = n.Dir
	o := second.StartRefused()
	wantExit(t, o, 1, n.Dir, fmt.Sprint(n.PID()))
	n.Must("create", "untouched")
	if s := n.WaitAnswering(); len(s.Problems) != 0 {
		t.Errorf("problems of the first: %v", s.Problems)
	}
}

func TestDataDirectoryOfAnotherNode(t *testing.T) {
	t.Parallel()
	n := stopped(t, "n1")
	before := contents(t, n.Dir)
	n.ID = "other"
	wantExit(t, n.StartRefused(), 1, n.Dir, `node "other"`, `belongs to node "n1"`, "--id n1")
	unchanged(t, n.Dir, before)
	n.ID = "n1"
	n.Start()
	n.WaitReady()
	if got := names(t, n); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("topics %v after the refusal", got)
	}
}

// A data directory of another cluster than the join list leads to.
func TestDataDirectoryOfAnotherCluster(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 1)
	ours := c.Nodes[0].WaitAnswering().ClusterID
	n := stopped(t, "stranger")
	o := n.StartRefused("--join", c.Peers())
	wantExit(t, o, 1, `node "stranger"`, n.Dir, ours, "nothing was changed", "empty data directory")
	if s := c.Nodes[0].WaitAnswering(); len(s.Members) != 1 {
		t.Errorf("members %v", s.Members)
	}
	n.Start()
	n.WaitReady()
	if got := names(t, n); len(got) != 1 || got[0] != "kept" {
		t.Errorf("topics %v after the refusal", got)
	}
}

// Data that was there and is gone: a node that forgot what it acknowledged must not come back as itself.
func TestDataThatIsGone(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	c.Nodes[0].Must("create", "kept")
	victim := c.Followers()[0]
	others := c.PeersWithout(victim)
	victim.Kill()
	whole := copyDir(t, victim.Dir)
	remedy := fmt.Sprintf("floe remove %s --force", victim.ID)

	for _, name := range []string{"log.db", "raft.db", "floe.db"} {
		_ = os.Remove(filepath.Join(victim.Dir, name))
	}
	logs, err := filepath.Glob(filepath.Join(victim.Dir, "*.db"))
	if err != nil || len(logs) != 0 {
		t.Fatalf("logs left: %v, %v", logs, err)
	}
	o := victim.StartRefused("--join", others)
	wantExit(t, o, 1, fmt.Sprintf("node %q", victim.ID), victim.Dir, remedy)

	restoreDir(t, whole, victim.Dir)
	if err := os.Remove(filepath.Join(victim.Dir, "identity.json")); err != nil {
		t.Fatal(err)
	}
	wantExit(t, victim.StartRefused("--join", others), 1, victim.Dir, "identity.json")

	if err := os.RemoveAll(victim.Dir); err != nil {
		t.Fatal(err)
	}
	wantExit(t, victim.StartRefused("--join", others), 1, fmt.Sprintf("node %q", victim.ID), victim.Dir, remedy)
	if s := c.WaitLeader().WaitAnswering(); floetest.Voters(s) != 3 || floetest.Roles(s)[victim.ID] != "unreachable" {
		t.Errorf("members after the refusals: %v", s.Members)
	}

	// The remedy works.
	c.WaitLeader().Must("remove", victim.ID, "--force")
	if err := os.RemoveAll(victim.Dir); err != nil {
		t.Fatal(err)
	}
	victim.Start("--join", others)
	c.WaitVoters(3)
	if got := names(t, victim, "--stale"); len(got) != 1 {
		t.Errorf("topics of the emptied node: %v", got)
	}
}

// An older copy of the data, put back: the node promised more than that copy knows.
func TestDataThatIsOlder(t *testing.T) {
	t.Parallel()
	n := stopped(t, "n1")
	old := copyDir(t, n.Dir)
	n.Start()
	n.WaitReady()
	for i := range 5 {
		n.Must("create", fmt.Sprint("later", i))
	}
	n.Stop()
	identity, err := os.ReadFile(filepath.Join(n.Dir, "identity.json"))
	if err != nil {
		t.Fatal(err)
	}
	restoreDir(t, old, n.Dir)
	if err := os.WriteFile(filepath.Join(n.Dir, "identity.json"), identity, 0o600); err != nil {
		t.Fatal(err)
	}
	wantExit(t, n.StartRefused(), 1, `node "n1"`, n.Dir)
}

func TestIDOfALiveNodeTakenTwice(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 2)
	thief := floetest.NewNode(t, "n2")
	for _, list := range []string{c.Peers(), c.Nodes[0].Peer(), c.Nodes[1].Peer()} {
		o := thief.StartRefused("--join", list)
		wantExit(t, o, 1, `node "n2"`, thief.Dir, "another --id")
	}
	for _, n := range c.Nodes {
		n.WaitReady()
	}
	if s := c.Nodes[0].WaitAnswering(); len(s.Members) != 2 || len(s.Problems) != 0 {
		t.Errorf("status after the refusals: %+v", s)
	}
}

// A copy of a data directory, started while the original runs: the copy ends, wherever it is.
func TestCopyOfADataDirectory(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	c.Nodes[0].Must("create", "kept")
	origin := c.Nodes[2]
	origin.Kill()
	saved := copyDir(t, origin.Dir)
	origin.Start("--join", c.Peers())
	c.WaitVoters(3)
	twin := floetest.NewNode(t, "n3")
	restoreDir(t, saved, twin.Dir)
	for _, flags := range [][]string{nil, {"--join", c.Nodes[0].Peer()}} {
		o := twin.StartRefused(flags...)
		wantExit(t, o, 1, `node "n3"`, twin.Dir, origin.Peer())
	}
	c.WaitVoters(3)
	if s := c.Nodes[0].WaitStatus("well", func(s api.Status) bool { return len(s.Problems) == 0 }); len(s.Members) != 3 {
		t.Errorf("members %v", s.Members)
	}
}

// copyDir copies a directory to a temporary one.
func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	restoreDir(t, from, to)
	return to
}

// restoreDir replaces a directory by a copy of another.
func restoreDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, strings.TrimSpace(string(out)))
	}
}
