package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/scripts/floetest"
	"floe/scripts/rmrapp"
	"floe/transport/http/api"
	"floe/transport/rmr/proto"
)

// pageExample is the example of the RMR page on route tables, as it is printed there.
const pageExample = `newrt|start
        mse|0|-1| %meid
        mse|1|-1|172.19.0.2:4560
        mse|2|-1|172.19.0.2:4560
        mse|3|-1|172.19.0.2:4560
        mse|4|-1|172.19.0.2:4560
        mse|5|-1|172.19.0.2:4560
newrt|end

meid_map | start
        mme_ar| 172.19.0.2:4560 | meid000 meid001 meid002 meid003 meid004 meid005
        mme_ar| 172.19.0.42:4560 | meid100 meid101 meid102 meid103
        mme_del | meid1000
meid_map | end | 1
`

// counted is the example with the count put right.
var counted = strings.Replace(pageExample, "end | 1", "end | 3", 1)

func textFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "routes.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The example says that its map has one record, and it has three: it is refused, wherever it is given.
func TestPageExampleAsPrintedIsRefused(t *testing.T) {
	t.Parallel()
	file := textFile(t, pageExample)
	n := startNode(t, "--seed-routes", file)
	const finding = "counted 3, end record says 1"
	n.WaitStatus("saying what is wrong with the seed", func(s api.Status) bool {
		said := strings.Join(s.Problems, "\n")
		return strings.Contains(said, file) && strings.Contains(said, "line 14") && strings.Contains(said, finding)
	})
	loadRoutes(t, n, "newrt|start\nmse|7|-1|a:1\nnewrt|end|1\n")
	before := shown(n)
	for _, command := range []string{"check", "load"} {
		o := n.Floe("routes", command, file)
		if said := o.Stdout + o.Stderr; o.Exit != 1 || !strings.Contains(said, "line 14") || !strings.Contains(said, finding) {
			t.Errorf("%v", o)
		}
	}
	if now := shown(n); now != before {
		t.Errorf("it was refused, and the routes are\n%snot\n%s", now, before)
	}
	n.Must("routes", "load", textFile(t, counted))
}

// example is a cluster with the example as its seed, and applications at its endpoints, whose addresses are of this machine.
type example struct {
	c             *floetest.Cluster
	low, high     *rmrapp.App // owners of meid0xx and meid1xx
	senders       rmrapp.Fleet
	all           rmrapp.Fleet
	subIDRoute    string // what gives (1,7) to high
	lowAt, highAt string
}

func startExample(t *testing.T) *example {
	lowIP, highIP := floetest.NewIP(t), floetest.NewIP(t)
	here := strings.NewReplacer("172.19.0.2:", lowIP+":", "172.19.0.42:", highIP+":")
	c := startThree(t, "--seed-routes", textFile(t, here.Replace(counted)))
	x := &example{c: c, lowAt: lowIP + ":4560", highAt: highIP + ":4560"}
	x.subIDRoute = "updatert|start\nmse|1|7|" + x.highAt + "\nupdatert|end|1\n"
	x.low = startApp(t, c.Nodes[0], rmrapp.Config{Listen: x.lowAt, Control: lowIP + ":4561"})
	x.high = startApp(t, c.Nodes[1], rmrapp.Config{Listen: x.highAt, Control: highIP + ":4561"})
	x.senders = startApps(t, 3, func(i int) rmrapp.Config { return asking(c.Nodes[i], rmrapp.Config{}) })
	x.all = append(rmrapp.Fleet{x.low, x.high}, x.senders...)
	return x
}

// check sends messages of every kind, by the senders' own tables and through the nodes.
func (x *example) check(t *testing.T, withSubID bool) {
	t.Helper()
	waitTables(t, x.all, shown(x.c.Running()[0]))
	type way struct {
		name string
		send func(m proto.Message)
	}
	var ways []way
	for _, a := range x.senders {
		ways = append(ways, way{"table of " + a.ID(), func(m proto.Message) { t.Helper(); send(t, a, m) }})
	}
	for _, n := range x.c.Running() {
		ways = append(ways, way{"node " + n.ID, func(m proto.Message) { t.Helper(); sendTo(t, x.senders[0], rmrOf(n), m) }})
	}
	for _, w := range ways {
		to := func(a *rmrapp.App, mtype, subID int32, meid string) {
			t.Helper()
			m := proto.Message{Type: mtype, SubID: subID, MEID: []byte(meid), Payload: []byte(w.name)}
			w.send(m)
			if r := receive(t, a, w.name); r.Type != mtype || r.SubID != subID || string(r.MEID) != meid {
				t.Errorf("%s: got %d/%d of %q, want %d/%d of %q", w.name, r.Type, r.SubID, r.MEID, mtype, subID, meid)
			}
		}
		for mtype := range int32(5) {
			to(x.low, 1+mtype, proto.NoSubID, "")
		}
		to(x.low, 1, 77, "") // no entry for this id: the general one holds
		to(x.low, 0, proto.NoSubID, "meid005")
		to(x.high, 0, proto.NoSubID, "meid100")
		if withSubID {
			to(x.high, 1, 7, "")
		}
	}
	for _, a := range x.senders {
		m := proto.Message{Type: 0, SubID: proto.NoSubID, MEID: []byte("meid1000")}
		if got := a.Send(patient(t), m); got.State != rmrapp.NoEndpoint {
			t.Errorf("an MEID that nobody owns: %+v", got)
		}
	}
}

// With the count put right the example is the seed of three nodes, and is delivered to applications that ask any of them;
// messages go by type, subscription id and MEID, also once the leader was killed, which served some of them.
func TestPageExampleOnThreeNodes(t *testing.T) {
	t.Parallel()
	x := startExample(t)
	x.check(t, false)
	leader := x.c.WaitLeader()
	leader.Kill()
	x.check(t, false) // all of it goes on at once
	loadRoutes(t, x.c.Running()[0], x.subIDRoute)
	x.check(t, true)
	restart(t, x.c)
	x.check(t, true)
	x.c.WaitSame()
	if want := shown(x.c.Running()[0]); !strings.Contains(want, "mse|1|7|"+x.highAt) {
		t.Errorf("the change is not in\n%s", want)
	}
}
