package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hub is the part of the name of the namespace that holds bridge and clients.
const hub = "hub"

// namespaceDir is where ip(8) keeps named namespaces.
const namespaceDir = "/run/netns"

func (l *Lab) namespace(part string) string { return fmt.Sprintf("floe-%d-%s", l.Number, part) }

// build makes the namespaces, the bridge in the hub, and a cable to each node.
func (l *Lab) build() error {
	if !l.Namespaces {
		return nil
	}
	h := l.namespace(hub)
	steps := [][]string{
		{"netns", "add", h},
		{"-n", h, "link", "set", "lo", "up"},
		{"-n", h, "link", "add", "br0", "type", "bridge"},
		{"-n", h, "addr", "add", l.host(254) + "/24", "dev", "br0"},
		{"-n", h, "link", "set", "br0", "up"},
	}
	for _, n := range l.Nodes {
		ns := l.namespace(n.Name)
		steps = append(steps,
			[]string{"netns", "add", ns},
			[]string{"-n", ns, "link", "set", "lo", "up"},
			[]string{"-n", h, "link", "add", n.Name, "type", "veth", "peer", "name", "eth0", "netns", ns},
			[]string{"-n", h, "link", "set", n.Name, "master", "br0", "up"},
			[]string{"-n", ns, "addr", "add", n.Host + "/24", "dev", "eth0"},
			[]string{"-n", ns, "link", "set", "eth0", "up"},
		)
	}
	for _, s := range steps {
		if err := ip(s...); err != nil {
			return err
		}
	}
	return nil
}

func ip(args ...string) error { return run("", "ip", args...) }

// ipAll carries steps of ip(8) out, one after the other until one fails, in one
// process: on a busy machine each takes its time.
func ipAll(steps []string, options ...string) error {
	if len(steps) == 0 {
		return nil
	}
	return run(strings.Join(steps, "\n")+"\n", "ip", append(options, "-batch", "-")...)
}

// run runs a tool with the input given; its output is part of the error.
func run(stdin, tool string, args ...string) error {
	path, err := exec.LookPath(tool)
	if err != nil {
		path = "/usr/sbin/" + tool // not in every user's path
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", tool, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// tearDown removes the lab's namespaces with whatever runs in them.
func (l *Lab) tearDown() error {
	if !l.Namespaces {
		return nil
	}
	return removeNamespaces(fmt.Sprintf("floe-%d-", l.Number))
}

// sweepNamespaces removes namespaces whose lab is gone.
func sweepNamespaces() error {
	if os.Geteuid() != 0 {
		return nil
	}
	names, err := namespaces("floe-")
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "floe-"), "-")
		if _, err := strconv.Atoi(number); err != nil {
			continue // not one of ours
		}
		if _, err := os.Stat(filepath.Join(root(), number)); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, removeNamespaces(name))
		}
	}
	return errors.Join(errs...)
}

func namespaces(prefix string) ([]string, error) {
	entries, err := os.ReadDir(namespaceDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			out = append(out, e.Name())
		}
	}
	return out, err
}

func removeNamespaces(prefix string) error {
	names, err := namespaces(prefix)
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, killInside(name), ip("netns", "del", name))
	}
	return errors.Join(errs...)
}

// killInside ends the processes of a namespace, but never this one.
func killInside(name string) error {
	out, err := exec.Command("ip", "netns", "pids", name).Output()
	if err != nil {
		return fmt.Errorf("processes of namespace %s: %w", name, err)
	}
	for _, word := range strings.Fields(string(out)) {
		pid, err := strconv.Atoi(word)
		if err == nil && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended by itself
		}
	}
	return nil
}

// within calls f on a thread that is in the namespace of a node, or in the hub:
// sockets that f opens and processes it starts belong there. Without
// namespaces it just calls f.
func (l *Lab) within(part string, f func() error) error {
	if !l.Namespaces {
		return f()
	}
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer home.Close()
	there, err := os.Open(filepath.Join(namespaceDir, l.namespace(part)))
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter namespace %s: %w", l.namespace(part), err)
	}
	result := f()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		return errors.Join(result, fmt.Errorf("leave namespace: %w", err)) // the thread stays locked and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return result
}

// Within calls f on a thread in the node's namespace; see [Lab.within].
func (n *Node) Within(f func() error) error { return n.lab.within(n.Name, f) }

// Listen opens a TCP listener on a free port of the node's address.
func (n *Node) Listen() (net.Listener, error) { return n.ListenOn(0) }

// ListenOn opens a TCP listener on a port of the node's address.
func (n *Node) ListenOn(port int) (net.Listener, error) {
	var listener net.Listener
	err := n.lab.within(n.Name, func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(n.Host, strconv.Itoa(port)))
		return err
	})
	return listener, err
}

// Exec replaces this process by a command inside the node's namespace, with
// floe in its path and FLOE_ADDR set to the node. It returns only on errors.
func (n *Node) Exec(argv []string) error {
	path := filepath.Dir(n.lab.Binary) + string(os.PathListSeparator) + os.Getenv("PATH")
	if err := errors.Join(os.Setenv("PATH", path), os.Setenv("FLOE_ADDR", n.HTTP())); err != nil {
		return err
	}
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return n.lab.within(n.Name, func() error { return unix.Exec(program, argv, os.Environ()) })
}
