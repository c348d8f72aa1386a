package ops

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/suite/lab"
)

// X13, shortened: the interface of a node goes down and up again, many times. It serves again each time, in the same
// process, and nothing piles up. Where root is missing there are no interfaces to take down.
func TestInterfaceGoesDown(t *testing.T) {
	l, err := lab.Create(lab.Config{Nodes: 3, Binary: floetest.Binary()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Remove(); err != nil {
			t.Error(err)
		}
	})
	if !l.Namespaces {
		return
	}
	for _, n := range l.Nodes {
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
	}
	victim, other := l.Nodes[0], l.Nodes[1]
	lists(t, l, other, "members --json", `"voter": true`, 3)
	process, before := victim.Process, goroutines(t, l, victim)
	for round := range 5 {
		plugged(t, victim, false)
		lists(t, l, other, "members", "unreachable", 1)
		graph := filepath.Join(t.TempDir(), "graph") // apply may be repeated where create may not
		if err := os.WriteFile(graph, fmt.Appendf(nil, "create t%d\n", round), 0o644); err != nil {
			t.Fatal(err)
		}
		lists(t, l, other, "apply "+graph, "unreachable", 0)
		plugged(t, victim, true)
		lists(t, l, victim, "topics", fmt.Sprintf("t%d\n", round), 1)
		lists(t, l, other, "members", "unreachable", 0)
	}
	if victim.Process != process || !victim.Running() {
		t.Error("the node was started anew")
	}
	floetest.Eventually(t, floetest.Patience, func() error {
		if after := goroutines(t, l, victim); after > before+20 {
			return fmt.Errorf("%d goroutines, %d before", after, before)
		}
		return nil
	})
}

func plugged(t *testing.T, n *lab.Node, up bool) {
	t.Helper()
	if err := n.Interface(up); err != nil {
		t.Fatal(err)
	}
}

// lists waits until a command at a node succeeds and its output holds a text so often.
func lists(t *testing.T, l *lab.Lab, at *lab.Node, command, text string, times int) {
	t.Helper()
	argv := append(append([]string{floetest.Binary()}, strings.Fields(command)...), "--addr", at.HTTP())
	floetest.Eventually(t, floetest.Patience, func() error {
		out, err := l.Output(t.Context(), argv...)
		if err == nil && strings.Count(out, text) != times {
			err = fmt.Errorf("%s at %s: %q, want %d times %q", command, at.Name, out, times, text)
		}
		return err
	})
}

func goroutines(t *testing.T, l *lab.Lab, n *lab.Node) int {
	t.Helper()
	out, err := l.Output(t.Context(), "python3", "-c", "import urllib.request,sys; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())", "http://"+n.HTTP()+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(out, "\ngo_goroutines ")
	count, err := strconv.Atoi(strings.Fields(rest + " none")[0])
	if err != nil {
		t.Fatal(err)
	}
	return count
}
