package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/peers"
	"floe/scripts/rmrapp"
	"floe/transport/http/api"
	"floe/transport/rmr/proto"
)

// listener is a native subscriber.
type listener struct {
	t      testing.TB
	events chan api.Event
	failed chan error
}

// listen subscribes to topics, and returns once all nodes know it.
func listen(t testing.TB, c *floetest.Cluster, n *floetest.Node, topics ...string) *listener {
	t.Helper()
	s, err := n.Client(floetest.Patience).Subscribe(context.Background(), topics)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{t, make(chan api.Event, 1000), make(chan error, 1)}
	t.Cleanup(s.Close)
	go func() {
		for {
			e, err := s.Next()
			if err != nil {
				l.failed <- err
				return
			}
			l.events <- e
		}
	}()
	for _, n := range c.Nodes {
		for _, topic := range topics {
			l.known(n, topic)
		}
	}
	return l
}

const hello = "hello from "

// known publishes on a topic at a node until an event comes: what was published before the node knew of the subscriber is
// not meant for it.
func (l *listener) known(n *floetest.Node, topic string) {
	l.t.Helper()
	c := n.Client(floetest.Patience)
	floetest.Eventually(l.t, floetest.Patience, func() error {
		if err := c.Publish(context.Background(), api.Publish{Topic: topic, Data: []byte(hello + n.ID)}); err != nil {
			return err
		}
		for {
			select {
			case e := <-l.events:
				if r := e.Received; r != nil && r.Topic == topic && string(r.Data) == hello+n.ID {
					return nil
				}
			default:
				return fmt.Errorf("node %s does not know of a subscriber to %s", n.ID, topic)
			}
		}
	})
}

// next waits for the next event, which has to have the payload.
func (l *listener) next(payload string) *api.Received {
	l.t.Helper()
	for late := patient(l.t); ; {
		select {
		case e := <-l.events:
			switch r := e.Received; {
			case r != nil && string(r.Data) == payload:
				return r
			case r != nil && strings.HasPrefix(string(r.Data), hello), e.Subscribed:
			default:
				l.t.Fatalf("got %+v (%+v), want %q", e, e.Received, payload)
			}
		case err := <-l.failed:
			l.t.Fatal(err)
		case <-late.Done():
			l.t.Fatalf("%q did not arrive", payload)
		}
	}
}

// A route may lead to a topic: what an application sends by its own table, or through a node, comes once to subscribers on
// every node, with what the message said of itself, and crosses no link.
func TestMessagesReachTopics(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	n1, n2, n3 := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	n1.Must("create", "T", "U")
	n1.Must("link", "T", "U")
	app := startApp(t, n2, rmrapp.Config{})
	other := startApp(t, n1, rmrapp.Config{})
	loadRoutes(t, n1, "newrt|start\nmse|500|7|topic:T\nmse|501|-1|topic:T;"+other.ID()+"\nnewrt|end|2\n")
	native, beyond := listen(t, c, n3, "T"), listen(t, c, n3, "U")
	ice := peers.Subscribe(t, service(n1), peers.CPP, "T", "--mode", "oneway")
	waitCopies(t, c.Nodes, 1)
	if err := app.Wait(patient(t), "told of the topics' listeners", func(a *rmrapp.App) bool {
		g := a.Lookup(500, 7, "")
		return len(g) == 1 && same(g[0], []string{topicsOf(n1), topicsOf(n2), topicsOf(n3)}) && g[0][0] == topicsOf(n2)
	}); err != nil {
		t.Fatalf("%v; it sends to %q", err, app.Lookup(500, 7, ""))
	}
	want := map[string]string{"mtype": "500", "subid": "7", "meid": "gnb_1", "source": app.ID()}
	m := proto.Message{Type: 500, SubID: 7, MEID: []byte("gnb_1")}
	var texts []string
	for i := range 3 { // each node is the one it goes to once
		m.Payload = fmt.Appendf(nil, "by table %d", i)
		send(t, app, m)
		texts = append(texts, string(m.Payload))
		if got := native.next(texts[i]); fmt.Sprint(got.Context) != fmt.Sprint(want) || got.Topic != "T" || got.Operation != "message" {
			t.Errorf("event: got %+v, want the context %v", got, want)
		}
	}
	m.Payload = []byte("by floe")
	sendTo(t, app, rmrOf(n1), m)
	native.next("by floe")
	send(t, app, message(501, "for both"))
	native.next("for both")
	if got := receive(t, other, "for both"); string(got.Src) != app.ID() {
		t.Errorf("the endpoint got it of %q", got.Src)
	}
	sendTo(t, app, rmrOf(n3), message(501, "for both by floe"))
	native.next("for both by floe")
	receive(t, other, "for both by floe")
	n3.Must("pub", "T", "the last") // an event crosses the link
	native.next("the last")
	beyond.next("the last") // and is the first that did
	texts = append(texts, "by floe", "for both", "for both by floe", "the last")
	var heard []string
	for i, e := range ice.WaitEvents(len(texts)) {
		heard = append(heard, e.Text)
		if i < 3 && fmt.Sprint(e.Context) != fmt.Sprint(want) {
			t.Errorf("Ice subscriber: context %v, want %v", e.Context, want)
		}
	}
	if !same(heard, texts) {
		t.Errorf("Ice subscriber: got %q, want %q", heard, texts)
	}
	send(t, app, message(501, "to the end"))
	receive(t, other, "to the end")
	if got := other.Stats().Received; got != 3 {
		t.Errorf("the endpoint got %d messages, want 3", got)
	}

	if o := n1.Floe("destroy", "T"); o.Exit != 1 || !strings.Contains(o.Stderr, "500") && !strings.Contains(o.Stderr, "route") {
		t.Errorf("a topic that routes lead to was destroyed, or it is not said why not: %v", o)
	}
	n1.Must("destroy", "T", "--force")
	sendTo(t, app, rmrOf(n1), m)
	sendTo(t, app, topicsOf(n1), message(501, "for nobody"))
	sendTo(t, app, rmrOf(n1), message(501, "goes on"))
	receive(t, other, "goes on")
}

// Events of a topic may leave as messages; with routes that lead back to the topic nothing goes in circles, and nothing
// comes twice.
func TestEventsLeaveAsMessages(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	n1, n2, n3 := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	n1.Must("create", "T")
	native := listen(t, c, n3, "T")
	n1.Must("link", "T", "--to-messages", "600/3", "5")
	app := startApp(t, n2, rmrapp.Config{})
	sender := startApp(t, n3, rmrapp.Config{})
	loadRoutes(t, n1, "newrt|start\nmse|600|3|topic:T;"+app.ID()+"\nnewrt|end|1\n")
	c.WaitSame()
	n3.Must("pub", "T", "event", "--context", "meid=gnb_1", "--cost", "5")
	n3.Must("pub", "T", "too dear", "--cost", "6")
	native.next("event")
	native.next("too dear")
	r := receive(t, app, "event")
	if r.Type != 600 || r.SubID != 3 || string(r.MEID) != "gnb_1" {
		t.Errorf("message %d/%d of %q", r.Type, r.SubID, r.MEID)
	}
	m := proto.Message{Type: 600, SubID: 3, Payload: []byte("message")}
	for _, n := range c.Nodes {
		sendTo(t, sender, rmrOf(n), m)
		native.next("message")
		receive(t, app, "message")
	}
	n3.Must("pub", "T", "the last")
	native.next("the last")
	receive(t, app, "the last")
	if got := app.Stats().Received; got != 5 {
		t.Errorf("the endpoint got %d messages, want 5", got)
	}
}

// A route to one of floe's own listeners would lead in a circle: it is refused, on each node for all of them.
func TestRoutesToFloeItselfAreRefused(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	for i, to := range []string{rmrOf(c.Nodes[1]), topicsOf(c.Nodes[2])} {
		file := textFile(t, "newrt|start\nmse|1|-1|a:1,"+to+"\nnewrt|end|1\n")
		if o := c.Nodes[i].Floe("routes", "load", file); o.Exit != 1 || !strings.Contains(o.Stderr, to) {
			t.Errorf("%v", o)
		}
	}
	if got := shown(c.Nodes[0]); strings.Contains(got, "mse") {
		t.Errorf("routes are\n%s", got)
	}
}
