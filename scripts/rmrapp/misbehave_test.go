package rmrapp

import (
	"net"
	"runtime"
	"testing"
	"time"

	"floe/transport/rmr/proto"
)

// A black hole takes nothing from its sockets; what is sent to it waits in them.
func TestBlackHole(t *testing.T) {
	b := started(t, Config{})
	a := given(t, "mse|1|-1|"+b.DataAddress())
	a.Send(soon(t), message(1, -1, "before"))
	received(t, b)
	for _, stop := range []func(bool){b.StopReading, b.Pause} {
		stop(true)
		before := b.Stats().Received
		m := message(1, -1, string(make([]byte, 1000)))
		sent := 0
		for state := OK; state != Retry; sent++ {
			if state = a.Send(soon(t), m).State; state != OK && state != Retry {
				t.Fatal(state)
			}
		}
		if n := b.Stats().Received; n != before {
			t.Errorf("%d messages read", n-before)
		}
		stop(false)
		wait(t, b, "caught up", func(b *App) bool { return b.Stats().Received >= before+uint64(sent)-1 })
	}
}

func TestPausedManagerSide(t *testing.T) {
	m := newManager(t)
	a := started(t, Config{})
	a.Pause(true)
	nc := m.dial(a.ControlAddress()) // the system still takes it
	m.push(nc, "", table("t"))
	runtime.Gosched()
	if a.Ready() || len(a.History()) != 0 {
		t.Error("a paused app reads")
	}
	a.Pause(false)
	next(t, m.acks)
}

func TestRefusesConnections(t *testing.T) {
	a := started(t, Config{})
	for _, p := range []struct {
		refuse  func(bool) error
		address string
	}{{a.RefuseControl, a.ControlAddress()}, {a.RefuseData, a.DataAddress()}} {
		if err := p.refuse(true); err != nil {
			t.Fatal(err)
		}
		if nc, err := net.Dial("tcp", p.address); err == nil {
			_ = nc.Close()
			t.Error("connected")
		}
		for range 2 {
			if err := p.refuse(false); err != nil {
				t.Fatal(err)
			}
		}
		nc, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.Close()
	}
}

func TestAnswers(t *testing.T) {
	m := newManager(t)
	a := started(t, Config{})
	nc := m.dial(a.ControlAddress())
	a.SetAnswer(Refusing)
	for _, text := range []string{table("1", "mse|1|-1|a:1"), block("meid_map", "1", "mme_ar|o:1|m"), table("1")} {
		m.push(nc, "", text)
		if ack := proto.ParseAck(next(t, m.acks).Payload); ack.OK || !ack.For("1") {
			t.Errorf("%+v", ack)
		}
	}
	if a.Ready() {
		t.Error("refused and applied")
	}
	a.SetAnswer(Silent)
	m.push(nc, "", table("2", "mse|1|-1|a:1"))
	if err := a.WaitTable(soon(t), "2"); err != nil {
		t.Fatal(err)
	}
	a.SetAnswer(Honest)
	m.push(nc, "", block("updatert", "3", "mse|1|-1|a:1"))
	if ack := proto.ParseAck(next(t, m.acks).Payload); !ack.OK || !ack.For("3") {
		t.Errorf("%+v", ack)
	}
	if e, _ := LastAcked(a.History()[:4]); e.ID != "" {
		t.Error(e)
	}
	noFaults(t, a)
}

func TestRestart(t *testing.T) {
	m := newManager(t)
	a := started(t, Config{RouteManager: m.address(), Every: time.Minute})
	id, control := a.ID(), a.ControlAddress()
	m.push(next(t, m.requests).conn, "", table("v5", "mse|1|-1|a:1"))
	next(t, m.acks)
	if err := a.Restart(); err != nil {
		t.Fatal(err)
	}
	if a.Ready() || a.ID() != id || a.ControlAddress() != control {
		t.Error("the same incarnation, or another app")
	}
	m.push(next(t, m.requests).conn, "", table("v4"))
	next(t, m.acks)
	h := a.History()
	if len(h) != 2 || h[0].Incarnation != 1 || h[1].Incarnation != 2 {
		t.Errorf("%v", h)
	}
	version := func(id string) (uint64, error) { return uint64(id[1]), nil }
	if err := CheckRising(h, version); err != nil {
		t.Error(err)
	}
	h[1].Incarnation = 1
	if CheckRising(h, version) == nil {
		t.Error("a step back is not found")
	}
}

func TestDropConnections(t *testing.T) {
	m := newManager(t)
	a := started(t, Config{RouteManager: m.address(), Every: time.Minute})
	asked := next(t, m.requests).conn
	m.push(asked, "", table("1"))
	next(t, m.acks)
	a.DropConnections()
	m.push(m.dial(a.ControlAddress()), "", table("2"))
	next(t, m.acks)
	if n := a.Stats().Asked; n != 1 {
		t.Error("asked", n, "times")
	}
}

// Two apps may listen on one port, as the library's always do.
func TestSharedPort(t *testing.T) {
	a := started(t, Config{SharePort: true})
	b := started(t, Config{SharePort: true, Control: a.ControlAddress()})
	m := newManager(t)
	for i := 0; !a.Ready() || !b.Ready(); i++ {
		if i == 1000 {
			t.Fatal("one of them gets all connections")
		}
		m.push(m.dial(a.ControlAddress()), "", table("t"))
		next(t, m.acks)
	}
}
