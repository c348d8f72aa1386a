package ops

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"floe/scripts/floetest"
)

// group is a control group (cgroups(7)) of either version, for one controller.
type group struct {
	dir, parent string
	v2          bool
}

// newGroup makes one, empty, until the test ends. Where the system has none to give it says so, and returns false.
func newGroup(t *testing.T, controller string) (group, bool) {
	t.Helper()
	const root = "/sys/fs/cgroup"
	g := group{parent: root}
	if b, err := os.ReadFile(root + "/cgroup.controllers"); err == nil {
		g.v2 = strings.Contains(string(b), controller)
		// It may be set already, or not be allowed: then the file to write to is missing.
		_ = os.WriteFile(root+"/cgroup.subtree_control", []byte("+"+controller), 0)
	} else {
		g.parent = filepath.Join(root, controller, ownGroup(t, controller))
	}
	var err error
	if g.dir, err = os.MkdirTemp(g.parent, "floe-ops-"); err != nil {
		t.Log("no control groups here, so there is nothing to see:", err)
		return g, false
	}
	t.Cleanup(func() { g.remove(t) })
	if _, err := os.Stat(filepath.Join(g.dir, map[string]string{"cpu": g.processorFile(), "memory": g.memoryFile()}[controller])); err != nil {
		t.Log("no controller here, so there is nothing to see:", err)
		return g, false
	}
	return g, true
}

// ownGroup is where this process is in version 1's tree of a controller.
func ownGroup(t *testing.T, controller string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && strings.Contains(","+parts[1]+",", ","+controller+",") {
			return parts[2]
		}
	}
	return "/"
}

func (g group) processorFile() string {
	if g.v2 {
		return "cpu.max"
	}
	return "cpu.cfs_quota_us"
}

func (g group) memoryFile() string {
	if g.v2 {
		return "memory.max"
	}
	return "memory.limit_in_bytes"
}

func (g group) set(t *testing.T, file, value string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, file), []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

// limitProcessor gives all in the group so many hundredths of one processor.
func (g group) limitProcessor(t *testing.T, percent int) {
	t.Helper()
	quota := strconv.Itoa(percent * 1000) // microseconds of each 100 ms
	if g.v2 {
		quota += " 100000"
	}
	g.set(t, g.processorFile(), quota)
}

// limitMemory ends a process of the group that takes more, in bytes.
func (g group) limitMemory(t *testing.T, bytes int64) {
	t.Helper()
	g.set(t, g.memoryFile(), fmt.Sprint(bytes))
}

// add puts a node's process into it.
func (g group) add(t *testing.T, n *floetest.Node) {
	t.Helper()
	g.set(t, "cgroup.procs", strconv.Itoa(n.PID()))
}

// remove puts what is in it back where this process is, and removes it.
func (g group) remove(t *testing.T) {
	floetest.Eventually(t, floetest.Patience, func() error {
		b, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
		if err != nil {
			return err
		}
		for _, pid := range strings.Fields(string(b)) {
			_ = os.WriteFile(filepath.Join(g.parent, "cgroup.procs"), []byte(pid), 0) // it may have ended
		}
		return os.Remove(g.dir)
	})
}
