package manager

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/routing"
	"floe/scripts/rmrapp"
	"floe/transport/rmr/proto"
)

func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

func send(t testing.TB, nc net.Conn, m proto.Message) {
	t.Helper()
	b, err := proto.Append(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write(b); err != nil {
		t.Fatal(err)
	}
}

func request(name, src string) proto.Message {
	return proto.Message{Type: proto.TypeRequest, Src: []byte(src), SrcIP: []byte(src), Payload: proto.TableRequest{Name: name, Time: 1}.Append(nil)}
}

// Case P02 and others: what is no request and no acknowledgement is refused,
// counted, and changes nothing.
func TestRefusedMessages(t *testing.T) {
	g := newGroup(t)
	g.load(t, "mse|100|-1|a:1")
	m := serve(t, g)
	long := strings.Repeat("n", 60)
	for name, msg := range map[string]proto.Message{
		"table data":       {Type: proto.TypeTable, Payload: []byte("newrt|start|1\nmse|100|-1|evil:1\nnewrt|end|1\n")},
		"health check":     {Type: 100, Payload: []byte("?")},
		"no name":          {Type: proto.TypeRequest, Payload: []byte("\n\x00")},
		"no port":          request("app", "app:1"),
		"a long name":      request(long+":4560", "app:4561"),
		"a strange name":   request("a|b:4560", "app:4561"),
		"a long payload":   {Type: proto.TypeRequest, Payload: []byte("app:1 " + strings.Repeat("x", 2000))},
		"another's answer": {Type: proto.TypeAck, Src: []byte("app:4561"), Payload: proto.AppendAccepted(nil, "1.1.n1")},
	} {
		before := m.Stats()
		nc := dial(t, m.address)
		send(t, nc, msg)
		send(t, nc, proto.Message{Type: 7}) // what came before it was dealt with
		want := uint64(2)
		if msg.Type == proto.TypeAck {
			want = 1
		}
		eventually(t, name+" is refused", func() bool { return m.Stats().BadInput == before.BadInput+want })
		if now := m.Stats(); now.Requests != before.Requests {
			t.Errorf("%s: %+v", name, now)
		}
	}
	if v := g.View(); len(v.Apps) != 0 || v.Routes.State().Table.Len() != 1 {
		t.Errorf("%d apps, %d routes", len(v.Apps), v.Routes.State().Table.Len())
	}
}

// Case T21: a source of more than 63 bytes is refused.
func TestSourcesThatAreTooLong(t *testing.T) {
	g := newGroup(t)
	g.load(t, "mse|100|-1|a:1")
	m := serve(t, g)
	msg := request("app:4560", "")
	msg.Src = bytes.Repeat([]byte("s"), proto.MaxSource)
	b, err := proto.Append(nil, &msg)
	if err != nil {
		t.Fatal(err)
	}
	b[50+76+63] = 's' // where the text should end
	if _, err := dial(t, m.address).Write(b); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is refused", func() bool { return m.Stats().BadInput == 1 })
	if m.Stats().Requests != 0 {
		t.Error("it is taken as well")
	}
}

func TestRequestsOnOneConnectionAreOfOneApp(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	nc := dial(t, m.address)
	send(t, nc, request("a:4560", "a:4561"))
	send(t, nc, request("b:4560", "b:4561"))
	send(t, nc, request("a:4560", "a:4561"))
	eventually(t, "all are dealt with", func() bool { s := m.Stats(); return s.Requests == 2 && s.BadInput == 1 })
	eventually(t, "a is registered", func() bool { _, ok := g.View().App("a:4560"); return ok })
	if len(g.View().Apps) != 1 || g.proposed(fsm.RegisterApp{}) != 1 {
		t.Errorf("%v, %d registrations", g.View().Apps, g.proposed(fsm.RegisterApp{}))
	}
}

// Case T21: everything over IPv6.
func TestIPv6(t *testing.T) {
	g := newGroup(t)
	m := serveOn(t, g, "[::1]:0")
	g.load(t, "mse|100|-1|[::1]:4560")
	a := start(t, m.address, func(c *rmrapp.Config) { c.Listen, c.Control = "[::1]:0", "[::1]:0" })
	routed(t, a, 100, "[::1]:4560")
	eventually(t, "it is registered", func() bool { app, ok := g.View().App(a.ID()); return ok && first(app.Control) == a.ControlAddress() })
	a.DropConnections()
	g.load(t, "updatert|start", "mse|100|-1|[::1]:4561")
	routed(t, a, 100, "[::1]:4561")
	noFaults(t, a)
}

// Case T26, and a cluster without routes: who asks goes on asking, and is
// answered on its connection as soon as there is a table.
func TestRequestsBeforeThereIsATable(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	a := start(t, m.address, func(c *rmrapp.Config) { c.Every = 20 * time.Millisecond })
	wait(t, a, "asked again", func(a *rmrapp.App) bool { return a.Stats().Asked > 3 })
	eventually(t, "it is registered", func() bool { _, ok := g.View().App(a.ID()); return ok })
	if got := g.proposed(fsm.RegisterApp{}); got != 1 {
		t.Errorf("%d registrations for requests on one connection", got)
	}
	if len(a.History()) != 0 || m.Stats().Pushes != 0 {
		t.Error("something was pushed")
	}
	g.load(t) // empty, but a table
	wait(t, a, "has a table", (*rmrapp.App).Ready)
	noFaults(t, a)
}

// Without a quorum requests are answered from the local copy, nothing is
// pushed unasked, and the app is registered once there is one again.
func TestWithoutQuorum(t *testing.T) {
	t.Parallel() // it waits for seconds
	g := newGroup(t)
	m := serve(t, g)
	g.load(t, "mse|100|-1|a:1")
	old := start(t, m.address)
	routed(t, old, 100, "a:1")
	eventually(t, "it is settled", func() bool { st := m.Apps(); return len(st) == 1 && st[0].VersionAcked > 0 })
	g.setCut(true)
	eventually(t, "the lease ran out", func() bool { return !m.lease.valid() })
	g.load(t, "updatert|start", "mse|100|-1|a:2") // as if it were committed before
	fresh := start(t, m.address)
	routed(t, fresh, 100, "a:2")
	if _, ok := g.View().App(fresh.ID()); ok || len(old.History()) != 1 {
		t.Errorf("registered %v, %d tables pushed", ok, len(old.History()))
	}
	g.setCut(false)
	routed(t, old, 100, "a:2")
	eventually(t, "it is registered", func() bool { app, ok := g.View().App(fresh.ID()); return ok && app.Acked == g.View().TableVersion() })
	if len(fresh.History()) != 1 {
		t.Errorf("%d tables for one version", len(fresh.History()))
	}
	noFaults(t, old, fresh)
}

// A node that was removed, or left, has a table that nobody changes any more: who
// asks it gets none, and goes on asking.
func TestNodeOfNoCluster(t *testing.T) {
	g := newGroup(t)
	g.load(t, "mse|100|-1|old:1")
	var member atomic.Bool
	m := serve(t, g, func(c *Config) { c.Member = member.Load })
	a := start(t, m.address)
	wait(t, a, "asking again", func(a *rmrapp.App) bool { return a.Stats().Asked > 2 })
	if a.Ready() || len(m.Apps()) > 0 || m.Stats().BadInput == 0 {
		t.Errorf("ready: %v, %+v, %+v", a.Ready(), m.Apps(), m.Stats())
	}
	member.Store(true)
	routed(t, a, 100, "old:1")
}

// Of two programs of one name the later is served, and the log says so.
func TestTwoOfOneName(t *testing.T) {
	g := newGroup(t)
	g.load(t, "mse|100|-1|a:1")
	var log syncBuffer
	m := serve(t, g, func(c *Config) { c.Log = hclog.New(&hclog.LoggerOptions{Output: &log}) })
	twin := func(c *rmrapp.Config) { c.Name = "twin" }
	first := start(t, m.address, twin)
	routed(t, first, 100, "a:1")
	if strings.Contains(log.String(), "served no more") {
		t.Errorf("%s", log.String())
	}
	eventually(t, "the first is known", func() bool { _, known := g.View().App(first.ID()); return known })
	_, port, _ := net.SplitHostPort(first.DataAddress())
	second := start(t, m.address, twin, func(c *rmrapp.Config) { c.Listen = "127.0.0.2:" + port })
	routed(t, second, 100, "a:1")
	if got := log.String(); !strings.Contains(got, "served no more") || !strings.Contains(got, "twin:"+port) || !strings.Contains(got, first.ControlAddress()) {
		t.Errorf("%s", got)
	}
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A restarted program has nothing, and gets everything; so does one whose
// connection was cut, which never asks again.
func TestIncarnations(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	g.load(t, "mse|100|-1|a:1", "mme_ar|o:1|m1")
	a := start(t, m.address)
	routed(t, a, 100, "a:1")
	eventually(t, "it is registered", func() bool { _, ok := g.View().App(a.ID()); return ok })
	one, _ := g.View().App(a.ID())
	if err := a.Restart(); err != nil {
		t.Fatal(err)
	}
	routed(t, a, 100, "a:1")
	eventually(t, "it is another incarnation", func() bool { two, _ := g.View().App(a.ID()); return two.Serial > one.Serial && two.Acked > 0 })
	asked := a.Stats().Asked
	a.DropConnections()
	g.load(t, "updatert|start", "mme_ar|o:2|m2")
	wait(t, a, "has the change", func(a *rmrapp.App) bool { return a.MEIDs()["m2"] == "o:2" })
	if a.Stats().Asked != asked {
		t.Error("it asked again")
	}
	if e, _ := a.Last(); e.Asked || kindOf(a) == routing.TableDelta {
		t.Errorf("%v", e)
	}
	noFaults(t, a)
}

// An app that had nothing to say for long, as nothing changed, is alive as long as its connection is.
func TestAppsThatRestAreNotForgotten(t *testing.T) {
	g := newGroup(t)
	const expire = 2 * time.Second
	m := serve(t, g, func(c *Config) { c.Expire = expire })
	g.load(t, "mse|100|-1|a:1")
	for what, happens := range map[string]func(a *rmrapp.App) error{
		"its connection breaks": func(a *rmrapp.App) error { a.DropConnections(); return nil },
		"another node pushed to it": func(a *rmrapp.App) error {
			_, err := g.Call(t.Context(), "n1", againMethod, []byte(a.ID()))
			return err
		},
	} {
		a := start(t, m.address)
		routed(t, a, 100, "a:1")
		eventually(t, "it is known that it has the table", func() bool { app, _ := g.View().App(a.ID()); return app.Acked > 0 })
		rests, had := time.Now(), len(a.History())
		eventually(t, "it rests for long", func() bool { return time.Since(rests) > expire+expire/4 })
		if err := happens(a); err != nil {
			t.Fatal(err)
		}
		wait(t, a, "gets everything again: "+what, func(a *rmrapp.App) bool { return len(a.History()) > had })
		if _, known := g.View().App(a.ID()); !known {
			t.Errorf("%s: forgotten", what)
		}
		a.Close()
	}
}

// Case T13: an app that comes back at other addresses has one destination,
// and what is not there any more is forgotten in the end.
func TestAppsThatGoAreForgotten(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g, func(c *Config) {
		c.Expire = 700 * time.Millisecond
		c.Redial = 200 * time.Millisecond
		c.DialTimeout = 100 * time.Millisecond
	})
	g.load(t, "mse|100|-1|a:1")
	stays := start(t, m.address)
	for range 20 {
		a := start(t, m.address)
		wait(t, a, "has a table", (*rmrapp.App).Ready)
		a.Close()
	}
	same := start(t, m.address)
	for range 5 { // the same name from other control ports
		wait(t, same, "has a table", (*rmrapp.App).Ready)
		same.Close()
		data := same.DataAddress()
		same = start(t, m.address, func(c *rmrapp.Config) { c.Listen = data })
	}
	routed(t, same, 100, "a:1")
	eventually(t, "only those that live are left", func() bool { return len(g.View().Apps) == 2 })
	app, _ := g.View().App(same.ID())
	if len(app.Control) != 1 || app.Control[0] != same.ControlAddress() {
		t.Errorf("%+v, at %s", app, same.ControlAddress())
	}
	g.load(t, "updatert|start", "mse|100|-1|a:2")
	routed(t, stays, 100, "a:2")
	routed(t, same, 100, "a:2")
	noFaults(t, stays, same)
}

func TestControlAddresses(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	for _, test := range []struct{ src, srcIP, want string }{
		{"app:4561", "10.0.0.1:4561", "127.0.0.1:4561 10.0.0.1:4561 app:4561"},
		{"app:4561", "app:4561", "127.0.0.1:4561 app:4561"},
		{"[fe80::1]:99", "[fe80::1]:99", "127.0.0.1:99 [fe80::1]:99"},
		{"", "", ""},
		{"nonsense", "a|b:1", "127.0.0.1:1"},
	} {
		name := fmt.Sprintf("app-%d:4560", len(test.src)+100*len(test.srcIP))
		msg := request(name, test.src)
		msg.SrcIP = []byte(test.srcIP)
		send(t, dial(t, m.address), msg)
		var app fsm.App
		eventually(t, "it is registered", func() (ok bool) { app, ok = g.View().App(name); return ok })
		if got := strings.Join(app.Control, " "); got != test.want {
			t.Errorf("%q, %q: got %s", test.src, test.srcIP, got)
		}
	}
}

func TestRegistrationsAreLimited(t *testing.T) {
	t.Parallel() // it waits for seconds
	b := &buckets{rate: 50}
	now := time.Now()
	a, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	var last time.Duration
	for i := range 150 {
		last = b.take(a, now)
		if free := i < 50; free != (last == 0) {
			t.Fatalf("turn %d after %v", i, last)
		}
	}
	if last != 2*time.Second {
		t.Errorf("the last turn is after %v", last)
	}
	if b.take(other, now) != 0 || b.take(a, now.Add(5*time.Second)) != 0 {
		t.Error("others have to wait, or for ever")
	}

	g := newGroup(t)
	g.load(t, "mse|100|-1|a:1")
	m := serve(t, g, func(c *Config) { c.Rate = 1; c.Exempt = func(netip.Addr) bool { return false } })
	var apps []*rmrapp.App
	for range 3 {
		apps = append(apps, start(t, m.address))
	}
	for _, a := range apps {
		routed(t, a, 100, "a:1") // at once
	}
	if n := len(g.View().Apps); n > 2 {
		t.Errorf("%d were registered at once", n)
	}
	eventually(t, "all are registered", func() bool { return len(g.View().Apps) == 3 })
}

func TestBounds(t *testing.T) {
	g := newGroup(t)
	g.load(t, "mse|100|-1|a:1")
	var log syncBuffer
	m := serve(t, g, func(c *Config) {
		c.Connections, c.Apps, c.Log = 3, 2, hclog.New(&hclog.LoggerOptions{Output: &log})
	})
	one, two := start(t, m.address), start(t, m.address)
	routed(t, one, 100, "a:1")
	routed(t, two, 100, "a:1")
	nc := dial(t, m.address)
	send(t, nc, request("a:4560", "a:4561"))
	eventually(t, "an app too many is refused", func() bool { return m.Stats().BadInput == 1 })
	extra := dial(t, m.address)
	if _, err := extra.Read(make([]byte, 1)); err == nil {
		t.Error("a connection too many is kept")
	}
	if got := m.Stats(); got.RefusedConns != 1 || got.Connections != 3 || got.Sessions != 2 {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"2 apps are served already", "connection refused"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in:\n%s", want, log.String())
		}
	}
}

// Case M04: what an app gets first has all MEIDs, also after a restart.
func TestFirstTableHasTheWholeMap(t *testing.T) {
	g := newGroup(t)
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("mme_ar|o:%d|gnb_%d", 1+i%3, i))
	}
	g.load(t, append(lines, "mse|100|-1|%meid")...)
	for range 2 {
		m := serve(t, g)
		a := start(t, m.address)
		wait(t, a, "has a table", (*rmrapp.App).Ready)
		if e := a.History(); len(a.MEIDs()) != 200 || len(e) != 1 {
			t.Errorf("%d MEIDs in %d tables", len(a.MEIDs()), len(e))
		}
		m.halt()
	}
}
