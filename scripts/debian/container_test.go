package debian

import (
	"bytes"
	"context"
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
	"time"
)

// patience bounds every wait here but that for the base system.
const patience = 90 * time.Second

// container is a fresh Debian with systemd, in memory, with a network of its own that reaches nothing.
type container struct {
	t          *testing.T
	name, root string
	nspawn     *exec.Cmd
	ended      chan struct{} // closed once nspawn ended
	log        bytes.Buffer  // what the console showed, to be read once ended
	init       string        // process id of its systemd
}

// newContainer makes a container, not booted yet. It goes with the test.
func newContainer(t *testing.T) *container {
	t.Helper()
	c := &container{t: t, name: fmt.Sprintf("floe-test-%d", os.Getpid()), root: filepath.Join(t.TempDir(), "root")}
	if err := os.Mkdir(c.root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("floe", c.root, "tmpfs", 0, "mode=755"); err != nil {
		t.Fatalf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(c.root, 0); err != nil {
			t.Errorf("unmount %s: %v", c.root, err)
		}
	})
	// It makes what debootstrap makes, in less than half the time.
	run(t, "mmdebstrap", "--quiet", "--variant=essential", "--include=systemd-sysv,dbus", "--format=directory", "bookworm", c.root)
	return c
}

// launch starts systemd-nspawn in a control group of its own, so that its systemd meets no other's. On a machine with
// systemd, too, nspawn asks nobody for permission or a place.
const launch = `
for d in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    [ -e "$d/cgroup.procs" ] || continue
    mkdir -p "$d/$1" && echo $$ >"$d/$1/cgroup.procs" || exit 1
done
exec systemd-nspawn --quiet --boot --directory="$2" --machine="$1" --private-network --register=no --keep-unit --console=read-only`

// boot returns once systemd has started everything.
func (c *container) boot() {
	c.t.Helper()
	if c.nspawn == nil {
		c.t.Cleanup(c.halt)
	}
	c.log.Reset()
	c.nspawn, c.ended, c.init = exec.Command("sh", "-c", launch, "sh", c.name, c.root), make(chan struct{}), ""
	c.nspawn.Stdout, c.nspawn.Stderr = &c.log, &c.log
	c.nspawn.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setsid: true}
	if err := c.nspawn.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // how it ended is asked of cmd
		close(ended)
	}(c.nspawn, c.ended)
	c.await("the container to be up", func() bool {
		c.init = c.findInit()
		out, _ := c.try("systemctl", "is-system-running")
		return strings.TrimSpace(out) == "running"
	})
}

// findInit returns the process that is the container's first, "" where there is none yet.
func (c *container) findInit() string {
	nspawn := fmt.Sprint(c.nspawn.Process.Pid)
	b, _ := os.ReadFile(filepath.Join("/proc", nspawn, "task", nspawn, "children"))
	for _, child := range strings.Fields(string(b)) {
		if name, _ := os.ReadFile(filepath.Join("/proc", child, "comm")); string(name) == "systemd\n" {
			return child
		}
	}
	return ""
}

// reboot has the container reboot itself. Nspawn then ends with 133, for whoever started it to start it again.
func (c *container) reboot() {
	c.t.Helper()
	c.must("systemctl", "reboot")
	c.awaitEnd()
	if code := c.nspawn.ProcessState.ExitCode(); code != 133 {
		c.t.Fatalf("the container ended with %d, want a reboot\n%s", code, &c.log)
	}
	c.boot()
}

func (c *container) awaitEnd() {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatalf("the container does not end")
	}
}

// halt shuts the container down and removes its control groups.
func (c *container) halt() {
	_ = c.nspawn.Process.Signal(syscall.SIGTERM) // an orderly shutdown
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Error("the container had to be killed")
		_ = c.nspawn.Process.Kill()
		<-c.ended
	}
	for _, hierarchy := range []string{"", "systemd", "unified"} {
		removeGroups(filepath.Join("/sys/fs/cgroup", hierarchy, c.name))
	}
}

// removeGroups removes a control group with all below it; what is still in use stays.
func removeGroups(dir string) {
	var groups []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			groups = append(groups, path)
		}
		return nil
	})
	for _, g := range slices.Backward(groups) {
		_ = os.Remove(g)
	}
}

// try runs a command in the container.
func (c *container) try(args ...string) (string, error) {
	if c.init == "" {
		return "", errors.New("not booted")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	inside := []string{"--target", c.init, "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "--", "env", "-i",
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	out, err := exec.CommandContext(ctx, "nsenter", append(inside, args...)...).CombinedOutput()
	return string(out), err
}

// must runs a command in the container that has to work.
func (c *container) must(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		journal, _ := c.try("journalctl", "--no-pager", "--lines=30", "--unit=floe")
		c.t.Fatalf("%s: %v\n%s\n%s", strings.Join(args, " "), err, out, journal)
	}
	return out
}

// await waits until something is so.
func (c *container) await(what string, so func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !so(); {
		select {
		case <-c.ended:
			c.t.Fatalf("the container ended while the test waited for %s\n%s", what, &c.log)
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(end) {
			journal, _ := c.try("journalctl", "--no-pager", "--lines=50")
			c.t.Fatalf("waited for %s\n%s", what, journal)
		}
	}
}

// put copies a file into the container.
func (c *container) put(file, to string) {
	c.t.Helper()
	run(c.t, "install", "-m", "755", file, filepath.Join(c.root, to))
}

// has tells whether the container has a file.
func (c *container) has(path string) bool {
	_, err := os.Lstat(filepath.Join(c.root, path))
	return err == nil
}

// run runs a command on this machine.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
