package ops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"floe/scripts/floetest"
	"floe/transport/http/api"
)

// R03: the leader's disk is full. Its errors say so and where, the others go on, it keeps forwarding, and comes back once
// there is space. The disk is a tmpfs where the test may mount one.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("not root: no file system of its own, so nothing to fill")
		return
	}
	c := floetest.NewCluster(t, 3)
	for _, n := range c.Nodes {
		mountSmall(t, n.Dir)
	}
	for _, n := range c.Nodes {
		n.Start("--join", c.Peers(), "--bootstrap-expect", "3")
	}
	c.WaitVoters(3)
	full := c.WaitLeader()
	load := startCreating(t, c.Nodes, "load")
	load.wait(t, 20)
	fill(t, full.Dir)
	s := full.WaitStatus("saying that the disk is full", func(s api.Status) bool {
		return strings.Contains(strings.Join(s.Problems, "\n"), "no space left")
	})
	if !strings.Contains(strings.Join(s.Problems, "\n"), full.Dir) {
		t.Errorf("problems do not say where: %v", s.Problems)
	}
	load.wait(t, 20) // the others go on
	made := load.stop()
	var others []*floetest.Node
	for _, n := range c.Nodes {
		if n != full {
			others = append(others, n)
		}
	}
	for _, n := range others {
		n.WaitStatus("led by another", func(s api.Status) bool { return s.Leader != "" && s.Leader != full.ID })
		missing(t, n, made.acked)
	}
	publishAlone(t, full, made.acked[0])
	if r := full.Floe("create", "refused"); r.Exit != 4 || !strings.Contains(r.Stderr, "2 of 3 voters reachable") {
		t.Errorf("a change asked of the full node: exit %d, %s", r.Exit, r.Stderr)
	}
	if err := os.Remove(filepath.Join(full.Dir, "filler")); err != nil {
		t.Fatal(err)
	}
	full.Kill()
	full.Start("--join", c.Peers())
	c.WaitVoters(3)
	missing(t, full, made.acked)
	c.WaitSame()
}

// mountSmall mounts an empty file system of 32 MB until the test ends.
func mountSmall(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Fatalf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill writes a file until the file system is full.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 1<<16); len(block) > 0; {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
