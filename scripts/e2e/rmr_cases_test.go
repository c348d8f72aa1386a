package e2e

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"floe/scripts/peers"
	"floe/scripts/rmrapp"
	"floe/transport/http/api"
	"floe/transport/rmr/proto"
)

// T03: an application that refuses what it is sent is listed with what it said, is sent all of it again, and ends on the
// right table.
func TestRefusedTableIsShownAndSentAgain(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	loadRoutes(t, c.Nodes[0], "newrt|start\nmse|1|-1|a:1\nnewrt|end|1\n")
	a := startApp(t, c.Nodes[1], rmrapp.Config{})
	waitTables(t, rmrapp.Fleet{a}, shown(c.Nodes[0]))
	a.SetAnswer(rmrapp.Refusing)
	loadRoutes(t, c.Nodes[0], "updatert|start\nmse|2|-1|b:1\nupdatert|end|1\n")
	waitApps(t, c.Nodes[2], func(apps []api.App) error {
		if len(apps) != 1 || !strings.Contains(apps[0].Error, "refused") || apps[0].VersionAcked >= apps[0].VersionSent {
			return fmt.Errorf("%+v", apps)
		}
		return nil
	})
	a.SetAnswer(rmrapp.Honest)
	waitTables(t, rmrapp.Fleet{a}, shown(c.Nodes[0]))
	waitApps(t, c.Nodes[2], func(apps []api.App) error {
		if len(apps) != 1 || apps[0].Error != "" || apps[0].VersionAcked != apps[0].VersionSent {
			return fmt.Errorf("%+v", apps)
		}
		return nil
	})
}

// T15, T10: a change by hand moves the messages of a program that goes on sending; the difference is shown before, and what
// the program has is shown after. A receiver that is added stands beside the ones before, and changes that entry alone.
func TestTrafficFollowsAChangeByHand(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	n := c.Nodes[0]
	first, second := startApp(t, n, rmrapp.Config{}), startApp(t, n, rmrapp.Config{})
	loadRoutes(t, n, "newrt|start\nmse|12050|-1|"+first.ID()+"\nmse|12051|-1|other:1\nnewrt|end|2\n")
	sender := startApp(t, c.Nodes[1], rmrapp.Config{})
	waitTables(t, rmrapp.Fleet{sender}, shown(n))
	send(t, sender, message(12050, "to the first"))
	receive(t, first, "to the first")

	both := textFile(t, "updatert|start\nmse|12050|-1|"+first.ID()+";"+second.ID()+"\nupdatert|end|1\n")
	if diff := n.Must("routes", "diff", both); !strings.Contains(diff, second.ID()) || strings.Contains(diff, "12051") {
		t.Errorf("the difference is\n%s", diff)
	}
	n.Must("routes", "load", both)
	waitTables(t, rmrapp.Fleet{sender}, shown(n))
	send(t, sender, message(12050, "to both"))
	receive(t, first, "to both")
	receive(t, second, "to both")
	if got := shown(n); strings.Count(got, "mse|12050") != 1 || !strings.Contains(got, "mse|12051|-1|other:1\n") {
		t.Errorf("routes are\n%s", got)
	}

	loadRoutes(t, n, "updatert|start\nmse|12050|-1|"+second.ID()+"\nupdatert|end|1\n")
	waitTables(t, rmrapp.Fleet{sender}, shown(n))
	send(t, sender, message(12050, "to the second"))
	receive(t, second, "to the second")
	version := uint64(mustMetric(t, n, "floe_table_version"))
	waitApps(t, c.Nodes[2], func(apps []api.App) error {
		i := slices.IndexFunc(apps, func(a api.App) bool { return a.Name == sender.ID() })
		if i < 0 || apps[i].VersionAcked != version || apps[i].Node != "n2" {
			return fmt.Errorf("%+v; the table is at %d", apps, version)
		}
		return nil
	})
}

// T16: the list says who asked, where, and what each has; who has a wrong address for floe is not in it.
func TestListOfApplicationsSaysWhoAsked(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	loadRoutes(t, c.Nodes[0], "newrt|start\nmse|1|-1|a:1\nnewrt|end|1\n")
	right := startApp(t, c.Nodes[1], rmrapp.Config{})
	lost := startApps(t, 1, func(int) rmrapp.Config { return rmrapp.Config{RouteManager: rmrOf(c.Nodes[1])} })[0] // messages, not requests
	waitTables(t, rmrapp.Fleet{right}, shown(c.Nodes[0]))
	waitAllAcked(t, c.Nodes[2])
	if err := lost.Wait(patient(t), "asking", func(a *rmrapp.App) bool { return a.Stats().Asked > 0 }); err != nil {
		t.Fatal(err)
	}
	apps := list[api.App](c.Nodes[2], t, "routes", "apps")
	if len(apps) != 1 || apps[0].Name != right.ID() || !strings.HasSuffix(apps[0].Address, portOf(right.ControlAddress())) || apps[0].Node != "n2" || apps[0].Error != "" {
		t.Errorf("%+v", apps)
	}
	if lost.Ready() {
		t.Error("who asks at the wrong port got a table")
	}
	for sender, said := range map[string]string{lost.ID(): "asked for a table", right.ID(): strconv.FormatUint(apps[0].VersionAcked, 10)} {
		o := c.Nodes[0].Floe("trace", "message", "--mtype", "1", "--sender", sender)
		if o.Exit != 0 || !strings.Contains(o.Stdout, sender) || !strings.Contains(o.Stdout, said) {
			t.Errorf("want %q: %v", said, o)
		}
	}
}

// portOf is the port of an address, with its colon.
func portOf(address string) string { return address[strings.LastIndexByte(address, ':'):] }

// T21: over IPv6 tables come and messages go as over IPv4.
func TestIPv6(t *testing.T) {
	t.Parallel()
	address := func() string { return net.JoinHostPort("::1", strconv.Itoa(peers.FreePort(t, "::1"))) }
	rtg, rmr := address(), address()
	n := startNode(t, "--rtg", rtg, "--rmr", rmr)
	apps := startApps(t, 2, func(int) rmrapp.Config {
		return rmrapp.Config{Listen: "[::1]:0", Control: "[::1]:0", RouteManager: rtg, Every: 200 * time.Millisecond}
	})
	sink, from := apps[0], apps[1]
	if !strings.HasPrefix(sink.ID(), "[::1]:") {
		t.Fatalf("the application goes by %s", sink.ID())
	}
	loadRoutes(t, n, "newrt|start\nmse|1000|-1|"+sink.ID()+"\nnewrt|end|1\n")
	waitTables(t, apps, shown(n))
	send(t, from, message(relayedType, "by table"))
	receive(t, sink, "by table")
	sendTo(t, from, rmr, message(relayedType, "by floe"))
	receive(t, sink, "by floe")
	n.Must("routes", "relay", "on")
	waitMembers(t, from, relayedType, rmr)
	from.DropConnections() // it is found again by its control port
	loadRoutes(t, n, "updatert|start\nmse|1001|-1|"+sink.ID()+"\nupdatert|end|1\n")
	waitMembers(t, from, directType, rmr)
	send(t, from, message(directType, "after it was found again"))
	receive(t, sink, "after it was found again")
}

// M02, M04, M05, M09, M11: many MEIDs of one owner, some of them moved, some deleted, are all in what a program gets first,
// after all nodes were killed as well; messages go to the owners, and those for unknown ones nowhere.
func TestMEIDsOfOneOwner(t *testing.T) {
	t.Parallel()
	c := startThree(t)
	n := c.Nodes[0]
	low, high := startApp(t, n, rmrapp.Config{}), startApp(t, c.Nodes[1], rmrapp.Config{})
	var b strings.Builder
	for i := range 500 {
		b.WriteString("gnb_" + strconv.Itoa(i) + []string{" ", "  ", "\t"}[i%3])
	}
	longest := strings.Repeat("m", 31)
	loadRoutes(t, n, fmt.Sprintf("newrt|start\nmse|1000|-1|%%meid\nnewrt|end|1\nmeid_map|start\nmme_ar|%s|%s\nmeid_map|end|1\n", low.ID(), b.String()))
	n.Must("meid", "set", high.ID(), longest, "gnb_7")
	n.Must("meid", "del", "gnb_8", "never_there")
	for _, long := range []string{longest + "m", longest + "mmmmmmmmm"} {
		if o := n.Floe("meid", "set", high.ID(), long); o.Exit != 1 || !strings.Contains(o.Stderr, "31") {
			t.Errorf("an MEID of %d bytes: %v", len(long), o)
		}
	}
	if got := len(list[api.MEID](n, t, "meid", "list")); got != 500 {
		t.Errorf("%d MEIDs are listed, want 500", got)
	}
	c.WaitSame()
	c.Kill()
	restart(t, c)
	late := startApp(t, c.Nodes[2], rmrapp.Config{})
	waitTables(t, rmrapp.Fleet{low, high, late}, shown(c.Nodes[2]))
	if first := late.History()[0]; len(late.History()) > 1 || !first.Applied {
		t.Errorf("it took more than one table: %s", told(late))
	}
	owners := late.MEIDs()
	for i := range 500 {
		want := low.ID()
		switch i {
		case 7:
			want = high.ID()
		case 8:
			want = ""
		}
		if got := owners["gnb_"+strconv.Itoa(i)]; got != want {
			t.Fatalf("gnb_%d: owner %q, want %q", i, got, want)
		}
	}
	to := func(meid string) proto.Message {
		return proto.Message{Type: 1000, SubID: proto.NoSubID, MEID: []byte(meid), Payload: []byte(meid)}
	}
	for meid, owner := range map[string]*rmrapp.App{longest: high, "gnb_7": high, "gnb_0": low, "gnb_499": low} {
		send(t, late, to(meid))
		receive(t, owner, meid)
		sendTo(t, late, rmrOf(c.Nodes[0]), to(meid))
		receive(t, owner, meid)
	}
	for _, meid := range []string{"gnb_8", "unknown", ""} {
		if got := late.Send(patient(t), to(meid)); got.State != rmrapp.NoEndpoint {
			t.Errorf("%q: %+v", meid, got)
		}
		sendTo(t, late, rmrOf(c.Nodes[0]), to(meid))
	}
	waitMetric(t, c.Nodes[0], func(v float64) bool { return v == 3 }, "floe_messages_dropped_total", `reason="unknown_meid"`)
}

// P02: table data that a stranger sends to a node, on any port, changes nothing, is counted, and is named in the log.
func TestTableDataFromStrangers(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	loadRoutes(t, n, "newrt|start\nmse|1|-1|a:1\nnewrt|end|1\n")
	before := shown(n)
	app := startApp(t, n, rmrapp.Config{})
	waitTables(t, rmrapp.Fleet{app}, before)
	stranger := startApps(t, 1, func(int) rmrapp.Config { return rmrapp.Config{} })[0]
	m := proto.Message{Type: proto.TypeTable, SubID: proto.NoSubID, Payload: []byte("newrt|start|9.9.x\nmse|1|-1|evil:1\nnewrt|end|1\n")}
	for _, to := range []string{rtg(n), rmrOf(n), topicsOf(n)} {
		sendTo(t, stranger, to, m)
	}
	n.WaitLog("table data: a route manager takes none")
	waitMetric(t, n, func(v float64) bool { return v == 2 }, "floe_messages_dropped_total", `reason="no_entry"`)
	if now := shown(n); now != before {
		t.Errorf("routes are\n%s", now)
	}
	loadRoutes(t, n, "updatert|start\nmse|2|-1|b:1\nupdatert|end|1\n")
	waitTables(t, rmrapp.Fleet{app}, shown(n))
}
