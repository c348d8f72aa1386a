package ops

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"floe/scripts/floetest"
)

func TestMain(m *testing.M) {
	code := floetest.Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// wantExit fails the test unless the command ended so and said all of it on stderr.
func wantExit(t *testing.T, o floetest.Output, exit int, said ...string) {
	t.Helper()
	if o.Exit != exit {
		t.Errorf("exit %d, want %d: %v", o.Exit, exit, o)
		return
	}
	for _, text := range said {
		if !strings.Contains(o.Stderr, text) {
			t.Errorf("stderr does not say %q: %v", text, o)
		}
	}
}

// names are the topics that `floe topics` lists.
func names(t *testing.T, n *floetest.Node, flags ...string) []string {
	t.Helper()
	return strings.Fields(n.Must(append([]string{"topics"}, flags...)...))
}
