package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/rmrapp"
)

// longRoutes is a table of so many entries with host names of a length as clouds give them.
func longRoutes(entries int, suffix string) string {
	var b strings.Builder
	b.WriteString("newrt|start\n")
	for i := range entries {
		fmt.Fprintf(&b, "mse|%d|-1|service-ricxapp-number-%d-rmr.ricxapp.svc.cluster.local:4560,service-ricplt-number-%d-rmr.ricplt.svc.cluster.local:4560%s\n",
			1000+i, i, i, suffix)
	}
	b.WriteString("newrt|end\n")
	return b.String()
}

// oldLimit is the longest message that programs older than release 3.8 of the library take, with its head.
const oldLimit = 4096 + 330

// T05: for old programs a large table goes in messages that they can hold, cut at ends of records; so do updates.
func TestLargeTableInSmallMessages(t *testing.T) {
	t.Parallel()
	c := startThree(t, "--rtg-chunk", "4096")
	loadRoutes(t, c.Nodes[0], longRoutes(5000, ""))
	apps := startApps(t, 3, func(i int) rmrapp.Config { return asking(c.Nodes[i], rmrapp.Config{Limit: oldLimit}) })
	waitTables(t, apps, shown(c.Nodes[1]))
	update := strings.Replace(longRoutes(200, ";service-more:1"), "newrt|", "updatert|", 2)
	loadRoutes(t, c.Nodes[2], update)
	waitTables(t, apps, shown(c.Nodes[1]))
	c.WaitLeader().Kill()
	loadRoutes(t, c.Running()[0], "updatert|start\nmse|7|7|a:1\nupdatert|end|1\n")
	waitTables(t, apps, shown(c.Running()[0]))
}

// A node that dies in the middle of a table that is cut leaves it open in its application. The next one begins anew, and the
// application answers to it as to any other: two answers to one message would have been its last.
func TestNodeThatDiesInTheMiddleOfATable(t *testing.T) {
	t.Parallel()
	c := startThree(t, "--rtg-chunk", "4096")
	dies, lives := c.Nodes[0], c.Nodes[1]
	loadRoutes(t, lives, "newrt|start\nmse|1|-1|a:1\nnewrt|end|1\n")
	apps := startApps(t, 2, func(int) rmrapp.Config { return asking(dies, rmrapp.Config{}) })
	torn, healthy := apps[0], apps[1:]
	waitTables(t, apps, shown(lives))
	torn.StopReading(true)
	loadRoutes(t, lives, longRoutes(6000, strings.Repeat(";service-ricxapp-number-0-rmr.ricxapp.svc.cluster.local:4560", 35))) // more than the sockets hold
	waitTables(t, healthy, shown(lives))
	dies.Kill()
	torn.StopReading(false)
	small := "newrt|start\nmse|1|-1|b:1\nnewrt|end|1\n" // that of the next node is one message
	loadRoutes(t, lives, small)
	waitTables(t, apps, small)
	left := 0
	for _, e := range torn.History() {
		if strings.HasPrefix(e.Answer, "ERR ") && strings.Contains(e.Answer, "table not complete") {
			left++
		}
	}
	if left == 0 {
		t.Errorf("no table was left open: %s", told(torn))
	}
	loadRoutes(t, lives, "updatert|start\nmse|1|-1|c:1\nupdatert|end|1\n")
	waitTables(t, apps, shown(lives))
	waitAcked(t, torn)
	waitAllAcked(t, lives)
}

// waitAcked waits until the newest table was acknowledged.
func waitAcked(t testing.TB, a *rmrapp.App) {
	t.Helper()
	if err := a.Wait(patient(t), "acknowledging", func(a *rmrapp.App) bool {
		last, _ := a.Last()
		e, ok := rmrapp.LastAcked(a.History())
		return ok && e.ID == last.ID
	}); err != nil {
		t.Error(err)
	}
}

// waitAllAcked waits until a node's list says that all applications acknowledged what there is.
func waitAllAcked(t testing.TB, n *floetest.Node) {
	t.Helper()
	c := n.Client(floetest.Patience)
	floetest.Eventually(t, floetest.Patience, func() error {
		version := mustMetric(t, n, "floe_table_version")
		apps, err := c.Apps(context.Background())
		for _, a := range apps {
			if a.VersionAcked != uint64(version) {
				return fmt.Errorf("%+v; the table is at %v", a, version)
			}
		}
		return err
	})
}
