package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/rmrapp"
	"floe/transport/http/api"
	"floe/transport/http/client"
	"floe/transport/rmr/proto"
)

// rtg, rmrOf and topicsOf are where a node takes table requests, messages, and messages for topics: floe's defaults.
func rtg(n *floetest.Node) string      { return net.JoinHostPort(n.IP, "4561") }
func rmrOf(n *floetest.Node) string    { return net.JoinHostPort(n.IP, "4560") }
func topicsOf(n *floetest.Node) string { return net.JoinHostPort(n.IP, "4563") }

// startApp starts an application that asks a node for its table.
func startApp(t testing.TB, n *floetest.Node, cfg rmrapp.Config) *rmrapp.App {
	t.Helper()
	return startApps(t, 1, func(int) rmrapp.Config { return asking(n, cfg) })[0]
}

func asking(n *floetest.Node, cfg rmrapp.Config) rmrapp.Config {
	cfg.RouteManager, cfg.Every = rtg(n), 200*time.Millisecond
	return cfg
}

// startApps starts applications. At the end of the test there must have been nothing that a real one would choke on, and no
// table older than the one before.
func startApps(t testing.TB, n int, cfg func(i int) rmrapp.Config) rmrapp.Fleet {
	t.Helper()
	ip := floetest.NewIP(t)
	var f rmrapp.Fleet
	err := error(syscall.EADDRINUSE)
	for base := 20_000; base < 30_000 && errors.Is(err, syscall.EADDRINUSE); base += 2000 { // until all are free
		f, err = rmrapp.StartFleet(n, func(i int) rmrapp.Config {
			c := cfg(i)
			if c.Listen == "" { // at ports that no connection gets by chance while an application is started anew
				c.Listen, c.Control = fmt.Sprintf("%s:%d", ip, base+i), fmt.Sprintf("%s:%d", ip, base+1000+i)
			}
			return c
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		checkTold(t, f)
	})
	return f
}

// checkTold says what was wrong with what applications were sent.
func checkTold(t testing.TB, f rmrapp.Fleet) {
	t.Helper()
	if err := f.Faults(); err != nil {
		t.Error(err)
	}
	for _, a := range f {
		if err := rmrapp.CheckRising(agreed(a.History()), versionOf); err != nil {
			t.Errorf("app %s: %v\n%s", a.ID(), err, told(a))
		}
	}
}

// agreed leaves out what came of elsewhere while the application was told on the connection it had asked on: from a node that did
// not know yet that it had asked another one, or on a connection that its node had opened before it asked. Either may be a moment
// behind, and is made good.
func agreed(events []rmrapp.Event) []rmrapp.Event {
	asked := map[int]string{} // the node, by incarnation
	last := map[int]int{}     // and the last that came on that connection
	main := func(e rmrapp.Event) bool { return e.Asked && asked[e.Incarnation] == nodeOf(e.ID) }
	for i, e := range events {
		if _, ok := asked[e.Incarnation]; !ok && e.Asked {
			asked[e.Incarnation] = nodeOf(e.ID)
		}
		if main(e) {
			last[e.Incarnation] = i
		}
	}
	var out []rmrapp.Event
	for i, e := range events {
		if main(e) || i > last[e.Incarnation] {
			out = append(out, e)
		}
	}
	return out
}

// told is what an application was sent last, a line each.
func told(a *rmrapp.App) string {
	var b strings.Builder
	events := a.History()
	for _, e := range events[max(0, len(events)-20):] {
		fmt.Fprintf(&b, "\t%v, asked %v\n", e, e.Asked)
	}
	return b.String()
}

// versionOf is the table version that an id begins with.
func versionOf(id string) (uint64, error) {
	version, _, _ := strings.Cut(id, ".")
	return strconv.ParseUint(version, 10, 64)
}

// nodeOf is the node that an id ends with.
func nodeOf(id string) string { return id[strings.LastIndexByte(id, '.')+1:] }

// patient returns a context for one wait.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), floetest.Patience)
	t.Cleanup(cancel)
	return ctx
}

// waitTables waits until each application holds what one that is new would make of the text.
func waitTables(t testing.TB, f rmrapp.Fleet, text string) {
	t.Helper()
	if err := f.Wait(patient(t), "at the latest table", holds(text)); err != nil {
		t.Fatal(err)
	}
}

// holds tells whether an application holds what one that is new would make of the text.
func holds(text string) func(*rmrapp.App) bool {
	want := map[*rmrapp.App]string{}
	return func(a *rmrapp.App) bool {
		if _, ok := want[a]; !ok {
			fresh, err := a.TextOf(text)
			if err != nil {
				fresh = err.Error()
			}
			want[a] = fresh
		}
		got, err := a.Text()
		return err == nil && a.Ready() && got == want[a]
	}
}

// shown is the table as a node shows it.
func shown(n *floetest.Node) string { return n.Must("routes", "show") }

// waitMembers waits until an application would send a type to exactly those members of one group, in any order.
func waitMembers(t testing.TB, a *rmrapp.App, mtype int32, members ...string) time.Duration {
	t.Helper()
	return took(func() {
		t.Helper()
		if err := a.Wait(patient(t), fmt.Sprintf("sending %d to %q", mtype, members), func(a *rmrapp.App) bool {
			groups := a.Lookup(mtype, proto.NoSubID, "")
			return len(groups) == 1 && same(groups[0], members)
		}); err != nil {
			t.Fatalf("%v\nit sends to %q", err, a.Lookup(mtype, proto.NoSubID, ""))
		}
	})
}

func same(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	count := map[string]int{}
	for i := range a {
		count[a[i]]++
		count[b[i]]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// message is one without a subscription id and MEID.
func message(mtype int32, payload string) proto.Message {
	return proto.Message{Type: mtype, SubID: proto.NoSubID, Payload: []byte(payload)}
}

// send has an application send by its own table.
func send(t testing.TB, a *rmrapp.App, m proto.Message) {
	t.Helper()
	if got := a.Send(patient(t), m); got.State != rmrapp.OK {
		t.Fatalf("app %s: message %d/%d of %q: %+v; it sends to %q", a.ID(), m.Type, m.SubID, m.MEID, got, a.Lookup(m.Type, m.SubID, string(m.MEID)))
	}
}

// sendTo has an application send to an endpoint, without regard to its table.
func sendTo(t testing.TB, a *rmrapp.App, to string, m proto.Message) {
	t.Helper()
	if err := a.SendTo(patient(t), to, m); err != nil {
		t.Fatalf("app %s: to %s: %v", a.ID(), to, err)
	}
}

// receive waits for an application's next message, which has to have the payload.
func receive(t testing.TB, a *rmrapp.App, payload string) *rmrapp.Received {
	t.Helper()
	r, err := a.Receive(patient(t))
	if err != nil {
		t.Fatalf("app %s: %q did not arrive: %v", a.ID(), brief(payload), err)
	}
	if string(r.Payload) != payload {
		t.Fatalf("app %s: got %q, want %q", a.ID(), brief(string(r.Payload)), brief(payload))
	}
	return r
}

// waitReceived waits until applications got so many messages together.
func waitReceived(t testing.TB, f rmrapp.Fleet, want uint64) {
	t.Helper()
	floetest.Eventually(t, floetest.Patience, func() error {
		got := uint64(0)
		for _, a := range f {
			got += a.Stats().Received
		}
		if got != want {
			return fmt.Errorf("%d messages came, want %d", got, want)
		}
		return nil
	})
}

func brief(text string) string {
	if len(text) > 100 {
		return fmt.Sprintf("%s... (%d bytes)", text[:100], len(text))
	}
	return text
}

// operator changes routes through whichever node answers.
func operator(t testing.TB, nodes ...*floetest.Node) *client.Client {
	var addresses []string
	for _, n := range nodes {
		addresses = append(addresses, n.HTTP())
	}
	c := client.New(client.Config{Addresses: addresses, Timeout: floetest.Patience})
	t.Cleanup(c.Close)
	return c
}

// waitApps waits until the list of applications pleases, as a node gives it.
func waitApps(t testing.TB, n *floetest.Node, ok func([]api.App) error) {
	t.Helper()
	c := n.Client(5 * time.Second)
	floetest.Eventually(t, floetest.Patience, func() error {
		apps, err := c.Apps(context.Background())
		if err != nil {
			return err
		}
		return ok(apps)
	})
}

// servedBy returns the nodes that serve applications, by the applications' names.
func servedBy(n *floetest.Node) (map[string]string, error) {
	apps, err := copyOf[api.App](n, "/v1/apps")
	out := map[string]string{}
	for _, a := range apps {
		out[a.Name] = a.Node
	}
	return out, err
}
