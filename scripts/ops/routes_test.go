package ops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

// The issue asks for: 100 000 entries committed and readable within 1 s, 1 000 000 MEIDs within 3 s and in at most 250 MB, other
// changes held up 50 ms. Times depend on the machine, so they are printed, and only a hang fails.
func TestLargeRoutes(t *testing.T) {
	n := floetest.NewNode(t, "n1")
	startTime(t, n)
	before := n.RSS()
	for _, load := range []struct{ name, text string }{
		{"100 000 entries", manyEntries(100_000)},
		{"1 000 000 MEIDs", manyMEIDs(1_000_000)},
	} {
		file := filepath.Join(t.TempDir(), "routes")
		if err := os.WriteFile(file, []byte(load.text), 0o600); err != nil {
			t.Fatal(err)
		}
		slowest, stop := otherChanges(t, n)
		o := n.Floe("routes", "load", file)
		stop()
		if o.Exit != 0 || o.Took > floetest.Patience {
			t.Fatal(o)
		}
		shown := n.Floe("routes", "show")
		t.Logf("%s (%.1f MB of text): loaded in %v, shown in %v, the slowest of other changes took %v; the node takes %.0f MB, %.0f before",
			load.name, float64(len(load.text))/1e6, o.Took, shown.Took, slowest(), float64(n.RSS())/1e6, float64(before)/1e6)
	}
	want := n.Must("routes", "show")
	n.Kill()
	t.Logf("after kill -9: serving after %v, %.0f MB", startTime(t, n), float64(n.RSS())/1e6)
	if got := n.Must("routes", "show"); got != want {
		t.Errorf("%d bytes shown after a restart, %d before", len(got), len(want))
	}
}

func manyEntries(entries int) string {
	var b strings.Builder
	b.WriteString("newrt|start\n")
	for i := range entries {
		fmt.Fprintf(&b, "mse|%d|%d|10.1.%d.%d:4560\n", 1000+i%30_000, i/30_000, i/250%250, i%250)
	}
	fmt.Fprintf(&b, "newrt|end|%d\n", entries)
	return b.String()
}

func manyMEIDs(meids int) string {
	var b strings.Builder
	b.WriteString("meid_map|start\n")
	for i := 0; i < meids; i += 100 {
		fmt.Fprintf(&b, "mme_ar|10.2.0.%d:38000|gnb_001_001_%08x", 1+i/100%200, i)
		for j := range 99 {
			fmt.Fprintf(&b, " gnb_001_001_%08x", i+1+j)
		}
		b.WriteByte('\n')
	}
	b.WriteString("meid_map|end\n")
	return b.String()
}

// otherChanges makes changes to the graph until stop is called; slowest is how long the slowest took.
func otherChanges(t *testing.T, n *floetest.Node) (slowest func() time.Duration, stop func()) {
	t.Helper()
	c := client.New(client.Config{Addresses: []string{n.HTTP()}, Timeout: floetest.Patience})
	if _, err := c.Create(t.Context(), "other"); err != nil && !strings.Contains(err.Error(), "exists") {
		t.Fatal(err)
	}
	var most atomic.Int64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer c.Close()
		for i := int32(0); ; i++ {
			began := time.Now()
			if _, err := c.Link(t.Context(), api.NewLink{From: "other", To: "other", Cost: i, Replace: true}); err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), int64(time.Since(began))))
			select {
			case <-end:
				return
			default:
			}
		}
	}()
	return func() time.Duration { return time.Duration(most.Load()) }, func() { close(end); <-ended }
}
