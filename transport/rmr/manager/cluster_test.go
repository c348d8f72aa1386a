package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"floe/cluster"
	"floe/cluster/clustertest"
	"floe/fsm"
	"floe/scripts/rmrapp"
)

// three is three nodes in this process, with a manager each.
type three struct {
	*clustertest.Cluster
	t        *testing.T
	managers map[string]*served
}

func newThree(t *testing.T) *three {
	c := &three{Cluster: clustertest.New(t, 3, func(c *cluster.Config) { c.Timing = cluster.Fast }), t: t, managers: map[string]*served{}}
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
	m := serve(c.t, n)
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
			c := newThree(t)
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
	c := newThree(t)
	c.load("mse|100|-1|a:1")
	out := c.Follower()
	m := c.managers[out.Name]
	a := start(t, m.address)
	routed(t, a, 100, "a:1")
	c.servedBy(out, a.ID())
	c.Network.Isolate(out.Name, c.Names()...)
	// The others must not take over while it may still push.
	takenOver := func() bool { app, _ := c.Leader().View().App(a.ID()); return app.Node != out.Name }
	for m.lease.valid() {
		if takenOver() && m.lease.valid() {
			t.Fatal("taken over while the old node has its lease")
		}
		time.Sleep(time.Millisecond) // the poll's pace
	}
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
	if got := m.Stats().Pushes; got != before+1 {
		t.Errorf("%d pushes to answer one request", got-before)
	}
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
	c := newThree(t)
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
	c := newThree(t)
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
	c := newThree(t)
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

// Apps have a change at once while others are black holes: they take
// connections and read nothing, so that what is written to them gets stuck.
func TestBlackHolesDelayNobody(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	lines := []string{"mse|100|-1|a:1"}
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("mse|%d|-1|%s:4560", 1000+i, strings.Repeat("n", 500)))
	}
	g.load(t, lines...)
	for i := range 3 {
		nc := dial(t, m.address)
		_ = nc.(*net.TCPConn).SetReadBuffer(4096)
		send(t, nc, request(fmt.Sprintf("hole-%d:4560", i), "127.0.0.1:1"))
	}
	eventually(t, "the holes asked", func() bool { return m.Stats().Requests == 3 })
	fleet, err := rmrapp.StartFleet(17, func(int) rmrapp.Config { return rmrapp.Config{RouteManager: m.address} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fleet.Close)
	for _, a := range fleet {
		routed(t, a, 100, "a:1")
	}
	began := time.Now()
	g.load(t, "updatert|start", "mse|100|-1|a:2")
	for _, a := range fleet {
		routed(t, a, 100, "a:2")
	}
	t.Logf("17 apps had the change after %v", time.Since(began))
	for i := range 3 {
		if _, known := g.View().App(fmt.Sprintf("hole-%d:4560", i)); !known {
			t.Error("a hole is not registered")
		}
	}
	noFaults(t, fleet...)
}

// settle waits until all apps are registered and at the newest table.
func settle(t testing.TB, g *group, m *served, fleet rmrapp.Fleet) {
	t.Helper()
	eventually(t, "all are settled", func() bool {
		list := m.Apps()
		if len(list) != len(fleet) {
			return false
		}
		for _, st := range list {
			if st.VersionAcked != g.View().TableVersion() {
				return false
			}
		}
		return true
	})
}

// An app that can't be reached is tried again and again, at all its
// addresses, and gets everything when it is there.
func TestUnreachableApps(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	g.load(t, "mse|100|-1|a:1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refuses := l.Addr().String()
	l.Close()
	a := start(t, "")
	g.must(t, member("n1", map[string][]string{Listener: {m.address}}))
	g.must(t, fsm.RegisterApp{Name: a.ID(), Node: "n1", Control: []string{m.address, refuses, a.ControlAddress()}})
	routed(t, a, 100, "a:1")
	if err := a.RefuseControl(true); err != nil {
		t.Fatal(err)
	}
	a.DropConnections()
	eventually(t, "the error is shown", func() bool {
		st := m.Apps()[0]
		return strings.Contains(st.Error, "unreachable") && !st.Connected
	})
	if err := a.RefuseControl(false); err != nil {
		t.Fatal(err)
	}
	g.load(t, "updatert|start", "mse|100|-1|a:2")
	routed(t, a, 100, "a:2")
	if m.Stats().BadInput != 0 {
		t.Error("it dialled its own listener")
	}
	noFaults(t, a)
}

// Who takes connections and never answers may not be the app: the other
// addresses are tried.
func TestWrongHostThatTakesConnections(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g, func(c *Config) { c.AckTimeout = 50 * time.Millisecond })
	g.load(t, "mse|100|-1|a:1")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := start(t, "")
	g.must(t, fsm.RegisterApp{Name: a.ID(), Node: "n1", Control: []string{l.Addr().String(), a.ControlAddress()}})
	routed(t, a, 100, "a:1")
	eventually(t, "it is settled there", func() bool { return m.Apps()[0].Address == a.ControlAddress() && m.Apps()[0].Error == "" })
	noFaults(t, a)
}

var _ Group = (*cluster.Node)(nil)

// The leader's rule, without a network.
func TestServing(t *testing.T) {
	now := time.Now()
	v := &fsm.View{
		Servers: []fsm.Server{{ID: "n1"}, {ID: "n2"}, {ID: "n3"}},
		Members: []fsm.Member{{ID: "n1", Addresses: map[string][]string{Listener: {"n1:4561"}}}, {ID: "n2", Addresses: map[string][]string{Listener: {"n2:4561"}}}, {ID: "n3"}},
		Apps:    []fsm.App{{Name: "a", Node: "n1", Serial: 1}, {Name: "b", Node: "n3", Serial: 2}, {Name: "c", Node: "gone", Serial: 3}},
	}
	const limit = 10 * time.Second
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	known := map[string]time.Time{"n1": ago(time.Hour), "n2": ago(time.Hour), "n3": ago(time.Hour), "gone": ago(time.Hour)}
	for name, test := range map[string]struct {
		since time.Duration
		heard map[string]time.Duration
		out   []string
		quits string
		want  string
	}{
		"all live":                {time.Hour, map[string]time.Duration{"n1": 1, "n2": 1, "n3": 1}, nil, "", "out [] in [] c>n2"},
		"one is dead":             {time.Hour, map[string]time.Duration{"n1": limit + 1, "n2": 1, "n3": 1}, nil, "", "out [n1] in [] a>n2 c>n2"},
		"heard just in time":      {time.Hour, map[string]time.Duration{"n1": limit, "n2": 1, "n3": 1}, nil, "", "out [] in [] c>n2"},
		"a new leader":            {limit, map[string]time.Duration{}, nil, "", "out [] in []"},
		"a new leader that waits": {limit + 1, map[string]time.Duration{"n2": 1}, nil, "", "out [n1 n3] in [] a>n2 b>n2 c>n2"},
		"back":                    {time.Hour, map[string]time.Duration{"n1": 1, "n2": 1, "n3": 1}, []string{"n1", "zz"}, "", "out [] in [n1 zz] c>n2"},
		"still out":               {time.Hour, map[string]time.Duration{"n1": limit + 1, "n2": 1, "n3": 1}, []string{"n1"}, "", "out [] in [] a>n2 c>n2"},
		"no leader":               {0, map[string]time.Duration{}, nil, "", "out [] in []"},
		"resigned":                {time.Second, map[string]time.Duration{"n1": 1, "n2": 1, "n3": 1}, nil, "n1", "out [n1] in [] a>n2"},
		"nobody with a listener":  {time.Hour, map[string]time.Duration{"n3": 1}, nil, "", "out [n1 n2] in [] a>n3 c>n3"},
	} {
		r := newRoll()
		for n, at := range known {
			r.known[n] = at
		}
		if test.since > 0 {
			r.since = ago(test.since)
		}
		for n, d := range test.heard {
			r.heard[n] = ago(d)
		}
		if test.quits != "" {
			r.resign(test.quits)
		}
		view := *v
		view.Distribution.Out = test.out
		op := r.serving(&view, now, limit)
		got := fmt.Sprintf("out %v in %v", op.Out, op.In)
		for _, a := range op.Assign {
			got += " " + a.Name + ">" + a.Node
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// A leader gives no lease that it is not sure of.
func TestLeasesOfNoLeader(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	g.setCut(true)
	if _, err := m.renewed(context.Background(), "n1", nil); err == nil {
		t.Error("a lease without leading")
	}
	g.setCut(false)
	if _, err := m.renewed(context.Background(), "stranger", nil); err == nil {
		t.Error("a lease for who is not in the group")
	}
	if b, err := m.renewed(context.Background(), "n1", nil); err != nil || len(b) != 8 {
		t.Errorf("%v, %v", b, err)
	}
}
