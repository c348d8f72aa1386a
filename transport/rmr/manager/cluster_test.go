package manager

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/fsm"
	"floe/scripts/rmrapp"
)

var _ Group = (*cluster.Node)(nil)

// Leases: short where one is waited for, long where a node that stalls on a
// busy machine must not lose its apps.
const (
	short = time.Second
	long  = 3 * time.Second
)

// three is three nodes in this process, with a manager each.
type three struct {
	*clustertest.Cluster
	t        *testing.T
	managers map[string]*served
	lease    time.Duration
}

func newThree(t *testing.T, lease time.Duration) *three {
	c := &three{lease: lease, Cluster: clustertest.New(t, 3, func(c *cluster.Config) { c.Timing = cluster.Fast }), t: t, managers: map[string]*served{}}
	c.Wait("cluster version", func() error {
		if v := c.Nodes[0].View().Version; v < servingVersion {
			return fmt.Errorf("at %d", v)
		}
		return nil
	})
	for _, n := range c.Nodes {
		c.serve(n)
	}
	return c
}

func (c *three) serve(n *clustertest.Node) {
	m := serve(c.t, n, func(cfg *Config) { cfg.Lease = c.lease })
	c.managers[n.Name] = m
	n.SetAddresses(map[string][]string{Listener: {m.address}})
	c.Wait("a lease at "+n.Name, func() error {
		if !m.lease.valid() {
			return fmt.Errorf("none")
		}
		return nil
	})
}

func (c *three) propose(op fsm.Op) fsm.Result {
	c.t.Helper()
	r, err := c.Leader().Propose(soon(c.t), op, "")
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *three) load(lines ...string) { c.t.Helper(); c.propose(change(c.t, lines...)) }

// running returns a node that runs.
func (c *three) running() *clustertest.Node {
	for _, n := range c.Nodes {
		if n.Running() {
			return n
		}
	}
	return nil
}

// servedBy waits until an app acknowledged the newest table, as far as a
// node of the majority knows, and returns who serves it.
func (c *three) servedBy(n *clustertest.Node, app string) string {
	c.t.Helper()
	var by string
	c.Wait("served", func() error {
		v := n.View()
		a, ok := v.App(app)
		if by = a.Node; !ok || a.Acked != v.TableVersion() {
			return fmt.Errorf("%+v, the table is at %d", a, v.TableVersion())
		}
		return nil
	})
	return by
}

// version is what a table's id begins with; node is what it ends with.
func version(id string) (uint64, error) {
	text, _, _ := strings.Cut(id, ".")
	return strconv.ParseUint(text, 10, 64)
}

func nodeOf(id string) string { return id[strings.LastIndexByte(id, '.')+1:] }

// kill kills a node with its manager, at once.
func (c *three) kill(name string) {
	for _, n := range c.Nodes {
		if n.Name == name {
			n.Kill()
			c.managers[name].halt()
		}
	}
}

// An app whose node dies gets the latest table from another one, without
// asking, also if it was the leader that died. The old one pushes nothing
// more, and the versions never fall.
func TestTakeover(t *testing.T) {
	for _, leader := range []bool{false, true} {
		t.Run(fmt.Sprintf("leader=%v", leader), func(t *testing.T) {
			t.Parallel()
			c := newThree(t, short)
			c.load("mse|100|-1|a:1", "mme_ar|o:1|m1 m2")
			at := c.Follower()
			if leader {
				at = c.Leader()
			}
			a := start(t, c.managers[at.Name].address)
			routed(t, a, 100, "a:1")
			if by := c.servedBy(at, a.ID()); by != at.Name {
				t.Fatalf("asked %s, is served by %s", at.Name, by)
			}
			asked := a.Stats().Asked
			began := time.Now()
			c.kill(at.Name)
			c.Leader()
			c.load("updatert|start", "mse|100|-1|a:2", "mme_del|m1")
			routed(t, a, 100, "a:2")
			t.Logf("taken over after %v", time.Since(began))
			wait(t, a, "forgot a MEID", func(a *rmrapp.App) bool { return len(a.MEIDs()) == 1 })
			by := c.servedBy(c.running(), a.ID())
			if by == at.Name || a.Stats().Asked != asked {
				t.Errorf("served by %s, asked %d times since", by, a.Stats().Asked-asked)
			}
			oneAtATime(t, a)
		})
	}
}

// oneAtATime: each node that pushed pushed without another one in between.
func oneAtATime(t *testing.T, a *rmrapp.App) {
	t.Helper()
	noFaults(t, a)
	events := a.History()
	if err := rmrapp.CheckRising(events, version); err != nil {
		t.Error(err)
	}
	done := map[string]bool{}
	for i, e := range events {
		if i > 0 && nodeOf(e.ID) != nodeOf(events[i-1].ID) {
			done[nodeOf(events[i-1].ID)] = true
		}
		if done[nodeOf(e.ID)] {
			t.Errorf("%v: its node was replaced before", e)
		}
	}
}

// A node that is cut off from the leader pushes nothing unasked, and answers
// requests; its apps are served by others meanwhile. When it is back it
// serves who asked it.
func TestNodeThatIsCutOff(t *testing.T) {
	c := newThree(t, short)
	c.load("mse|100|-1|a:1")
	out := c.Follower()
	m := c.managers[out.Name]
	a := start(t, m.address)
	routed(t, a, 100, "a:1")
	c.servedBy(out, a.ID())
	c.Network.Isolate(out.Name, c.Names()...)
	// The others must not take over while it may still push.
	takenOver := func() bool { app, _ := c.Leader().View().App(a.ID()); return app.Node != out.Name }
	c.Wait("the lease ran out", func() error {
		if takenOver() && m.lease.valid() {
			t.Fatal("taken over while the old node has its lease")
		}
		if m.lease.valid() {
			return fmt.Errorf("it has not")
		}
		return nil
	})
	c.Wait("taken over", func() error {
		if !takenOver() {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	c.load("updatert|start", "mse|100|-1|a:2")
	routed(t, a, 100, "a:2")
	oneAtATime(t, a)
	before := m.Stats().Pushes
	b := start(t, m.address)
	routed(t, b, 100, "a:1") // what this node knows
	c.Wait("one push, to answer one request", func() error {
		if got := m.Stats().Pushes; got != before+1 {
			return fmt.Errorf("%d", got-before)
		}
		return nil
	})
	c.Network.HealAll()
	routed(t, b, 100, "a:2")
	c.Wait("b is served by the node it asked", func() error {
		if by := c.servedBy(c.Leader(), b.ID()); by != out.Name {
			return fmt.Errorf("by %s", by)
		}
		return nil
	})
	c.Wait("the node is back", func() error {
		if v := c.Leader().View(); v.Distribution.IsOut(out.Name) {
			return fmt.Errorf("it is out")
		}
		return nil
	})
	if by := c.servedBy(c.Leader(), a.ID()); by == out.Name {
		t.Error("the app went back")
	}
	noFaults(t, a, b)
}

// What an old server wrote late is made good by who serves now.
func TestLateTableOfAnOldServer(t *testing.T) {
	c := newThree(t, long)
	c.load("mse|100|-1|a:1")
	old, now := c.Nodes[0], c.Nodes[1]
	a := start(t, c.managers[old.Name].address)
	routed(t, a, 100, "a:1")
	c.servedBy(old, a.ID())
	app, _ := old.View().App(a.ID())
	c.propose(fsm.SetServing{Assign: []fsm.Assignment{{Name: app.Name, Serial: app.Serial, Node: now.Name}}})
	c.load("updatert|start", "mse|100|-1|a:2")
	routed(t, a, 100, "a:2")
	c.servedBy(now, a.ID())
	// It wakes up in the middle of a push.
	m := c.managers[old.Name]
	late := newConn(m.Manager, dial(t, a.ControlAddress()))
	m.take(late)
	s := newSession(m.Manager, app.Name)
	s.conn = late
	text := []byte("newrt|start|1.1." + old.Name + "\nmse|100|-1|late:1\nnewrt|end|1\n")
	if err := s.send(&content{id: "1.1." + old.Name, texts: [][]byte{text}}, true); err != nil {
		t.Fatal(err)
	}
	wait(t, a, "had the late table", func(a *rmrapp.App) bool {
		for _, e := range a.History() {
			if strings.HasPrefix(e.ID, "1.1.") {
				return true
			}
		}
		return false
	})
	routed(t, a, 100, "a:2")
	noFaults(t, a)
}

// Who stops in good order hands its apps over at once.
func TestShutdownHandsOver(t *testing.T) {
	c := newThree(t, long)
	c.load("mse|100|-1|a:1")
	for i, at := range []*clustertest.Node{c.Leader(), c.Follower()} {
		a := start(t, c.managers[at.Name].address)
		wait(t, a, "has a table", (*rmrapp.App).Ready)
		c.servedBy(at, a.ID())
		c.managers[at.Name].Shutdown(soon(t))
		c.Wait("handed over", func() error {
			if app, _ := at.View().App(a.ID()); app.Node == at.Name || !at.View().Distribution.IsOut(at.Name) {
				return fmt.Errorf("served by %s still, out: %v", app.Node, at.View().Distribution.Out)
			}
			return nil
		})
		c.load("updatert|start", fmt.Sprintf("mse|100|-1|b:%d", i+1))
		routed(t, a, 100, fmt.Sprintf("b:%d", i+1))
		c.serve(at)
		c.Wait("it is back", func() error {
			if out := at.View().Distribution.Out; len(out) > 0 {
				return fmt.Errorf("out: %v", out)
			}
			return nil
		})
		oneAtATime(t, a)
	}
}

// Any node lists the apps of all, and says whose node does not answer.
func TestAppsOfAllNodes(t *testing.T) {
	c := newThree(t, long)
	c.load("mse|100|-1|a:1")
	var apps []*rmrapp.App
	for _, n := range c.Nodes {
		a := start(t, c.managers[n.Name].address)
		routed(t, a, 100, "a:1")
		apps = append(apps, a)
	}
	for i, n := range c.Nodes {
		if by := c.servedBy(n, apps[i].ID()); by != n.Name {
			t.Errorf("%d is served by %s", i, by)
		}
	}
	m := c.managers[c.Nodes[0].Name]
	list := m.AllApps(soon(t))
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	for _, st := range list {
		if st.VersionSent == 0 || st.VersionSent != st.VersionAcked || st.Error != "" || st.Address == "" || st.AgeSeconds < 0 {
			t.Errorf("%+v", st)
		}
	}
	b, err := json.Marshal(list[0])
	for _, field := range []string{`"name"`, `"address"`, `"node"`, `"version_sent"`, `"version_acked"`, `"age_seconds"`, `"error"`} {
		if err != nil || !strings.Contains(string(b), field) {
			t.Errorf("%s lacks %s", b, field)
		}
	}
	c.Network.Isolate(c.Nodes[2].Name, c.Names()...)
	for _, st := range m.AllApps(soon(t)) {
		if lost := st.Node == c.Nodes[2].Name; lost != strings.Contains(st.Error, "does not answer") {
			t.Errorf("%+v", st)
		}
	}
}
