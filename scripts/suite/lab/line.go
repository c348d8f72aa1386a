package lab

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Line is what happens to packets from one node to another.
type Line struct {
	From string `json:"from"`
	To   string `json:"to"`
	Quality
}

// Quality says how bad a line is. Percentages are of packets.
type Quality struct {
	// Delay is how late packets are, give or take up to Jitter. They keep
	// their order.
	Delay  time.Duration `json:"delay_ns,omitempty"`
	Jitter time.Duration `json:"jitter_ns,omitempty"`
	// Loss are dropped, Duplicate come twice, Reorder are overtaken by later ones.
	Loss      int `json:"loss,omitempty"`
	Duplicate int `json:"duplicate,omitempty"`
	Reorder   int `json:"reorder,omitempty"`
	// Corrupt, of those that nodes exchange on their peer ports, have one byte
	// of what TCP or UDP carry changed, and a checksum that fits it. What goes
	// to other ports belongs to protocols that could not tell.
	Corrupt int `json:"corrupt,omitempty"`
}

// Spoil makes the lines from each of the first to each of the second as bad as
// that. The name is for Heal. Clients are not affected.
//
// Kernels often lack netem, so packets to a node with a bad line go through a
// process, the wire, which is there for as long as there are bad lines.
func (l *Lab) Spoil(name string, from, to []string, q Quality) error {
	if !l.Namespaces {
		return ErrNoNetwork
	}
	var lines []Line
	for _, f := range from {
		for _, t := range to {
			if f != t {
				lines = append(lines, Line{f, t, q})
			}
		}
	}
	if l.Lines == nil {
		l.Lines = map[string][]Line{}
	}
	l.Lines[name] = lines
	return l.applyLines()
}

// applyLines starts the wire anew with what there is for it now. While it is
// away the nodes it served hear nothing, for some milliseconds.
func (l *Lab) applyLines() error {
	if !l.Namespaces {
		return l.save()
	}
	errs := []error{l.stopWire()}
	if len(l.Lines) > 0 {
		errs = append(errs, l.save(), l.startWire())
	}
	return errors.Join(append(errs, l.save())...)
}

// badly returns the nodes that have a bad line to them.
func (l *Lab) badly() []*Node {
	var out []*Node
	for _, n := range l.Nodes {
		if len(l.into(n.Name)) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// into returns how bad the lines to a node are, by the name of the sender.
func (l *Lab) into(name string) map[string]Quality {
	lines := map[string]Quality{}
	for _, all := range l.Lines {
		for _, line := range all {
			if line.To == name {
				lines[line.From] = lines[line.From].and(line.Quality)
			}
		}
	}
	return lines
}

// and is a line that is bad in two ways.
func (q Quality) and(o Quality) Quality {
	return Quality{Delay: max(q.Delay, o.Delay), Jitter: max(q.Jitter, o.Jitter), Loss: max(q.Loss, o.Loss),
		Duplicate: max(q.Duplicate, o.Duplicate), Reorder: max(q.Reorder, o.Reorder), Corrupt: max(q.Corrupt, o.Corrupt)}
}

// wireArgument is the first argument of the wire's process.
const wireArgument = "lab-wire"

// startWire runs this program as the wire, see ServeWire, and waits until it
// forwards.
func (l *Lab) startWire() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, wireArgument, strconv.Itoa(l.Number))
	cmd.Dir = l.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if l.Owner.PID != 0 {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	log, err := os.Create(l.wireLog())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	if err := l.within(hub, cmd.Start); err != nil {
		return fmt.Errorf("start the wire: %w", err)
	}
	l.Wire = find(cmd.Process.Pid)
	line, _ := bufio.NewReader(said).ReadString('\n') // it ends, or says so
	if line != wireReady {
		text, _ := os.ReadFile(l.wireLog())
		return errors.Join(fmt.Errorf("the wire does not work: %s", text), cmd.Process.Kill(), cmd.Wait())
	}
	go func() { _ = cmd.Wait() }() // reaps it; it ends when it is killed
	return nil
}

func (l *Lab) wireLog() string { return filepath.Join(l.dir, "wire.log") }

// stopWire ends the wire and puts cables back where they were.
func (l *Lab) stopWire() error {
	errs := []error{l.Wire.signal(syscall.SIGKILL), l.Wire.await(endLimit)}
	l.Wire = process{}
	h := l.namespace(hub)
	bridges, err := exec.Command("ip", "-n", h, "-brief", "link", "show", "type", "bridge").Output()
	errs = append(errs, err)
	var steps []string
	for _, n := range l.Nodes {
		if side := sideBridge(n.Name); slices.Contains(strings.Fields(string(bridges)), side) { // led through the wire
			steps = append(steps, "link set "+n.Name+" master br0", "link del "+side)
		}
	}
	return errors.Join(append(errs, ipAll(steps, "-n", h))...)
}
