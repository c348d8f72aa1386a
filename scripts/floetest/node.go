package floetest

import (
	"cmp"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"floe/transport/http/client"
)

// Node is one node: a data directory, an address, and a process while it runs.
type Node struct {
	ID, IP, Dir string
	// Flags are given at every start, after those for data, id and address.
	Flags []string
	// Env is added to the environment of every start.
	Env []string
	// Program is what its next start runs; "" is the program under test.
	Program string

	t     testing.TB
	p     *process
	early []string // what former processes printed
	begun time.Time
}

// NewNode makes a node that does not run yet, with an address of its own and an empty data directory.
func NewNode(t testing.TB, id string, flags ...string) *Node {
	t.Helper()
	n := &Node{ID: id, IP: NewIP(t), Dir: filepath.Join(t.TempDir(), id), Flags: flags, t: t}
	t.Cleanup(n.cleanup)
	return n
}

// Peer is the address of the peer listener, tcp and udp.
func (n *Node) Peer() string { return net.JoinHostPort(n.IP, PeerPort) }

// Ice is the address of the Ice listener, tcp and udp.
func (n *Node) Ice() string { return net.JoinHostPort(n.IP, IcePort) }

// HTTP is the address of the HTTP listener.
func (n *Node) HTTP() string { return net.JoinHostPort(n.IP, HTTPPort) }

// args are those of floe start.
func (n *Node) args(more []string) []string {
	args := []string{"start", "--data", n.Dir, "--bind", n.IP}
	if n.ID != "" {
		args = append(args, "--id", n.ID)
	}
	return append(append(args, n.Flags...), more...)
}

// Start starts the node, with more flags this once, and does not wait for anything.
func (n *Node) Start(more ...string) {
	n.t.Helper()
	if n.Running() {
		n.t.Fatalf("node %s runs already", n.ID)
	}
	n.keepLog()
	p, err := spawn(cmp.Or(n.Program, binary), n.args(more), n.Env)
	if err != nil {
		n.t.Fatalf("node %s: %v", n.ID, err)
	}
	n.p, n.begun = p, time.Now()
}

// StartRefused starts the node, expects its process to end by itself, and returns how.
func (n *Node) StartRefused(more ...string) Output {
	n.t.Helper()
	n.Start(more...)
	return n.AwaitEnd()
}

// AwaitEnd waits until the process ends by itself; all it printed is in Stderr.
func (n *Node) AwaitEnd() Output {
	n.t.Helper()
	if !n.p.await(Patience) {
		n.t.Fatalf("node %s did not end within %v; it said:\n%s", n.ID, Patience, n.Log())
	}
	text, _ := n.p.out.next()
	return Output{Args: n.p.cmd.Args[1:], Stderr: text, Exit: n.p.cmd.ProcessState.ExitCode(), Took: time.Since(n.begun)}
}

// Running tells whether the process is there.
func (n *Node) Running() bool { return n.p != nil && !n.p.ended() }

// Kill ends the process with SIGKILL and waits until it is gone.
func (n *Node) Kill() {
	if n.p == nil {
		return
	}
	n.p.signal(syscall.SIGKILL)
	<-n.p.done
}

// Stop ends the process with SIGTERM; the test fails where that takes over [Patience] or the exit code is not 0.
func (n *Node) Stop() {
	n.t.Helper()
	n.p.signal(syscall.SIGTERM)
	if o := n.AwaitEnd(); o.Exit != 0 {
		n.t.Errorf("node %s stopped with %v", n.ID, o)
	}
}

// Signal sends a signal to the process, SIGSTOP for one.
func (n *Node) Signal(s syscall.Signal) { n.p.signal(s) }

// Move gives the node another address, for its next start.
func (n *Node) Move() {
	n.t.Helper()
	n.IP = NewIP(n.t)
}

// Floe runs a floe command against this node: the arguments and --addr.
func (n *Node) Floe(args ...string) Output {
	n.t.Helper()
	return Floe(n.t, n.at(args)...)
}

// at adds the node's address to a command, before a "--".
func (n *Node) at(args []string) []string {
	return append([]string{args[0], "--addr", n.HTTP()}, args[1:]...)
}

// Must is [Node.Floe] and fails the test unless it exits 0; it returns stdout.
func (n *Node) Must(args ...string) string {
	n.t.Helper()
	o := n.Floe(args...)
	if o.Exit != 0 {
		n.t.Fatalf("%v\nnode %s said:\n%s", o, n.ID, n.Tail())
	}
	return o.Stdout
}

// Client returns a client of the node's HTTP API. It is good until the test ends.
func (n *Node) Client(timeout time.Duration) *client.Client {
	c := client.New(client.Config{Addresses: []string{n.HTTP()}, Timeout: timeout})
	n.t.Cleanup(c.Close)
	return c
}

// RSS is the process's resident memory in bytes.
func (n *Node) RSS() int64 {
	n.t.Helper()
	return n.memory("VmRSS")
}

// PeakRSS is the highest resident memory the process had, in bytes.
func (n *Node) PeakRSS() int64 {
	n.t.Helper()
	return n.memory("VmHWM")
}

func (n *Node) memory(field string) int64 {
	n.t.Helper()
	size, err := n.p.memory(field)
	if err != nil {
		n.t.Fatalf("node %s: memory: %v; it said:\n%s", n.ID, err, n.Tail())
	}
	return size
}

// PID is the process's id.
func (n *Node) PID() int { return n.p.cmd.Process.Pid }

// Log is what the present or last process printed.
func (n *Node) Log() string {
	if n.p == nil {
		return ""
	}
	text, _ := n.p.out.next()
	return text
}

// Tail is the end of the log, for people.
func (n *Node) Tail() string {
	text := n.Log()
	if over := len(text) - 3000; over > 0 {
		return "...\n" + text[over:]
	}
	return text
}

// WaitLog waits until the present process has printed the text.
func (n *Node) WaitLog(text string) {
	n.t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		ended := n.p.ended()
		said, more := n.p.out.next()
		if strings.Contains(said, text) {
			return
		}
		if ended {
			n.t.Fatalf("node %s ended without saying %q:\n%s", n.ID, text, n.Tail())
		}
		select {
		case <-more:
		case <-n.p.done:
		case <-late.C:
			n.t.Fatalf("node %s did not say %q within %v:\n%s", n.ID, text, Patience, n.Tail())
		}
	}
}

func (n *Node) keepLog() {
	if text := n.Log(); text != "" {
		n.early = append(n.early, text)
	}
}

// cleanup ends the process and, where the test failed, shows what it said.
func (n *Node) cleanup() {
	if n.p != nil {
		n.p.signal(syscall.SIGCONT)
	}
	n.Kill()
	if n.t.Failed() && n.p != nil {
		n.t.Logf("node %s, start %d, said:\n%s", n.ID, len(n.early)+1, n.Tail())
	}
}
