package relay_test

import (
	"bytes"
	"fmt"
	"net"
	"testing"

	"floe/transport/rmr"
	"floe/transport/rmr/proto"
	"floe/transport/rmr/relay"
)

// Answers reach callers that can be reached by name, and those that can't.
func TestCallsThroughTheRelay(t *testing.T) {
	server, to := app(t)
	answerAll(t, server)
	n := start(t, relay.Config{})
	n.load(t, "mse | 10 | -1 | "+to)
	listening, _ := app(t)
	for name, caller := range map[string]*rmr.App{
		"reachable":      listening,
		"without a name": appOn(t, rmr.Config{}),
		"behind a wall":  appOn(t, rmr.Config{Source: freePort(t)}),
	} {
		for i := range 20 {
			r, err := caller.Call(within(t), n.rmr, text(10, fmt.Sprint(i)))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if r.Type != 11 || string(r.Payload) != fmt.Sprint(i) {
				t.Errorf("%s: %+v", name, r.Message)
			}
		}
	}
	eventually(t, "all are counted", func() bool { return n.Stats().Answers.Delivered == 40 })
	s := n.Stats()
	if s.Total.Lost() != 0 {
		t.Errorf("%+v", s)
	}
	balanced(t, s)
}

// Answers that come on the endpoint's connection find the one who asked, by
// transaction id and call id, byte by byte.
func TestAnswersFindTheirAsker(t *testing.T) {
	server := rawApp(t)
	n := start(t, relay.Config{})
	n.load(t, "mse | 600 | -1 | "+server.name)
	ask := func(src, xid string, call byte) (m proto.Message) {
		m = text(600, "?")
		if call > 0 {
			m = proto.NewCall(call)
			m.Type = 600
		}
		m.Src = []byte(src)
		copy(m.XID[:], xid)
		return m
	}
	asks := []proto.Message{
		ask("", "rts-2", 0), ask("away1:1", "rts-2", 1), ask("away2:1", "rts-2", 2), ask("away1:1", "other", 1),
		ask("away1:1", "plain", 0), ask("", "", 0),
	}
	conns := make([]net.Conn, len(asks))
	for i, m := range asks {
		conns[i] = dial(t, n.rmr)
		write(t, conns[i], frame(t, m))
		server.next(t)
	}
	for round := range 2 { // there may be several answers to one message
		for i, m := range asks {
			reply := m.Reply(601, fmt.Appendf(nil, "%d/%d", i, round), []byte("server:1"), []byte("10.0.0.1:1"))
			f := frame(t, reply)
			write(t, server.last(), f)
			if got := nextFrame(t, conns[i]); !bytes.Equal(got, f) {
				t.Errorf("asker %d got %q", i, parse(t, got).Payload)
			}
		}
	}
	// Those that answer nothing are dropped, whatever the table says of them.
	n.load(t, "mse | 600 | -1 | "+server.name, "mse | 601 | -1 | "+server.name)
	for _, m := range []proto.Message{ask("", "unknown", 0), ask("", "rts-2", 3)} {
		write(t, server.last(), frame(t, m.Reply(601, nil, nil, nil)))
	}
	write(t, server.last(), frame(t, asks[1])) // no answer: it asks
	eventually(t, "they are dropped", func() bool { return n.Stats().Total.Dropped[relay.NoSender] == 3 })
	balanced(t, n.Stats())
}

// A message that nothing tells from others, of a sender with a name, gets
// no answer here: it might be somebody else's.
func TestAnswersWithoutAnything(t *testing.T) {
	server := rawApp(t)
	n := start(t, relay.Config{})
	n.load(t, "mse | 600 | -1 | "+server.name)
	unnamed, named := dial(t, n.rmr), dial(t, n.rmr)
	m := text(600, "?")
	write(t, unnamed, frame(t, m))
	server.next(t)
	m.Src = []byte("named:1")
	write(t, named, frame(t, m))
	server.next(t)
	write(t, server.last(), frame(t, m.Reply(601, []byte("!"), nil, nil)))
	if got := parse(t, nextFrame(t, unnamed)); string(got.Payload) != "!" {
		t.Errorf("%+v", got)
	}
}

// An asker that has gone is dropped for, and nothing else happens.
func TestAskerHasGone(t *testing.T) {
	server := rawApp(t)
	n := start(t, relay.Config{})
	n.load(t, "mse | 600 | -1 | "+server.name)
	nc := dial(t, n.rmr)
	m := text(600, "?")
	write(t, nc, frame(t, m))
	server.next(t)
	nc.Close()
	eventually(t, "it has gone", func() bool { return listener(n).Connections == 0 })
	write(t, server.last(), frame(t, m.Reply(601, nil, nil, nil)))
	eventually(t, "the answer is dropped", func() bool { return n.Stats().Total.Dropped[relay.NoSender] == 1 })
}

// What is no frame ends the connection to an endpoint, which is made anew.
func TestEndpointSendsRubbish(t *testing.T) {
	server := rawApp(t)
	n := start(t, quick())
	n.load(t, "mse | 600 | -1 | "+server.name)
	_ = n.Send(ptr(text(600, "")))
	server.next(t)
	write(t, server.last(), []byte("GET / HTTP/1.1\r\n\r\n"))
	eventually(t, "it is connected to again", func() bool { return n.Stats().BadAnswers == 1 && server.connections() == 2 })
	_ = n.Send(ptr(text(600, "")))
	server.next(t)
}

// A health check that no route is for is answered, by name or on its
// connection, also before there is a table.
func TestHealthCheck(t *testing.T) {
	n := start(t, relay.Config{})
	listening, _ := app(t)
	for name, caller := range map[string]*rmr.App{
		"reachable":      listening,
		"without a name": appOn(t, rmr.Config{}),
		"behind a wall":  appOn(t, rmr.Config{Source: freePort(t)}),
	} {
		for _, to := range []string{n.rmr, n.rmrTopics} {
			r, err := caller.Call(within(t), to, text(100, "well?"))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if r.Type != 101 || string(r.Payload) != "OK\n" || string(r.Src) != n.rmr {
				t.Errorf("%s: %+v", name, r.Message)
			}
		}
	}
	if s := n.Stats(); s.HealthChecks != 6 || s.Total.Lost() != 0 {
		t.Errorf("%+v", s)
	}

	// It comes to the address of its source, on a connection of its own.
	named := rawApp(t)
	m := text(100, "well?")
	m.Src = []byte(named.name)
	write(t, dial(t, n.rmr), frame(t, m))
	if got := parse(t, named.next(t)); got.Type != 101 {
		t.Errorf("%+v", got)
	}

	server, to := app(t)
	n.load(t, "mse | 100 | -1 | "+to)
	send(t, listening, n.rmr, text(100, "yours"))
	if r := receive(t, server); string(r.Payload) != "yours" {
		t.Errorf("%+v", r.Message)
	}
}

// Who asks and does not read costs a bounded queue, and is still drained.
func TestAskerThatReadsNothing(t *testing.T) {
	n := start(t, relay.Config{})
	nc := dial(t, n.rmr)
	f := frame(t, text(100, string(make([]byte, 1000))))
	var batch []byte
	for range 100 {
		batch = append(batch, f...)
	}
	eventually(t, "answers are dropped", func() bool {
		for range 100 {
			write(t, nc, batch)
		}
		return n.Stats().Answers.Dropped[relay.QueueFull] > 0
	})
	s := n.Stats()
	if s.Answers.Queued > 1000 {
		t.Errorf("%+v", s.Answers)
	}
	balanced(t, s)
}
