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

// R03: the leader's disk is full, to the last byte or to less than the reserve. Its errors say so and where, the others go
// on, it keeps forwarding, and comes back once there is space, without a restart. The disk is a tmpfs where the test may
// mount one.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("not root: no file system of its own, so nothing to fill")
		return
	}
	t.Run("to the last byte", func(t *testing.T) { diskFull(t, 0) })
	t.Run("to the reserve", func(t *testing.T) { diskFull(t, 1<<20) })
}

func diskFull(t *testing.T, left int) {
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
	fillBut(t, full.Dir, left)
	s := full.WaitStatus("saying that the disk is full", func(s api.Status) bool {
		return strings.Contains(strings.Join(s.Problems, "\n"), "no space")
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
	if r := full.Floe("create", "refused"); r.Exit != 5 || !strings.Contains(r.Stderr, "no space") || !strings.Contains(r.Stderr, full.Dir) {
		t.Errorf("a change asked of the full node: exit %d, %s", r.Exit, r.Stderr)
	}
	if _, text := floetest.Get(full.HTTP(), "/metrics"); left > 0 && (!strings.Contains(text, "floe_disk_full 1") || !strings.Contains(text, "floe_store_failed 0")) {
		t.Errorf("metrics:\n%s", text)
	}
	if err := os.Remove(filepath.Join(full.Dir, "filler")); err != nil {
		t.Fatal(err)
	}
	full.WaitStatus("well again", func(s api.Status) bool { return s.Leader != "" && len(s.Problems) == 0 })
	missing(t, full, made.acked)
	if r := full.Floe("create", "taken again"); r.Exit != 0 {
		t.Errorf("a change once there is space: exit %d, %s", r.Exit, r.Stderr)
	}
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

// fillBut is fill that leaves some bytes: they are taken first, and given back.
func fillBut(t *testing.T, dir string, left int) {
	t.Helper()
	spare := filepath.Join(dir, "spare")
	if err := os.WriteFile(spare, make([]byte, left), 0o600); err != nil {
		t.Fatal(err)
	}
	fill(t, dir)
	if err := os.Remove(spare); err != nil {
		t.Fatal(err)
	}
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
