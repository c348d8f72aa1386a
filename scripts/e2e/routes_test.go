package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"floe/scripts/floetest"
	"floe/transport/http/client"
)

// routesText is a table whose entries all go to one host, and a map of so many MEIDs.
func routesText(host string, entries, meids int) string {
	var b strings.Builder
	b.WriteString("newrt|start\n")
	for i := range entries {
		fmt.Fprintf(&b, "mse|%d|-1|%s:4560\n", 1000+i, host)
	}
	fmt.Fprintf(&b, "newrt|end|%d\nmeid_map|start\n", entries)
	for i := 0; i < meids; i += 100 {
		b.WriteString("mme_ar|e1:38000|")
		for j := range min(100, meids-i) {
			if j > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "gnb_%05d", i+j)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "meid_map|end|%d\n", (meids+99)/100)
	return b.String()
}

func loadRoutes(t *testing.T, n *floetest.Node, text string) {
	t.Helper()
	if o := floetest.FloeInput(t, text, "routes", "load", "-", "--addr", n.HTTP()); o.Exit != 0 {
		t.Fatal(o)
	}
}

// M04: what was loaded on one node is shown by all, byte by byte, after the leader was killed, and after all were.
func TestRoutesAreOnAllNodesAndStay(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	text := routesText("a", 20_000, 200) // large enough to go in parts
	loadRoutes(t, c.Nodes[0], text)
	shown := func(when string) {
		t.Helper()
		for _, n := range c.Running() {
			if got := n.Must("routes", "show"); got != text {
				t.Errorf("%s: %s shows %d bytes, want the %d that were loaded", when, n.ID, len(got), len(text))
			}
		}
	}
	shown("loaded")
	c.WaitLeader().Kill()
	c.WaitLeader()
	shown("without the leader")
	loadRoutes(t, c.Running()[0], "updatert|start\ndel|1000|-1\nupdatert|end|1\n")
	text = strings.Replace(strings.Replace(text, "mse|1000|-1|a:4560\n", "", 1), "end|20000", "end|19999", 1)
	restart(t, c)
	shown("with a node that missed a change")
	c.Kill()
	restart(t, c)
	shown("after all were killed")
	c.WaitSame()
}

// T24: a listing shows one version, whatever happens meanwhile.
func TestListingsDuringChanges(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	texts := []string{routesText("a", 300, 200), routesText("b", 300, 200)}
	loadRoutes(t, c.Nodes[0], texts[0])
	done := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			reader := client.New(client.Config{Addresses: []string{c.Nodes[i%3].HTTP()}, Stale: i == 3})
			defer reader.Close()
			for n := 0; ; n++ {
				got, err := reader.Routes(t.Context())
				if err != nil || string(got) != texts[0] && string(got) != texts[1] {
					t.Errorf("listing %d: a mixture of %d bytes, or %v", n, len(got), err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	writer := client.New(client.Config{Addresses: []string{c.Nodes[1].HTTP()}})
	defer writer.Close()
	for i := range 100 {
		if _, err := writer.LoadRoutes(t.Context(), texts[(i+1)%2], nil); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	readers.Wait()
}
