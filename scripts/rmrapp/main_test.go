package rmrapp

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"floe/transport/rmr/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patienceOfTests = 20 * time.Second

func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patienceOfTests)
	t.Cleanup(cancel)
	return ctx
}

func started(t testing.TB, cfg Config) *App {
	t.Helper()
	a, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func wait(t testing.TB, a *App, what string, ok func(*App) bool) {
	t.Helper()
	if err := a.Wait(soon(t), what, ok); err != nil {
		t.Fatal(err)
	}
}

func noFaults(t testing.TB, a *App) {
	t.Helper()
	if err := (Fleet{a}).Faults(); err != nil {
		t.Error(err)
	}
}

// kinds returns the kinds of an App's faults, one after the other.
func kinds(a *App) string {
	var out []string
	for _, f := range a.Faults() {
		out = append(out, string(f.Kind))
	}
	return strings.Join(out, ",")
}

// manager is a route manager that does only what a test tells it.
type manager struct {
	t testing.TB
	l net.Listener
	// What arrived, on any connection.
	requests, acks chan arrival
}

type arrival struct {
	proto.Message
	frame []byte
	conn  net.Conn
}

func newManager(t testing.TB) *manager {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newManagerOn(t, l)
}

func newManagerOn(t testing.TB, l net.Listener) *manager {
	m := &manager{t, l, make(chan arrival, 1000), make(chan arrival, 1000)}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go m.read(nc)
		}
	}()
	return m
}

func (m *manager) address() string { return m.l.Addr().String() }

func (m *manager) read(nc net.Conn) {
	defer nc.Close()
	frames := proto.NewReader(nc, 0)
	for {
		frame, err := frames.Next()
		if err != nil {
			return
		}
		a := arrival{frame: append([]byte(nil), frame...), conn: nc}
		if err := proto.Parse(a.frame, &a.Message); err != nil {
			m.t.Error(err)
			return
		}
		switch a.Type {
		case proto.TypeRequest:
			m.requests <- a
		case proto.TypeAck:
			m.acks <- a
		default:
			m.t.Errorf("message of type %d to the route manager", a.Type)
		}
	}
}

func next(t testing.TB, from chan arrival) arrival {
	t.Helper()
	select {
	case a := <-from:
		return a
	case <-time.After(patienceOfTests):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// dial opens a connection to a control port, whose acknowledgements the manager reads.
func (m *manager) dial(address string) net.Conn {
	m.t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = nc.Close() })
	go m.read(nc)
	return nc
}

// push sends the text of a table.
func (m *manager) push(nc net.Conn, src, text string) {
	m.t.Helper()
	msg := proto.Message{Type: proto.TypeTable, SubID: 3, Src: []byte(src), Payload: []byte(text)}
	copy(msg.XID[:], "push-1")
	write(m.t, nc, msg)
}

func write(t testing.TB, nc net.Conn, m proto.Message) {
	t.Helper()
	b, err := proto.Append(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write(b); err != nil {
		t.Fatal(err)
	}
}

// table returns the text of a full table with the records.
func table(id string, records ...string) string {
	return block("newrt", id, records...)
}

func block(word, id string, records ...string) string {
	return fmt.Sprintf("%s|start|%s\n%s\n%s|end|%d\n", word, id, strings.Join(records, "\n"), word, len(records))
}

// message is a plain one of a type and subscription id.
func message(mtype, subID int32, payload string) proto.Message {
	return proto.Message{Type: mtype, SubID: subID, Payload: []byte(payload)}
}

// given starts an App with a seed table.
func given(t testing.TB, records ...string) *App {
	return started(t, Config{Seed: table("seed", records...)})
}

func received(t testing.TB, a *App) *Received {
	t.Helper()
	r, err := a.Receive(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
