package peers

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// Patience is how long every wait of this package lasts before it fails the test.
	Patience = 30 * time.Second
	// maxLines is how many lines of one process are kept; more fail the test, which should ask for a summary.
	maxLines = 1 << 20
	// maxStderr is how many bytes of stderr are kept.
	maxStderr = 64 << 10
	// grace is how long a process has after SIGTERM.
	grace = 15 * time.Second
)

// Process is a running program that prints lines on stdout. Its methods are safe for concurrent use, except that
// those that may fail the test belong to the test's goroutine.
type Process struct {
	t     testing.TB
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{} // closed once the process has ended and its output is read

	mu      sync.Mutex
	lines   []string
	stderr  []byte
	changed chan struct{} // closed and replaced at each new line
}

// start runs a program that ends with the test. Its stdin stays open until then.
func start(t testing.TB, path string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, name: path[strings.LastIndexByte(path, '/')+1:], cmd: exec.Command(path, args...)}
	p.done, p.changed = make(chan struct{}), make(chan struct{})
	p.cmd.WaitDelay = time.Second // a grandchild may hold the pipes
	p.cmd.Stderr = stderrOf{p}
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	p.stdin = stdin
	stdout, writer := io.Pipe()
	p.cmd.Stdout = writer
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%s: %v: %s", p.name, err, remedy)
	}
	go p.run(stdout, writer)
	t.Cleanup(p.cleanup)
	return p
}

// run collects the output until the process has ended.
func (p *Process) run(stdout io.Reader, writer *io.PipeWriter) {
	var reader sync.WaitGroup
	reader.Go(func() { p.read(stdout) })
	p.cmd.Wait() // the exit code is asked of cmd later
	writer.Close()
	reader.Wait()
	p.wake(func() {})
	close(p.done)
}

func (p *Process) read(stdout io.Reader) {
	in := bufio.NewScanner(stdout)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		p.wake(func() {
			if len(p.lines) < maxLines {
				p.lines = append(p.lines, line)
			}
		})
	}
	io.Copy(io.Discard, stdout) // a line over the limit must not block the process
}

// wake changes what is kept and tells who waits.
func (p *Process) wake(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

// stderrOf keeps the end of a process's stderr.
type stderrOf struct{ p *Process }

func (s stderrOf) Write(b []byte) (int, error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.stderr = append(s.p.stderr, b...)
	if over := len(s.p.stderr) - maxStderr; over > 0 {
		s.p.stderr = slices.Delete(s.p.stderr, 0, over)
	}
	return len(b), nil
}

// cleanup ends the process and, where the test failed, shows what it said.
func (p *Process) cleanup() {
	p.Stop()
	if p.t.Failed() {
		p.t.Logf("%s said:\n%s", p.name, p.said())
	}
}

// said returns the last lines of stdout and stderr, for people.
func (p *Process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.lines[max(0, len(p.lines)-20):]
	return strings.Join(out, "\n") + "\nstderr:\n" + string(p.stderr)
}

// Lines returns what the process has printed on stdout, without line ends.
func (p *Process) Lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.lines) == maxLines {
		p.t.Errorf("%s: more than %d lines; use --print summary", p.name, maxLines)
	}
	return slices.Clone(p.lines)
}

// Stderr returns the last 64 KiB of the process's stderr.
func (p *Process) Stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.stderr)
}

// WaitFor blocks until enough is true of the lines printed. The test fails where the process ends first, or after
// [Patience]; what says for what it waited.
func (p *Process) WaitFor(what string, enough func(lines []string) bool) {
	p.t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		p.mu.Lock()
		lines, changed := p.lines[:len(p.lines):len(p.lines)], p.changed
		p.mu.Unlock()
		ended := p.Ended() // asked before the lines are judged, so that the last ones count
		if ended {
			lines = p.Lines()
		}
		if enough(lines) {
			return
		}
		if ended {
			p.t.Fatalf("%s ended (exit %d) before %s; it said:\n%s", p.name, p.exit(), what, p.said())
		}
		select {
		case <-changed:
		case <-p.done:
		case <-late.C:
			p.t.Fatalf("%s: no %s within %v; it said:\n%s", p.name, what, Patience, p.said())
		}
	}
}

// WaitLine blocks until a line begins with the word and returns what follows it, as [Process.WaitFor] does.
func (p *Process) WaitLine(word string) string {
	p.t.Helper()
	var rest string
	p.WaitFor("line "+word, func(lines []string) bool {
		i := slices.IndexFunc(lines, func(l string) bool { return l == word || strings.HasPrefix(l, word+" ") })
		if i >= 0 {
			rest = strings.TrimPrefix(lines[i][len(word):], " ")
		}
		return i >= 0
	})
	return rest
}

// Ended says whether the process has ended and all its output is read.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Wait blocks until the process ends by itself and returns its exit code, -1 where a signal ended it. The test fails
// after [Patience].
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.exit()
	case <-time.After(Patience):
		p.t.Fatalf("%s: did not end within %v; it said:\n%s", p.name, Patience, p.said())
		return -1
	}
}

func (p *Process) exit() int { return p.cmd.ProcessState.ExitCode() }

// Stop ends the process with SIGTERM, or SIGKILL where that takes over 15 s, and returns its exit code, -1 where a
// signal ended it. A process that has ended stays as it is.
func (p *Process) Stop() int {
	p.Signal(syscall.SIGCONT)
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
		p.t.Errorf("%s: still there %v after SIGTERM: killed", p.name, grace)
		p.Kill()
	}
	p.stdin.Close()
	return p.exit()
}

// Kill ends the process with SIGKILL and waits until it is gone.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Signal sends a signal, SIGSTOP for one; a process that has ended is left alone.
func (p *Process) Signal(s os.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("%s: %v: %v", p.name, s, err)
	}
}

// Send writes a line to the process's stdin.
func (p *Process) Send(line string) {
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.t.Errorf("%s: stdin: %v", p.name, err)
	}
}
