package manager

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"floe/scripts/rmrapp"
	"floe/transport/rmr/proto"
)

// apart gives an app an address that no connections are made from: these could
// take a port from one that is just being started anew.
func apart(cfg *rmrapp.Config) { cfg.Listen, cfg.Control = "127.0.0.2:0", "127.0.0.2:0" }

// A program that is started anew and asks another node is pushed to by the
// one that served it, until that one hears of it: what it is sent there is not
// missing from what the other one thinks it holds.
func TestAppThatAskedElsewhere(t *testing.T) {
	c := newThree(t, short)
	c.load("mse|100|-1|a:1")
	asked := c.Follower()
	old := c.Leader()
	before := start(t, c.managers[old.Name].address, apart)
	routed(t, before, 100, "a:1")
	c.servedBy(old, before.ID())
	c.Network.Isolate(asked.Name, c.Names()...)
	before.Close()
	a := start(t, c.managers[asked.Name].address, func(cfg *rmrapp.Config) {
		cfg.Listen, cfg.Control = before.DataAddress(), before.ControlAddress()
	})
	wait(t, a, "told by two nodes", func(a *rmrapp.App) bool {
		from := map[string]bool{}
		for _, e := range a.History() {
			from[nodeOf(e.ID)] = true
		}
		return from[old.Name] && from[asked.Name]
	})
	a.SetAnswer(rmrapp.Silent) // so that the old one sends one table, and not the next
	c.load("updatert|start", "mse|100|-1|a:2")
	routed(t, a, 100, "a:2")
	c.load("updatert|start", "mse|100|-1|a:1") // as the other node thinks that it is
	a.SetAnswer(rmrapp.Honest)
	c.Network.HealAll()
	routed(t, a, 100, "a:1")
	if by := c.servedBy(asked, a.ID()); by != asked.Name {
		t.Errorf("served by %s", by)
	}
	noFaults(t, a)
}

// A table that was on its way when its program asked is acknowledged on its
// own connection, which must be there for it; and then nobody knows which of the
// two tables came last.
func TestAskedWhileATableIsOnItsWay(t *testing.T) {
	g := newGroup(t)
	g.load(t, "mse|100|-1|a:1")
	m := serve(t, g)
	before := start(t, m.address, apart)
	routed(t, before, 100, "a:1")
	before.Close()
	a := start(t, "", func(cfg *rmrapp.Config) {
		cfg.Listen, cfg.Control = before.DataAddress(), before.ControlAddress()
	})
	a.StopReading(true)
	eventually(t, "sent again", func() bool { return m.Stats().Pushes == 2 })
	nc := dial(t, m.address)
	send(t, nc, request(a.ID(), a.ControlAddress()))
	tables := proto.NewReader(nc, maxFrame)
	took(t, nc, tables)
	a.StopReading(false)
	routed(t, a, 100, "a:1")
	if e, _ := a.Last(); e.Unsent != "" {
		t.Errorf("the connection was closed on its answer: %v", e)
	}
	took(t, nc, tables)
	noFaults(t, a)
}

// A program that is started anew is dialled and asks, both at once: tables in
// several messages come one after the other all the same.
func TestPartsOfTwoTablesNeverMeet(t *testing.T) {
	g := newGroup(t)
	var table []string
	for i := range 3000 {
		table = append(table, fmt.Sprintf("mse|%d|-1|a-host-with-a-long-name:4560", 1000+i))
	}
	g.load(t, table...)
	m := serve(t, g, func(c *Config) { c.Chunk = 4096 })
	a := start(t, m.address, apart)
	for range 50 {
		routed(t, a, 3999, "a-host-with-a-long-name:4560")
		if err := a.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	noFaults(t, a)
	a.DropConnections() // it does not ask again, and is pushed to all the same
	g.load(t, "updatert|start", "mse|1000|-1|a:2")
	routed(t, a, 1000, "a:2")
}

// took reads a whole table from a connection, and acknowledges it.
func took(t *testing.T, nc net.Conn, tables *proto.Reader) {
	t.Helper()
	_ = nc.SetReadDeadline(time.Now().Add(patience))
	frame, err := tables.Next()
	if err != nil {
		t.Fatal(err)
	}
	var m proto.Message
	if err := proto.Parse(frame, &m); err != nil {
		t.Fatal(err)
	}
	text := string(m.Payload)
	id, isFull := strings.CutPrefix(strings.SplitN(text, "\n", 2)[0], "newrt|start|")
	if !isFull {
		t.Fatalf("no whole table: %q", text)
	}
	send(t, nc, m.Reply(proto.TypeAck, proto.AppendAccepted(nil, id), nil, nil))
}
