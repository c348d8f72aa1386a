package e2e

import (
	"fmt"
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/rmrapp"
	"floe/transport/http/api"
)

// A node that is drained gives its applications to others, and may have some
// again afterwards; they miss no change.
func TestDrainMovesApplications(t *testing.T) {
	c := floetest.StartCluster(t, 3)
	drained, other := c.Nodes[1], c.Nodes[2]
	operator := operator(t, c.Nodes...)
	load := func(endpoint string) {
		t.Helper()
		if _, err := operator.LoadRoutes(t.Context(), "newrt|start\nmse|700|-1|"+endpoint+"\nnewrt|end|1\n", nil); err != nil {
			t.Fatal(err)
		}
	}
	load("127.0.0.9:1")
	apps := startApps(t, 4, func(int) rmrapp.Config { return asking(drained, rmrapp.Config{}) })
	waitTables(t, apps, shown(drained))
	served := func(by string) func([]api.App) error {
		return func(all []api.App) error {
			for _, a := range all {
				if (a.Node == drained.ID) != (by == drained.ID) {
					return fmt.Errorf("%s is served by %s", a.Name, a.Node)
				}
			}
			if len(all) != len(apps) {
				return fmt.Errorf("%d of %d apps", len(all), len(apps))
			}
			return nil
		}
	}
	waitApps(t, other, served(drained.ID))
	drained.Must("drain")
	waitApps(t, other, served(other.ID))
	load("127.0.0.9:2")
	waitTables(t, apps, shown(other))

	drained.Must("drain", "--undo")
	late := startApps(t, 1, func(int) rmrapp.Config { return asking(drained, rmrapp.Config{}) })
	waitTables(t, late, shown(other))
	waitApps(t, other, func(all []api.App) error {
		for _, a := range all {
			if a.Name == late[0].ID() && a.Node != drained.ID {
				return fmt.Errorf("%s is served by %s", a.Name, a.Node)
			}
		}
		return nil
	})
	load("127.0.0.9:3")
	waitTables(t, apps, shown(other))
	waitTables(t, late, shown(other))
	checkTold(t, apps)
}
