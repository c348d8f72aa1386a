package ops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"floe/scripts/floetest"
	"floe/transport/http/api"
)

// R16, M6: one of three has survived. What is not meant so changes nothing; what is brings back a leader with all its
// data. The others, found again, are told; fresh nodes join.
func TestRecoverAfterLostMajority(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	n, lost := c.Nodes[0], c.Nodes[1:]
	load := startCreating(t, c.Nodes, "load")
	load.wait(t, 30)
	made := load.stop()
	n.Must("link", made.acked[0], made.acked[1], "-3")
	wantExit(t, floetest.Floe(t, "recover", "--data", n.Dir, "--members", "n1="+n.Peer(), "--yes"), 1, "in use by process")
	c.WaitSame()
	c.Kill()
	refusedRecoveries(t, n, lost[0])

	o := floetest.Floe(t, "recover", "--data", n.Dir, "--members", "n1="+n.Peer())
	wantExit(t, o, 1, "nothing was changed; add --yes")
	for _, text := range []string{"voters n1, n2, n3", "lost is what the others acknowledged after entry", "n2, n3 will be members no more"} {
		if !strings.Contains(o.Stdout, text) {
			t.Errorf("stdout does not say %q: %v", text, o)
		}
	}
	if o := floetest.Floe(t, "recover", "--data", n.Dir, "--members", "n1="+n.Peer(), "--yes"); o.Exit != 0 || !strings.Contains(o.Stdout, "backup-before-recover-") {
		t.Fatalf("recover: %v", o)
	}
	n.Start("--join", c.Peers()) // as its unit file has it
	n.WaitReady()
	missing(t, n, made.acked)
	if got := n.Must("links"); !strings.Contains(got, "with cost -3") {
		t.Errorf("links: %s", got)
	}
	if s := statusOf(t, n); s.Leader != "n1" || len(s.Members) != 1 {
		t.Errorf("status %+v", s)
	}
	n.Must("create", "after")

	// Those that were lost come back, together, with all they had.
	for _, ghost := range lost {
		ghost.Start()
	}
	for _, ghost := range lost {
		ghost.WaitStatus("told that it was removed", func(s api.Status) bool {
			return strings.Contains(strings.Join(s.Problems, "\n"), "was removed from cluster")
		})
	}
	if got := names(t, n); !slices.Contains(got, "after") || statusOf(t, n).Leader != "n1" {
		t.Errorf("disturbed: %v", got)
	}
	for _, ghost := range lost {
		ghost.Kill()
		if err := os.RemoveAll(ghost.Dir); err != nil {
			t.Fatal(err)
		}
		ghost.Start("--join", n.Peer())
	}
	c.WaitVoters(3)
	c.WaitSame()
	for _, x := range c.Nodes {
		missing(t, x, append(slices.Clone(made.acked), "after"))
	}
	n.Kill()
	lost[0].Must("create", "without the survivor")
}

// refusedRecoveries: none of these changes the directory.
func refusedRecoveries(t *testing.T, n, other *floetest.Node) {
	t.Helper()
	before := listing(t, n.Dir)
	empty := t.TempDir()
	for name, c := range map[string]struct {
		dir, members string
		exit         int
		said         string
	}{
		"nothing":        {n.Dir, "", 2, "--members"},
		"null":           {n.Dir, "null", 2, "is not ID=HOST:PORT"},
		"json":           {n.Dir, `[{"id":"n1","address":"` + n.Peer() + `"}]`, 2, "is not ID=HOST:PORT"},
		"no address":     {n.Dir, "n1", 2, "is not ID=HOST:PORT"},
		"unknown id":     {n.Dir, "n1=" + n.Peer() + ",n9=" + other.Peer(), 1, "node n9 is not in the cluster"},
		"without itself": {n.Dir, "n2=" + other.Peer(), 1, "not among the members named"},
		"empty":          {empty, "n1=" + n.Peer(), 1, "holds no data of a node"},
		"nowhere":        {filepath.Join(empty, "none"), "n1=" + n.Peer(), 1, "holds no data of a node"},
	} {
		o := floetest.Floe(t, "recover", "--data", c.dir, "--members", c.members, "--yes")
		if o.Exit != c.exit || !strings.Contains(o.Stderr, c.said) {
			t.Errorf("%s: %v, want exit %d and %q", name, o, c.exit, c.said)
		}
	}
	if after := listing(t, n.Dir); !slices.Equal(before, after) {
		t.Errorf("refused, and %v became %v", before, after)
	}
	if left := listing(t, empty); len(left) != 0 {
		t.Errorf("left in an empty directory: %v", left)
	}
}

// listing is the names and the content of all files but the lock.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" {
			return err
		}
		b, err := os.ReadFile(path)
		all = append(all, path+string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// An order that is about --skip or about --members says which.
func TestRecoverUsage(t *testing.T) {
	t.Parallel()
	wantExit(t, floetest.Floe(t, "recover", "--members", "n1=h:1"), 2, "needs --data")
	wantExit(t, floetest.Floe(t, "recover", "--data", "d"), 2, "either --members or --skip")
	wantExit(t, floetest.Floe(t, "recover", "--data", "d", "--members", "n1=h:1", "--skip", "4"), 2, "either --members or --skip")
	n := floetest.NewNode(t, "n1")
	n.Start()
	n.WaitReady()
	n.Must("create", "A")
	wantExit(t, floetest.Floe(t, "recover", "--data", n.Dir, "--skip", "4"), 1, "in use by process")
	n.Stop()
	wantExit(t, floetest.Floe(t, "recover", "--data", n.Dir, "--skip", "4711"), 1, "nothing was changed")
}
