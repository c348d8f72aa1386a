package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/rmrapp"
)

// Types of messages: relayed ones go through floe, direct ones don't.
const (
	relayedType = 1000
	directType  = 1001
	answerType  = 1002
)

// echo answers every message.
func echo(a *rmrapp.App, r *rmrapp.Received) {
	ctx, cancel := context.WithTimeout(context.Background(), floetest.Patience)
	defer cancel()
	_ = a.Reply(ctx, r, answerType, append([]byte("re: "), r.Payload...)) // who waits for it says so
}

// echoed has an application call by its own table until there is an answer, which has to be an echo: a call that was under way
// when a node died has none.
func echoed(t testing.TB, a *rmrapp.App, mtype int32, payload string) *rmrapp.Received {
	t.Helper()
	var answer *rmrapp.Received
	floetest.Eventually(t, floetest.Patience, func() (err error) {
		answer, err = a.Call(context.Background(), message(mtype, payload))
		return err
	})
	if got, want := string(answer.Payload), "re: "+payload; got != want || answer.Type != answerType {
		t.Fatalf("got %d %q, want %d %q", answer.Type, got, answerType, want)
	}
	return answer
}

// Types that are switched to it go through floe, by nodes that live; answers and calls do as well, also from programs whose
// name nobody can resolve.
func TestMessagesThroughTheNodes(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	n1, n2, n3 := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	server := startApp(t, n1, rmrapp.Config{Handle: echo})
	sink := startApp(t, n2, rmrapp.Config{})
	caller := startApp(t, n3, rmrapp.Config{})
	hidden := startApp(t, n2, rmrapp.Config{Name: "nowhere.invalid", Address: "192.0.2.1"})
	text := strings.NewReplacer("SERVER", server.ID(), "SINK", sink.ID()).Replace(
		"newrt|start\nmse|1000|-1|SERVER;SINK\nmse|1001|-1|SERVER\nmse|1003|5|%meid\nnewrt|end|3\nmeid_map|start\nmme_ar|SINK|gnb\nmeid_map|end|1\n")
	loadRoutes(t, n1, text)
	all := rmrapp.Fleet{server, sink, caller, hidden}
	waitTables(t, all, shown(n1))
	n1.Must("routes", "relay", "on", "--mtype", "1000")
	for _, a := range all {
		waitMembers(t, a, relayedType, rmrOf(n1), rmrOf(n2), rmrOf(n3))
		if got := a.Lookup(directType, -1, ""); a != server && (len(got) != 1 || !same(got[0], []string{server.ID()})) {
			t.Errorf("a type that is not switched goes to %q", got)
		}
	}
	check := func() {
		t.Helper()
		for range 4 { // each node's turn, and one more
			for _, a := range []*rmrapp.App{caller, hidden} {
				r := echoed(t, a, relayedType, "by floe")
				if a == hidden && !slices.Contains([]string{rmrOf(n1), rmrOf(n2), rmrOf(n3)}, r.Peer()) {
					t.Errorf("an answer to who can't be reached came from %s", r.Peer())
				}
				if got := receive(t, sink, "by floe"); string(got.Src) != a.ID() {
					t.Errorf("sink: a message of %s came as of %q", a.ID(), got.Src)
				}
			}
		}
	}
	check()
	echoed(t, caller, directType, "direct")
	echoed(t, hidden, directType, "direct")
	n3.Kill()
	for _, a := range all[:3] {
		t.Logf("a killed node is out of a table after %v", waitMembers(t, a, relayedType, rmrOf(n1), rmrOf(n2)).Round(time.Millisecond))
	}
	waitMembers(t, hidden, relayedType, rmrOf(n1), rmrOf(n2))
	drain(t, caller, sink, n1)
	check()
	n3.Start("--join", c.Peers())
	n3.WaitReady()
	for _, a := range all {
		waitMembers(t, a, relayedType, rmrOf(n1), rmrOf(n2), rmrOf(n3))
	}
	n2.Must("routes", "relay", "off", "--mtype", "1000")
	waitTables(t, all, shown(n2))
	send(t, caller, message(relayedType, "direct again"))
	receive(t, sink, "direct again")
}

// drain has an application take all that still comes.
func drain(t testing.TB, from, sink *rmrapp.App, by *floetest.Node) {
	t.Helper()
	sendTo(t, from, rmrOf(by), message(relayedType, "the last"))
	for {
		r, err := sink.Receive(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Payload) == "the last" {
			return
		}
	}
}

// T22: a health check that comes before there are any routes is answered.
func TestHealthCheckBeforeAnyRoutes(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, name := range []string{"", "nowhere.invalid"} {
		a := startApp(t, n, rmrapp.Config{Name: name})
		m := message(100, "ping")
		copy(m.XID[:], "health")
		sendTo(t, a, rmrOf(n), m)
		r, err := a.Receive(patient(t))
		if err != nil {
			t.Fatalf("no answer to a health check of %q: %v", a.ID(), err)
		}
		if r.Type != 101 || r.XID != m.XID {
			t.Errorf("answer of type %d and transaction %q", r.Type, r.XID)
		}
	}
}

// T23: large messages come whole through floe; one above the limit is refused, and the next one passes.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sink := startApp(t, n, rmrapp.Config{})
	from := startApp(t, n, rmrapp.Config{})
	loadRoutes(t, n, "newrt|start\nmse|1000|-1|"+sink.ID()+"\nnewrt|end|1\n")
	waitTables(t, rmrapp.Fleet{sink, from}, shown(n))
	for _, size := range []int{64 << 10, 1 << 20, 8 << 20} {
		payload := strings.Repeat("0123456789abcdef", size/16-1) + "the end of it..."
		sendTo(t, from, rmrOf(n), message(relayedType, payload))
		receive(t, sink, payload)
	}
	const over = 17 << 20
	_ = from.SendTo(patient(t), rmrOf(n), message(relayedType, strings.Repeat("x", over))) // costs its connection, before or after all was sent
	n.WaitLog("length 17826126 is not")
	sendTo(t, startApp(t, n, rmrapp.Config{}), rmrOf(n), message(relayedType, "after it"))
	receive(t, sink, "after it")
}
