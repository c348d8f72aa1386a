package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// patience is how long a program may take to say it is ready, or to print its figures.
	patience = 30 * time.Second
	// grace is how long a program has after SIGTERM.
	grace = 10 * time.Second
	// tailSize is how many bytes of a program's last words are kept for an error.
	tailSize = 4 << 10
	// maxLines is how many lines may wait to be read; later ones go to the tail only.
	maxLines = 1 << 10
)

// child is a running program. It is used by one goroutine.
type child struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string   // closed at the end of stdout
	done  chan struct{} // closed once it has ended
	tail  tail
}

// startChild runs a program in a process group of its own. It ends with stop, or when this process dies: by the
// kernel's parent death signal, and as its stdin ends.
func startChild(path string, args ...string) (*child, error) {
	c := &child{name: path[strings.LastIndexByte(path, '/')+1:], cmd: exec.Command(path, args...)}
	c.lines, c.done = make(chan string, maxLines), make(chan struct{})
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.cmd.WaitDelay = time.Second
	c.cmd.Stderr = &c.tail
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	stdout, writer := io.Pipe()
	c.cmd.Stdout = writer
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	go c.read(stdout)
	go func() {
		c.cmd.Wait() // the exit code is asked of cmd later
		writer.Close()
		close(c.done)
	}()
	return c, nil
}

func (c *child) read(stdout io.Reader) {
	in := bufio.NewScanner(stdout)
	for in.Scan() {
		fmt.Fprintln(&c.tail, in.Text())
		select {
		case c.lines <- in.Text():
		default:
		}
	}
	io.Copy(io.Discard, stdout)
	close(c.lines)
}

// line waits for the next line that begins with the word and returns it; lines before it are passed over.
func (c *child) line(ctx context.Context, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				<-c.done
				return "", c.failed("ended before it said " + word)
			}
			if line == word || strings.HasPrefix(line, word+" ") {
				return line, nil
			}
		case <-ctx.Done():
			return "", c.failed(fmt.Sprintf("waiting for %s: %v", word, ctx.Err()))
		}
	}
}

// failed is an error with the program's last words.
func (c *child) failed(what string) error {
	return fmt.Errorf("%s: %s; it said:\n%s", c.name, what, c.tail.String())
}

// result waits for the program's end and returns an error unless it exits with 0.
func (c *child) result(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-c.done:
	case <-ctx.Done():
		return c.failed("did not end: " + ctx.Err().Error())
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		return c.failed(fmt.Sprintf("exit %d", code))
	}
	return nil
}

// ended says whether the program has ended.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// terminate asks the program to end and does not wait.
func (c *child) terminate() { c.cmd.Process.Signal(syscall.SIGTERM) }

// stop ends the program and all that it started: SIGTERM, after the grace SIGKILL. It returns once the program is gone.
func (c *child) stop() error {
	defer c.stdin.Close()
	c.terminate()
	select {
	case <-c.done:
		return c.killGroup()
	case <-time.After(grace):
	}
	c.killGroup()
	<-c.done
	return c.failed(fmt.Sprintf("still there %v after SIGTERM: killed", grace))
}

// killGroup removes what the program left behind.
func (c *child) killGroup() error {
	if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// tail keeps the last bytes written to it; safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = append([]byte(nil), t.kept[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
