package ops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"floe/scripts/floetest"
)

// Scripts with a bad line: the line is named; the shell goes on, apply does nothing.
func TestScriptWithABadLine(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "n1")
	n.Start()
	n.WaitReady()
	const text = "create A B\nlink A B 1\nlink A nowhere 2\ncreate C\n"
	o := floetest.FloeInput(t, text, "admin", "--addr", n.HTTP())
	wantExit(t, o, 1, "line 3: ", "nowhere")
	if got := names(t, n); !slices.Equal(got, []string{"A", "B", "C"}) {
		t.Errorf("topics %v after the script", got)
	}
	o = floetest.FloeInput(t, "create D\nfrobnicate\ncreate E\n", "admin", "--stop-on-error", "--addr", n.HTTP())
	wantExit(t, o, 1, "line 2: ", "frobnicate")
	o = floetest.FloeInput(t, "create X\nlink X 'unended\n", "admin", "--addr", n.HTTP())
	wantExit(t, o, 1, "line 2: ")
	n.Must("destroy", "X")

	file := filepath.Join(t.TempDir(), "graph.txt")
	for _, bad := range []string{"frobnicate", "link F G 2147483648", "link F", "link F G x", "create \xff", "link F nowhere 1"} {
		if err := os.WriteFile(file, []byte("create F G\n\n// a comment\n"+bad+"\ncreate H\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		o = n.Floe("apply", file)
		wantExit(t, o, 1, "line 4")
		if got := names(t, n); !slices.Equal(got, []string{"A", "B", "C", "D"}) {
			t.Fatalf("%q: topics %v after an apply that was refused", bad, got)
		}
	}
}

// Costs that are no whole 32-bit number, and names that are too long or no text.
func TestBadCostsAndNames(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "n1")
	n.Start()
	n.WaitReady()
	n.Must("create", "A", "B")
	for _, cost := range []string{"2147483648", "-2147483649", "1x", "0x10", "1.5", "99999999999999999999", "1e3"} {
		if o := n.Floe("link", "A", "B", cost); o.Exit != 1 && o.Exit != 2 || !strings.Contains(o.Stderr, cost) {
			t.Errorf("cost %q: %v", cost, o)
		}
	}
	if links := n.Must("links"); links != "" {
		t.Errorf("links %q after the refusals", links)
	}
	for _, cost := range []string{"2147483647", "-2147483648", "-0"} {
		n.Must("link", "A", "B", cost)
		n.Must("unlink", "A", "B")
	}
	long := strings.Repeat("é", 127) + "x" // 255 bytes
	for _, bad := range []string{long + "y", "\xff\xfe", "a\xc3"} {
		o := n.Floe("create", bad)
		if o.Exit != 1 || o.Stderr == "" || len(o.Stderr) > 1000 {
			t.Errorf("name of %d bytes: %v", len(bad), o)
		}
	}
	for _, good := range []string{long, "", " ", "a/b", "new\nline", "create", "--"} {
		n.Must("create", "--", good)
		n.Must("destroy", "--", good)
	}
	if got := names(t, n); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("topics %q", got)
	}
}
