package rmrapp

import (
	"bytes"
	"encoding/hex"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"floe/transport/rmr/proto"
)

// frames reads the frames of a vector that the library sent (side A) or got (B).
func frames(t testing.TB, name, side string) (out []proto.Message) {
	t.Helper()
	text, err := os.ReadFile("../../transport/rmr/proto/testdata/" + name + ".hex")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), "\n\n") {
		var frame []byte
		for line := range strings.Lines(part) {
			if digits, ok := strings.CutPrefix(strings.TrimSpace(line), side+"> "); ok {
				b, err := hex.DecodeString(digits)
				if err != nil {
					t.Fatal(err)
				}
				frame = append(frame, b...)
			}
		}
		if len(frame) > 0 {
			var m proto.Message
			if err := proto.Parse(frame, &m); err != nil {
				t.Fatal(err)
			}
			out = append(out, m)
		}
	}
	return out
}

// same compares a frame with one of the library's, but for the names, which are this App's.
func same(t testing.TB, got arrival, want proto.Message, a *App, src, payload string) {
	t.Helper()
	want.Src, want.SrcIP = []byte(src), []byte(a.ControlAddress())
	want.Payload = []byte(payload)
	want.Data1 = []byte{want.CallID(), 0, 0, 0} // the rest is undefined
	b, err := proto.Append(nil, &want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.frame, b) {
		t.Errorf("got\n%q, want\n%q", got.frame, b)
	}
}

// portOf returns the port of an address with its colon.
func portOf(address string) string { return address[strings.LastIndexByte(address, ':'):] }

// The request is that of the library, and is repeated on the same connection until a table message comes, be it blank.
func TestAsksUntilATableMessage(t *testing.T) {
	m := newManager(t)
	a := started(t, Config{Name: "app0", RouteManager: m.address(), Every: 10 * time.Millisecond})
	first := next(t, m.requests)
	request, err := proto.ParseTableRequest(first.Payload)
	if err != nil || request.Name != "app0"+portOf(a.DataAddress()) || request.Name != a.ID() || request.Time == 0 {
		t.Errorf("%+v, %v, id %s", request, err, a.ID())
	}
	want := frames(t, "table-request", "A")[0]
	same(t, first, want, a, "app0"+portOf(a.ControlAddress()), string(proto.TableRequest{Name: a.ID(), Time: request.Time}.Append(nil)))
	if second := next(t, m.requests); second.conn != first.conn {
		t.Error("asked on another connection")
	}
	m.push(first.conn, "", "\n")
	<-a.now().told
	before := a.Stats().Asked
	m.push(first.conn, "", table("t1"))
	if err := a.WaitTable(soon(t), "t1"); err != nil {
		t.Fatal(err)
	}
	after := a.Stats().Asked
	_ = first.conn.Close()
	wait(t, a, "cut", func(a *App) bool { return a.Connections() == 0 })
	if after > before+1 || a.Stats().Asked != after {
		t.Errorf("asked %d times, then %d, then %d", before, after, a.Stats().Asked)
	}
	noFaults(t, a)
}

// An App connects again for each request as long as it has no table.
func TestAsksAgainAfterTheManagerIsGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	a := started(t, Config{RouteManager: address, Every: 5 * time.Millisecond})
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	m := newManagerOn(t, l)
	first := next(t, m.requests)
	_ = first.conn.Close()
	later := first
	for later.conn == first.conn {
		later = next(t, m.requests)
	}
	m.push(later.conn, "", table("t"))
	if err := a.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
}

// Acknowledgements are those of the library: on the same connection without a
// source, and with the transaction id of the push.
func TestAcknowledges(t *testing.T) {
	m := newManager(t)
	for _, name := range []string{"table-push-ok", "delta-push-ok", "meid-push-ok", "table-push-err", "meid-push-err"} {
		a := started(t, Config{Name: "app0"})
		nc := m.dial(a.ControlAddress())
		m.push(nc, "", table("base", "mse|1|-1|127.0.0.1:7001"))
		next(t, m.acks)
		in, out := frames(t, name, "B")[0], frames(t, name, "A")[0]
		in.Src, in.SrcIP, in.SubID = nil, nil, 3
		write(t, nc, in)
		got := next(t, m.acks)
		// A refused map's count is that of the routes of the table before the last.
		payload := strings.Replace(string(out.Payload), "expected 7 got 5", "expected 7 got 0", 1)
		same(t, got, out, a, "app0"+portOf(a.ControlAddress()), payload)
		if e, _ := a.Last(); e.Answer != payload || e.Unsent != "" || e.Applied != strings.HasPrefix(payload, "OK ") {
			t.Errorf("%s: %+v", name, e)
		}
		noFaults(t, a)
	}
}

// With a source the acknowledgement goes there, on a connection that is opened
// for it; if nobody listens, it comes on the connection of the push.
func TestAcknowledgesToTheSource(t *testing.T) {
	m, dialled := newManager(t), newManager(t)
	a := started(t, Config{})
	nc := m.dial(a.ControlAddress())
	m.push(nc, dialled.address(), table("t1"))
	next(t, dialled.acks)
	_ = dialled.l.Close()
	for _, src := range []string{"127.0.0.1:1", "no.such.name.invalid:1"} {
		m.push(nc, src, table("t2"))
		if ack := next(t, m.acks); ack.conn != nc {
			t.Error("not on the connection of the push")
		}
	}
}

// A source that is the text by which the App knows its manager is answered on
// the connection that it asked on.
func TestAcknowledgesWhereItAsked(t *testing.T) {
	m := newManager(t)
	a := started(t, Config{RouteManager: m.address(), Every: time.Minute})
	asked := next(t, m.requests).conn
	m.push(m.dial(a.ControlAddress()), m.address(), table("t1"))
	if ack := next(t, m.acks); ack.conn != asked {
		t.Error("another connection")
	}
	m.push(asked, "", table("t2"))
	if ack := next(t, m.acks); ack.conn != asked {
		t.Error("another connection")
	}
	h := a.History()
	if len(h) != 2 || h[0].Asked || !h[1].Asked || h[0].Conn == h[1].Conn {
		t.Errorf("%v", h)
	}
}
