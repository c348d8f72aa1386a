package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNoTrouble says that what the nodes ask of their disks can't be tampered
// with.
var ErrNoTrouble = errors.New("errors and slowness of a disk need root and strace, see scripts/install-deps")

// Trouble is what a node's disk does to it while a tracer, strace(1), answers
// some system calls in the kernel's place.
type Trouble string

// The troubles there are. A slow disk is "slow" and a time.
const (
	NoTrouble Trouble = ""
	// FailsOnce has one sync fail; then the disk works again.
	FailsOnce Trouble = "once"
	// Fails has every write to a place in a file and every sync fail.
	Fails Trouble = "always"
)

// Slow has each sync take so much longer, at least a microsecond.
func Slow(delay time.Duration) Trouble { return Trouble("slow " + delay.String()) }

// syncs are the system calls that make files durable.
const syncs = "fsync,fdatasync"

// injection is what strace is told to do, empty for no trouble.
func (t Trouble) injection() (string, error) {
	switch text, slow := strings.CutPrefix(string(t), "slow "); {
	case slow:
		delay, err := time.ParseDuration(text)
		if err != nil || delay < time.Microsecond {
			return "", fmt.Errorf("a disk can't be slow by %q", text)
		}
		return fmt.Sprintf("%s:delay_enter=%d", syncs, delay.Microseconds()), nil
	case t == NoTrouble:
		return "", nil
	case t == FailsOnce:
		return syncs + ":error=EIO", nil
	case t == Fails:
		return syncs + ",pwrite64:error=EIO", nil
	}
	return "", fmt.Errorf("no trouble %q", string(t))
}

// Afflict gives a node's disk trouble until Relieve, whether the node is started
// meanwhile or not.
func (n *Node) Afflict(t Trouble) error {
	if _, err := exec.LookPath("strace"); err != nil || os.Geteuid() != 0 {
		return ErrNoTrouble
	}
	if _, err := t.injection(); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.stopTracer(); err != nil {
		return err
	}
	n.note(func() { n.Trouble, n.Failed = t, n.Failed || t == FailsOnce || t == Fails })
	if !n.Process.alive() {
		return n.lab.save()
	}
	return errors.Join(n.startTracer(), n.lab.save())
}

// Relieve undoes Afflict; without trouble it does nothing. A node whose disk failed
// is not well again by that: it wants to be started anew.
func (n *Node) Relieve() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Trouble == NoTrouble && !n.Failed && n.Tracer.PID == 0 {
		return nil
	}
	n.note(func() { n.Trouble, n.Failed = NoTrouble, false })
	return errors.Join(n.stopTracer(), n.lab.save())
}

// tracerArgument is the first argument of a tracer's process.
const tracerArgument = "lab-tracer"

// startTracer runs this program as the tracer of the node, see ServeTracer, and
// waits until it has hold of the node.
func (n *Node) startTracer() error {
	if n.Trouble == NoTrouble {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, tracerArgument, strconv.Itoa(n.Process.PID), string(n.Trouble))
	cmd.Dir = n.lab.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if n.lab.Owner.PID != 0 {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var why strings.Builder
	cmd.Stderr = &why
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the tracer of %s: %w", n.Name, err)
	}
	line, _ := bufio.NewReader(said).ReadString('\n') // it ends, or says so
	if line != wireReady {
		err := cmd.Wait()
		if !n.Process.alive() { // it ended before there was anything to hold
			return nil
		}
		return fmt.Errorf("the tracer of %s does not work: %w: %s", n.Name, err, why.String())
	}
	n.note(func() {
		n.Tracer = find(cmd.Process.Pid)
		if n.Trouble == FailsOnce { // not again when it starts anew
			n.Trouble = NoTrouble
		}
	})
	go func() { _ = cmd.Wait() }() // reaps it; it ends with the node, or when it is told to
	return nil
}

// stopTracer has the tracer let go of the node.
func (n *Node) stopTracer() error {
	err := errors.Join(n.Tracer.signal(syscall.SIGTERM), n.Tracer.await(endLimit))
	n.note(func() { n.Tracer = process{} })
	return err
}

// Troubled says whether a tracer still holds the node.
func (n *Node) Troubled() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.Tracer.alive()
}

// ServeTracer turns this process into the tracer of a node where it was started
// as one, and does not return then. Programs that use [Node.Afflict] call it
// first.
func ServeTracer() {
	if len(os.Args) != 4 || os.Args[1] != tracerArgument {
		return
	}
	if err := serveTracer(os.Args[2], Trouble(os.Args[3])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveTracer runs strace on a process until that ends, this one is told to end,
// or what was to fail once has failed.
func serveTracer(pid string, t Trouble) error {
	injection, err := t.injection()
	if err != nil {
		return err
	}
	calls, _, _ := strings.Cut(injection, ":")
	cmd := exec.Command("strace", "-f", "-p", pid, "-e", "trace="+calls, "-e", "signal=none", "-e", "inject="+injection)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return err
	}
	letGo := func() { _ = cmd.Process.Signal(syscall.SIGTERM) } // strace takes its hands off all threads before it ends
	go func() {
		<-end
		letGo()
	}()
	attached, first := watchTracer(said, t == FailsOnce, letGo)
	err = cmd.Wait()
	if !attached {
		return fmt.Errorf("strace: %w: %s", err, first)
	}
	return nil // whatever signal or node ended it
}

// watchTracer reads what strace says: first that it is attached, which is passed
// on, then a line for each call. With once the first call that was tampered with
// is the last. It returns when strace has ended.
func watchTracer(said io.Reader, once bool, enough func()) (attached bool, first string) {
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		switch text := lines.Text(); {
		case !attached && strings.Contains(text, " attached"):
			attached = true
			fmt.Print(wireReady)
		case !attached:
			first += text + "\n"
		case once && strings.Contains(text, "(INJECTED)"):
			once = false
			enough()
		}
	}
	return attached, first
}
