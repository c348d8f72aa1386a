package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Ports of every node: floe's defaults.
const (
	PeerPort = 7400
	IcePort  = 10000
	HTTPPort = 7480
	RMRPort  = 4560
	RTGPort  = 4561
)

// Node is one node of a lab. It is safe for concurrent use within a process.
type Node struct {
	Name   string `json:"name"`
	Number int    `json:"node"`
	// Host is the node's IP address.
	Host    string  `json:"host"`
	Process process `json:"process"`
	// Offset is how far the node's wall clock is from the machine's.
	Offset time.Duration `json:"clock_ns,omitempty"`
	// Replaced tells that the node lost its data and has to join the others.
	Replaced bool `json:"replaced,omitempty"`
	// Damaged tells that a file of it was damaged and not replaced since.
	Damaged bool `json:"damaged,omitempty"`
	// Moves counts the changes of its peer address.
	Moves int `json:"moves,omitempty"`
	// Trouble is what its disk does to it, Tracer the process that sees to that.
	Trouble Trouble `json:"trouble,omitempty"`
	// Failed tells that its disk may have failed since it was relieved last.
	Failed bool    `json:"failed,omitempty"`
	Tracer process `json:"tracer"`

	lab *Lab
	mu  sync.Mutex
}

func (l *Lab) newNode(number int) *Node {
	return &Node{Name: fmt.Sprintf("n%d", number), Number: number, Host: l.host(number), lab: l}
}

func (l *Lab) host(number int) string { return fmt.Sprintf("%s.%d.%d", l.prefix(), l.Number, number) }

// HTTP is the address of the HTTP listener, host:port as all of these.
func (n *Node) HTTP() string { return fmt.Sprintf("%s:%d", n.Host, HTTPPort) }

// RMR is the address of the listener that forwards messages.
func (n *Node) RMR() string { return fmt.Sprintf("%s:%d", n.Host, RMRPort) }

// RTG is the address of the listener that gives route tables.
func (n *Node) RTG() string { return fmt.Sprintf("%s:%d", n.Host, RTGPort) }

// Ice is the address of the Ice listener.
func (n *Node) Ice() string { return fmt.Sprintf("%s:%d", n.Host, IcePort) }

// Peer is the address of the peer listener, which Move changes.
func (n *Node) Peer() string { return fmt.Sprintf("%s:%d", n.peerHost(), PeerPort) }

// Log is the file that holds what the node printed, over all its starts.
func (n *Node) Log() string { return filepath.Join(n.lab.dir, n.Name+".log") }

// Data is the node's data directory.
func (n *Node) Data() string {
	if n.lab.Disks {
		return filepath.Join(n.disk(), "data")
	}
	return filepath.Join(n.lab.dir, n.Name)
}

// arguments are those of floe. The first node starts alone, the others join
// it; later starts go by what the data directory says, and by where the others
// are now.
func (n *Node) arguments() []string {
	args := []string{"start", "--data", n.Data(), "--id", n.Name, "--bind", n.Host, "--peer", n.Peer()}
	if n.lab.Namespaces { // beyond loopback floe wants to be told that this is meant
		args = append(args, "--insecure=peer,http", "--allow-from", n.lab.Network())
	}
	if n.Number > 1 || n.Replaced || n.Moves > 0 {
		args = append(args, "--join", strings.Join(n.others((*Node).Peer), ","))
	}
	return args
}

// Start starts the node, or does nothing where it runs. It does not wait until
// the node serves.
func (n *Node) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Process.alive() {
		return nil
	}
	if err := n.powerOn(); err != nil {
		return err
	}
	log, err := os.OpenFile(n.Log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(n.lab.Binary, n.arguments()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.lab.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C is for the harness
	if n.lab.Owner.PID != 0 {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	fmt.Fprintf(log, "%s%s: %s\n", startMark, time.Now().Format(time.RFC3339Nano), strings.Join(cmd.Args, " "))
	if err := n.lab.within(n.Name, func() error { return n.launch(cmd) }); err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	n.note(func() { n.Process = find(cmd.Process.Pid) })
	go func() { _ = cmd.Wait() }() // reaps it; how it ended is in its log
	return errors.Join(n.startTracer(), n.lab.save())
}

// startMark begins the line in a node's log that tells of a start.
const startMark = "--- start "

// launch starts the program, in a lab with clocks by the node's own clock.
func (n *Node) launch(cmd *exec.Cmd) error {
	if !n.lab.Clocks {
		return cmd.Start()
	}
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		return err
	}
	err := release(cmd.Process.Pid, func(p process) error {
		return errors.Join(p.installClock(), p.setClock(n.Offset))
	})
	if err != nil {
		err = errors.Join(err, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}
	return err
}

// note changes what the lab's state says of the node, which others may save.
func (n *Node) note(f func()) {
	n.lab.saving.Lock()
	defer n.lab.saving.Unlock()
	f()
}

// Running says whether the node's process is there, paused or not.
func (n *Node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.Process.alive()
}

// Paused says whether the node's process is stopped by Pause.
func (n *Node) Paused() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.Process.paused()
}

// endLimit is how long a killed process may take to be gone.
const endLimit = 10 * time.Second

// Kill ends the node with SIGKILL and waits until it is gone. A frozen disk is
// thawed: who waits for it can't die.
func (n *Node) Kill() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.Join(n.Process.signal(syscall.SIGKILL), n.Thaw(), n.Process.await(endLimit), n.stopTracer())
}

// Pause stops the node with SIGSTOP; Resume lets it go on.
func (n *Node) Pause() error { return n.send(syscall.SIGSTOP) }

// Resume lets a paused node go on; others are left alone.
func (n *Node) Resume() error { return n.send(syscall.SIGCONT) }

func (n *Node) send(s syscall.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.Process.signal(s)
}
