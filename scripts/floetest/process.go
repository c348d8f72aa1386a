package floetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience bounds every wait of this package.
const Patience = 30 * time.Second

// Output is what a floe command printed and how it ended.
type Output struct {
	Args           []string
	Stdout, Stderr string
	// Exit is the exit code, -1 where a signal ended it.
	Exit int
	// Took is how long it ran.
	Took time.Duration
}

// String shows the command as a person would see it.
func (o Output) String() string {
	return fmt.Sprintf("floe %s: exit %d after %v\nstdout:\n%s\nstderr:\n%s", strings.Join(o.Args, " "), o.Exit, o.Took, o.Stdout, o.Stderr)
}

// Floe runs one floe command to its end; over [Patience] fails the test.
func Floe(t testing.TB, args ...string) Output {
	t.Helper()
	return FloeInput(t, "", args...)
}

// FloeInput is [Floe] with a text on stdin.
func FloeInput(t testing.TB, stdin string, args ...string) Output {
	t.Helper()
	o, err := RunFloe(stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// RunFloe is [FloeInput] for goroutines other than the test's.
func RunFloe(stdin string, args ...string) (Output, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = strings.NewReader(stdin), &out, &errs, time.Second
	begun := time.Now()
	err := cmd.Run()
	o := Output{Args: args, Stdout: out.String(), Stderr: errs.String(), Took: time.Since(begun)}
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return o, fmt.Errorf("killed: %v", o)
	case err != nil && !errors.As(err, &ended):
		return o, err
	}
	o.Exit = cmd.ProcessState.ExitCode()
	return o, nil
}

// process is one running floe start.
type process struct {
	cmd  *exec.Cmd
	out  log
	done chan struct{} // closed once it has ended and its output is read
}

// spawn starts a node process. It ends with the test binary at the latest.
func spawn(program string, args, env []string) (*process, error) {
	p := &process{cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = &p.out, &p.out, time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the exit code is asked of cmd
	}()
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// await waits for the end and tells whether it came in time.
func (p *process) await(limit time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(limit):
		return false
	}
}

// signal sends a signal; a process that has ended is left alone.
func (p *process) signal(s os.Signal) {
	_ = p.cmd.Process.Signal(s) // os.ErrProcessDone is the only error there can be
}

// memory reads a size, VmRSS or VmHWM for one, in bytes (proc_pid_status(5)).
func (p *process) memory(field string) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kB, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kB << 10, err
		}
	}
	return 0, fmt.Errorf("no %s", field)
}

// log keeps what a process printed, up to maxLog bytes, and wakes who waits.
type log struct {
	mu      sync.Mutex
	text    []byte
	changed chan struct{}
}

const maxLog = 4 << 20

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) < maxLog {
		l.text = append(l.text, b...)
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return len(b), nil
}

// next returns the text and a channel that is closed when there is more.
func (l *log) next() (string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return string(l.text), l.changed
}
