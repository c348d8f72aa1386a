package main

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell runs a script that ends with the test.
func shell(t *testing.T, script string) *child {
	t.Helper()
	c, err := startChild("/bin/sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.stop() })
	return c
}

func TestLineFindsTheWord(t *testing.T) {
	c := shell(t, "echo readying; echo; echo ready x; echo last")
	got, err := c.line(t.Context(), "ready")
	if err != nil || got != "ready x" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := c.result(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	if got, err := c.line(t.Context(), "last"); err != nil || got != "last" {
		t.Errorf("after the end: got %q, %v", got, err)
	}
}

func TestAnEndTooEarlyTellsTheLastWords(t *testing.T) {
	c := shell(t, "echo out; echo oops >&2; exit 3")
	_, err := c.line(t.Context(), "ready")
	if err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("got %v, want the last words", err)
	}
	if err := c.result(t.Context(), time.Minute); err == nil || !strings.Contains(err.Error(), "exit 3") {
		t.Errorf("got %v, want exit 3", err)
	}
}

func TestWaitsEndWithTheContext(t *testing.T) {
	c := shell(t, "read x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.line(ctx, "ready"); err == nil {
		t.Error("line: no error")
	}
	if err := c.result(ctx, time.Minute); err == nil {
		t.Error("result: no error")
	}
}

func TestStopEndsGrandchildren(t *testing.T) {
	c := shell(t, "trap 'exit 0' TERM; sleep 300 & echo ready; wait")
	if _, err := c.line(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	if err := c.stop(); err != nil {
		t.Error(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for syscall.Kill(-c.cmd.Process.Pid, 0) != syscall.ESRCH {
		if time.Now().After(deadline) {
			t.Fatal("the group still lives")
		}
	}
	if !c.ended() {
		t.Error("not ended")
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var got tail
	for range 100 {
		got.Write([]byte(strings.Repeat("x", 100)))
	}
	got.Write([]byte("end"))
	if s := got.String(); len(s) != tailSize || !strings.HasSuffix(s, "xend") {
		t.Errorf("%d bytes, end %q", len(s), s[len(s)-4:])
	}
}
