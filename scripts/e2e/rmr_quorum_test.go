package e2e

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"floe/scripts/rmrapp"
	"floe/transport/http/api"
)

// unasked is how long a node without a majority is watched: longer than an app that is lost is looked for again.
const unasked = 3 * time.Second

// A node without a majority answers requests from its own copy, and pushes nothing that nobody asked for; once the others
// are back, all have what they should.
func TestNodeWithoutMajorityAnswersAndPushesNothing(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	alone, others := c.Nodes[0], c.Nodes[1:]
	loadRoutes(t, alone, "newrt|start\nmse|1|-1|a:1\nnewrt|end|1\n")
	apps := startApps(t, 2, func(int) rmrapp.Config { return asking(alone, rmrapp.Config{}) })
	waitTables(t, apps, shown(alone))
	for _, n := range others {
		n.Signal(syscall.SIGSTOP)
	}
	alone.WaitStatus("without a leader", func(s api.Status) bool { return s.Leader == "" })
	text := alone.Must("routes", "show", "--stale")
	apps[0].DropConnections()
	told := len(apps[0].History())
	late := startApp(t, alone, rmrapp.Config{}) // asks now
	waitTables(t, rmrapp.Fleet{late}, text)
	if err := apps[1].Restart(); err != nil { // it is known to all nodes, and asks anew
		t.Fatal(err)
	}
	waitTables(t, rmrapp.Fleet{apps[1]}, text)
	more := func(a *rmrapp.App) bool { return len(a.History()) > told }
	watched, cancel := context.WithTimeout(context.Background(), unasked)
	defer cancel()
	if err := apps[0].Wait(watched, "told more", more); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a node without a majority pushed to who did not ask: %v", apps[0].History())
	}
	for _, n := range others {
		n.Signal(syscall.SIGCONT)
	}
	if err := apps[0].Wait(patient(t), "told again", more); err != nil {
		t.Error(err)
	}
	c.WaitVoters(3)
	loadRoutes(t, others[0], "updatert|start\nmse|2|-1|b:1\nupdatert|end|1\n")
	waitTables(t, append(rmrapp.Fleet{late}, apps...), shown(others[1]))
}

// A serving node that stood still for a while, with others taking its place, disturbs nobody when it goes on.
func TestServingNodeThatStoodStill(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	still, others := c.Nodes[0], c.Nodes[1:]
	loadRoutes(t, still, "newrt|start\nmse|1|-1|a:1\nnewrt|end|1\nmeid_map|start\nmme_ar|e:1|gnb_1\nmeid_map|end|1\n")
	apps := startApps(t, 12, func(i int) rmrapp.Config { return asking(c.Nodes[i%3], rmrapp.Config{}) })
	waitTables(t, apps, shown(still))
	still.Signal(syscall.SIGSTOP)
	began := time.Now()
	loadRoutes(t, others[0], "updatert|start\nmse|2|-1|b:1\nupdatert|end|1\nmeid_map|start\nmme_del|gnb_1\nmeid_map|end|1\n")
	waitTables(t, apps, shown(others[0]))
	t.Logf("all had a change that was made with the node standing still after %v", time.Since(began).Round(time.Millisecond))
	still.Signal(syscall.SIGCONT)
	still.WaitReady()
	loadRoutes(t, still, "updatert|start\nmse|3|-1|c:1\nupdatert|end|1\n")
	waitTables(t, apps, shown(still))
}
