package manager

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"floe/fsm"
	"floe/scripts/rmrapp"
)

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

// A program that is too busy to read a large table keeps its connection and is sent nothing
// more until it has read it: it would have all the more to read, and who finds the
// connection closed never answers again.
func TestAppThatReadsLate(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g, func(c *Config) { c.AckTimeout = 200 * time.Millisecond })
	g.load(t, "mse|100|-1|a:1")
	a := start(t, m.address)
	settle(t, g, m, rmrapp.Fleet{a})
	tables, before := len(a.History()), m.Stats()
	a.StopReading(true)
	lines := []string{"mse|100|-1|a:2"}
	for i := range 3000 {
		lines = append(lines, fmt.Sprintf("mse|%d|-1|%s:4560", 1000+i, strings.Repeat("n", 500)))
	}
	g.load(t, lines...)
	eventually(t, "the error is shown", func() bool { return strings.Contains(m.Apps()[0].Error, "not being read") })
	g.load(t, "updatert|start", "mse|100|-1|a:3")
	a.StopReading(false)
	routed(t, a, 100, "a:3")
	settle(t, g, m, rmrapp.Fleet{a})
	if got := m.Stats(); got.Pushes != before.Pushes+2 || got.Unanswered != before.Unanswered {
		t.Errorf("%+v, before %+v", got, before)
	}
	for _, e := range a.History()[tables:] {
		if !e.Asked || !e.Applied || e.Unsent != "" {
			t.Errorf("%v", e)
		}
	}
	noFaults(t, a)
}

// Who takes what is written bit by bit gets all of it; who takes nothing is given up.
func TestWriteGoesOnWhileItIsTaken(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	t.Cleanup(func() { _ = there.Close() })
	c := &conn{nc: here}
	const pieces = 30
	always := func() time.Duration { return never }
	read := make(chan int, 1)
	go func() {
		total, piece := 0, make([]byte, 100)
		for range pieces {
			time.Sleep(100 * time.Millisecond)
			n, _ := there.Read(piece)
			total += n
		}
		read <- total
	}()
	if err := c.write(make([]byte, 100), make([]byte, 100*(pieces-1)), 2*time.Second, always); err != nil {
		t.Error(err)
	}
	if got := <-read; got != 100*pieces {
		t.Errorf("%d bytes came", got)
	}
	if err := c.write(make([]byte, 100), nil, 100*time.Millisecond, always); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("nobody reads: %v", err)
	}
	over := time.Now().Add(100 * time.Millisecond)
	if err := c.write(make([]byte, 100), nil, time.Hour, func() time.Duration { return time.Until(over) }); !errors.Is(err, errMayNot) {
		t.Errorf("the lease is over: %v", err)
	}
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
