package ice

import (
	"fmt"
	"strings"
	"testing"

	"floe/fsm"
	"floe/scripts/peers"
	"floe/transport/ice/proto"
)

// adminAt is the topic manager as icestormadmin is told of it.
func (f *testFace) adminAt() string {
	return "IceStorm/TopicManager:" + f.own[0].String()
}

func TestAdminRunsTheManualsScript(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm"), nil)
	s := peers.Service{Manager: f.adminAt()}
	peers.MakeManualGraph(t, s)
	g := f.group.View().Graph
	a := g.Topic("A")
	if len(a.Links) != 2 || a.Links[0].Remote != nil || a.Links[1].To != g.Topic("C").ID || a.Links[1].Cost != 1 {
		t.Errorf("links of A: %+v", a.Links)
	}
	if stdout, stderr, exit := peers.Admin(t, f.addr, "topics"); stdout != "A\nB\nC\n" || exit != 0 {
		t.Errorf("topics by the Finder: %q %q %d", stdout, stderr, exit)
	}
}

func TestAdminCommands(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("A", "B")...), nil)
	for _, c := range []struct {
		command, stdout, stderr string
		exit                    int
	}{
		{"create A", "", "error: topic `A' exists\n", 1},
		{"create A D E", "", "warning: topic `A' exists\n", 0},
		{"topics", "A\nB\nD\nE\n", "", 0},
		{"link A B 5; link A B 7", "", "error: link `B' already exists\n", 1},
		{"links", "A to B with cost 5\n", "", 0},
		{"link A nope", "", "error: couldn't find topic `nope'\n", 1},
		{"subscribers A", "A: subscribers:\n\tIceStorm/topic.B\n", "", 0},
		{"unlink A B; unlink A B", "", "error: couldn't find link `B'\n", 1},
		{"link B D -1; links", "B to D with cost -1\n", "", 0},
		{"destroy D E", "", "", 0},
		{"links; topics", "A\nB\n", "", 0},
		{"create \"replica\" 'a b'; destroy \"replica\"; topics", "A\nB\na b\n", "", 0},
	} {
		stdout, stderr, exit := peers.Admin(t, f.adminAt(), c.command)
		if stdout != c.stdout || stderr != c.stderr || exit != c.exit {
			t.Errorf("%s: got %q, %q, %d; want %q, %q, %d", c.command, stdout, stderr, exit, c.stdout, c.stderr, c.exit)
		}
	}
}

// A06: separators and comments; a # is no comment but an unknown command.
func TestAdminScriptWithComments(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm"), nil)
	script := "create H;create I; // one // still one\n;\n/* not\nthis */ create J\n# nor this\ncreate K"
	_, stderr, _ := peers.AdminScript(t, f.adminAt(), script)
	if stdout, _, _ := peers.Admin(t, f.adminAt(), "topics"); stdout != "H\nI\nJ\nK\n" {
		t.Errorf("topics %q; %s", stdout, stderr)
	}
	if !strings.Contains(stderr, "unknown command `#'") {
		t.Errorf("stderr %q", stderr)
	}
}

func TestAdminShowsNoQuorum(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("A")...), nil)
	f.group.setRefuse(errNoQuorum)
	_, stderr, exit := peers.Admin(t, f.adminAt(), "create B")
	if !strings.Contains(stderr, "no quorum: 1 of 3 voters reachable") || exit != 1 {
		t.Errorf("create: %q, %d", stderr, exit)
	}
	if stdout, stderr, exit := peers.Admin(t, f.adminAt(), "topics"); stdout != "A\n" || exit != 0 {
		t.Errorf("topics: %q, %q, %d", stdout, stderr, exit)
	}
}

// A04: one node is not replicated; three show a table with one coordinator.
func TestAdminReplica(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm"), nil)
	f.group.servers("n1")
	if _, stderr, exit := peers.Admin(t, f.adminAt(), "replica"); !strings.Contains(stderr, "not replicated") || exit != 1 {
		t.Errorf("one node: %q, %d", stderr, exit)
	}
	g := newGroup(t, "IceStorm")
	g.servers("n1", "n2", "n3")
	var faces []*testFace
	for i := range 3 {
		id := fmt.Sprintf("n%d", i+1)
		faces = append(faces, startFace(t, g, func(c *Config) {
			c.Node = id
			c.Leader = func() (string, uint64) { return "n2", 7 }
		}))
		g.must(t, fsm.SetMember{Member: fsm.Member{ID: id, Addresses: map[string][]string{"ice": faces[i].PublishedEndpoints()}}})
	}
	stdout, stderr, exit := peers.Admin(t, faces[0].adminAt(), "replica")
	for _, want := range []string{"replica count: 3\n", "0: id:         0\n", "2: id:         2\n", "0: coord:      1\n", "2: coord:      1\n",
		"1: group name: c:7\n", "1: state:      normal\n", "1: group:      0,2\n", "1: max:        3\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s%s", want, stdout, stderr)
		}
	}
	if exit != 0 {
		t.Errorf("exit %d: %s", exit, stderr)
	}
}

// Ten thousand topics on three nodes pass the client's limit of 1 MiB with
// three endpoints in each proxy, so the proxies carry fewer.
func TestAdminListsTenThousandTopics(t *testing.T) {
	g := newGroup(t, "IceStorm")
	g.servers("n1", "n2", "n3")
	for _, id := range []string{"n2", "n3"} {
		g.must(t, fsm.SetMember{Member: fsm.Member{ID: id, Addresses: map[string][]string{"ice": {"tcp -h 10.0.0.2 -p 10000"}}}})
	}
	var want strings.Builder
	for i := range 10_000 {
		name := fmt.Sprintf("topic-%05d", i)
		g.must(t, fsm.CreateTopic{Name: name})
		fmt.Fprintln(&want, name)
	}
	f := startFace(t, g, nil)
	if stdout, stderr, exit := peers.Admin(t, f.adminAt(), "topics"); stdout != want.String() || exit != 0 {
		t.Errorf("%d bytes, want %d; %q, %d", len(stdout), want.Len(), stderr, exit)
	}
	d := f.dial(t).result(manager, "retrieveAll", proto.ModeIdempotent, nil)
	d.SeqSize(2)
	d.Bytes()
	if p := d.Proxy(); len(p.Endpoints) != 2 {
		t.Errorf("%d endpoints, want 2", len(p.Endpoints))
	}
}
