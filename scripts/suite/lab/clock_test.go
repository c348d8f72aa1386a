package lab_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"floe/scripts/suite/lab"
)

// A node's clock is where it was put, also after the node starts again; its
// timers and the other node's clock are not.
func TestClock(t *testing.T) {
	l := newLabOf(t, lab.Config{Nodes: 2, Clocks: true, Binary: ticker(t)}, "")
	a, b := l.Nodes[0], l.Nodes[1]
	if !l.Clocks {
		if err := a.SetClock(time.Hour); !errors.Is(err, lab.ErrNoClock) {
			t.Errorf("clock: %v, want %v", err, lab.ErrNoClock)
		}
		return
	}
	if err := errors.Join(a.Start(), b.Start()); err != nil {
		t.Fatal(err)
	}
	tellsTime(t, a, 0)
	for _, offset := range []time.Duration{time.Hour, -20 * 365 * 24 * time.Hour, 3 * time.Second} {
		if err := a.SetClock(offset); err != nil {
			t.Fatal(err)
		}
		tellsTime(t, a, offset)
	}
	if err := errors.Join(a.SetClock(time.Hour), a.Kill(), a.Start()); err != nil {
		t.Fatal(err)
	}
	tellsTime(t, a, time.Hour)
	tellsTime(t, b, 0)
	if err := a.SetClock(0); err != nil {
		t.Fatal(err)
	}
	tellsTime(t, a, 0)
}

// ticker is a program that writes down what time it is, and how long it has
// been running by the other clock: this one, see TestMain.
func ticker(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LAB_TICKER", "yes") // nodes inherit it
	return program
}

// tick is what the program of ticker does: its third argument is the node's
// data directory, beside which it writes.
func tick() {
	start := time.Now()
	for time.Since(start) < time.Minute {
		text := fmt.Sprintf("%d %d\n", time.Now().UnixMilli(), time.Since(start).Milliseconds())
		if os.WriteFile(os.Args[3]+".next", []byte(text), 0o644) != nil || os.Rename(os.Args[3]+".next", os.Args[3]+".time") != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// tellsTime waits until the node's program says the time that the machine has,
// moved by the offset, and checks that its timers did not move.
func tellsTime(t *testing.T, n *lab.Node, offset time.Duration) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	var text []byte
	for time.Now().Before(deadline) {
		text, _ = os.ReadFile(n.Data() + ".time") // not there at first
		wall, running, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		ms, err1 := strconv.ParseInt(wall, 10, 64)
		up, err2 := strconv.ParseInt(running, 10, 64)
		if errors.Join(err1, err2) == nil && time.Until(time.UnixMilli(ms).Add(-offset)).Abs() < 500*time.Millisecond {
			if up < 0 || up > time.Minute.Milliseconds() {
				t.Errorf("%s with a clock moved by %s: has been running for %d ms", n.Name, offset, up)
			}
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%s with a clock moved by %s says %q at %d (%s)", n.Name, offset, text, time.Now().UnixMilli(), filepath.Base(n.Data()))
}
