package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal returns a terminal for a test: what is written to far comes out
// of near.
func openTerminal(t *testing.T) (near, far *os.File) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		far.Close()
		near.Close()
	})
	return near, far
}

// onTerminal runs one command line as somebody sees it who sits at a terminal.
// ended, if not nil, tells from what came so far that the command is to be
// stopped.
func onTerminal(t *testing.T, env map[string]string, ended func(screen string) bool, args ...string) (code int, screen string) {
	t.Helper()
	near, far := openTerminal(t)
	lookup := func(name string) (string, bool) { v, found := env[name]; return v, found }
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan int, 1)
	go func() {
		code := run(ctx, args, stdio{strings.NewReader(""), far, far, lookup})
		fmt.Fprint(far, "\x04end\x04")
		done <- code
	}()
	var all bytes.Buffer
	buf := make([]byte, 4096)
	for !strings.HasSuffix(all.String(), "\x04end\x04") {
		n, err := near.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(buf[:n])
		if ended != nil && ended(all.String()) {
			cancel()
		}
	}
	return <-done, strings.ReplaceAll(strings.TrimSuffix(all.String(), "\x04end\x04"), "\r\n", "\n")
}

// A node says in colour what it listens on, where its data is, how to stop it
// and what to do next; without colour where that is asked for, and as JSON
// where the log is.
func TestStartOnATerminal(t *testing.T) {
	start := func(env map[string]string, more ...string) string {
		args := append(append([]string{"start", "--data", t.TempDir(), "--id", "n1", "--log-level", "error"}, freePorts...), more...)
		_, screen := onTerminal(t, env, func(screen string) bool { return strings.Contains(screen, "SIGTERM") }, args...)
		return screen
	}
	for _, want := range []string{"node \x1b[1mn1\x1b[0m", "listening for http       \x1b[36m127.0.0.1:", "\x1b[32mfloe status --addr 127.0.0.1:", "stop with \x1b[1mCtrl-C or SIGTERM\x1b[0m"} {
		if got := start(nil); !strings.Contains(got, want) {
			t.Errorf("got %q, without %q", got, want)
		}
	}
	for _, env := range []map[string]string{{"NO_COLOR": "1"}, {"TERM": "dumb"}} {
		if got := start(env); strings.Contains(got, "\x1b") || !strings.Contains(got, "stop with Ctrl-C") {
			t.Errorf("with %v: %q", env, got)
		}
	}
	if got := start(nil, "--log-format", "json"); strings.Contains(got, "\x1b") || !strings.Contains(got, `"node":"n1"`) || !strings.Contains(got, `{"stopped":true,"undelivered":0}`) {
		t.Errorf("as JSON: %q", got)
	}
}

// Who looks at an empty list is told what fills it; whoever reads it as a
// program is not.
func TestEmptyListsSayWhatFillsThem(t *testing.T) {
	r, address, ok := startNode(append([]string{"--data", t.TempDir()}, freePorts...)...)
	defer r.end()
	if !ok {
		t.Fatal(r.err.String())
	}
	env := map[string]string{"FLOE_ADDR": address}
	for _, c := range []struct{ command, want string }{
		{"topics", "floe create A"}, {"links", "floe link FROM TO"}, {"subscribers", "floe sub TOPIC"}, {"meid list", "floe meid set"}, {"routes show", "floe routes load"},
		{"routes apps", "RMR_RTG_SVC"}, {"clusters list", "floe clusters add"}, {"token list", "floe token add"}, {"history", "--all"},
	} {
		words := strings.Fields(c.command)
		if code, screen := onTerminal(t, env, nil, words...); code != 0 || !strings.Contains(screen, c.want) {
			t.Errorf("%s: exit %d, %q, want %q", c.command, code, screen, c.want)
		}
		if code, screen := onTerminal(t, env, nil, append(words, "--json")...); code != 0 || strings.Contains(screen, c.want) {
			t.Errorf("%s --json: exit %d, %q", c.command, code, screen)
		}
		if code, _, errs := runFloeAt(t, env, words...); code != 0 || errs != "" {
			t.Errorf("%s, read by a program: exit %d, stderr %q", c.command, code, errs)
		}
	}
	if _, screen := onTerminal(t, env, nil, "admin", "-e", "topics"); !strings.Contains(screen, "no topics yet; create A") {
		t.Errorf("in the shell: %q", screen)
	}
	if _, screen := onTerminal(t, env, func(screen string) bool { return strings.Count(screen, home) == 2 }, "top", "--interval", "20ms"); strings.Count(screen, home) < 2 {
		t.Errorf("top on a terminal: %q", screen)
	}
}
