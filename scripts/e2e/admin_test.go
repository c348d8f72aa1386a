package e2e

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/peers"
	"floe/transport/http/api"
)

// A01: the stock tool knows two words that it takes as topic names in quotes only; floe takes every word as it is.
func TestTopicsNamedLikeCommandWords(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := service(n)
	if _, stderr, exit := peers.Admin(t, s.Manager, "create replica"); exit != 1 || !strings.Contains(stderr, "syntax error") {
		t.Errorf("stock, bare: exit %d, %q", exit, stderr)
	}
	admin(t, s, `create "replica"`, "create topics")
	if got, want := n.Must("topics"), "replica\ntopics\n"; got != want {
		t.Errorf("topics: got %q, want %q", got, want)
	}
	n.Must("create", "subscribers", "links", "help")
	n.Must("admin", "-e", "create create; link replica subscribers; link links topics 3")
	if got, want := n.Must("topics"), "create\nhelp\nlinks\nreplica\nsubscribers\ntopics\n"; got != want {
		t.Errorf("topics: got %q, want %q", got, want)
	}
	if got, want := n.Must("links"), "links to topics with cost 3\nreplica to subscribers with cost 0\n"; got != want {
		t.Errorf("links: got %q, want %q", got, want)
	}
	n.Must("destroy", "create", "help", "links", "replica", "subscribers", "topics")
}

// A03: an address that answers nothing costs no more than 5 s and is named; others of the list are tried first.
func TestCommandsGiveUpOnSilentHosts(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	silent := net.JoinHostPort(silentHost(t))
	closed := net.JoinHostPort(floetest.NewIP(t), floetest.HTTPPort)
	for _, address := range []string{silent, closed} {
		o := floetest.Floe(t, "topics", "--addr", address)
		if o.Exit != api.ExitUnreachable || o.Took > 6*time.Second || !strings.Contains(o.Stderr, address) {
			t.Errorf("%v", o)
		}
	}
	o := floetest.Floe(t, "create", "A", "--addr", silent+","+closed+","+n.HTTP())
	if o.Exit != 0 || o.Took > 6*time.Second {
		t.Errorf("%v", o)
	}
}

// A04: alone, a node says like a stock service that it is not replicated; three show a table with one coordinator.
func TestReplicaCommandOfTheStockTool(t *testing.T) {
	t.Parallel()
	one := startNode(t)
	if _, stderr, exit := peers.Admin(t, service(one).Manager, "replica"); exit != 1 || !strings.Contains(stderr, "not replicated") {
		t.Errorf("one node: exit %d, %q", exit, stderr)
	}
	c := startThree(t)
	c.WaitLeader()
	coordinators := map[string]bool{}
	out := admin(t, service(c.Nodes[2]), "replica")
	for line := range strings.Lines(out) {
		if _, id, ok := strings.Cut(line, ": coord:"); ok {
			coordinators[strings.TrimSpace(id)] = true
		}
	}
	if !strings.Contains(out, "replica count: 3\n") || len(coordinators) != 1 || strings.Count(out, "state:      normal\n") != 3 {
		t.Errorf("replica:\n%s", out)
	}
	leader := c.WaitLeader()
	c.Followers()[0].Kill()
	floetest.Eventually(t, floetest.Patience, func() error { // one other node in the leader's group, not two
		out := admin(t, service(leader), "replica")
		if !regexp.MustCompile(`(?m)^\d: group:      \d$`).MatchString(out) {
			return fmt.Errorf("a dead node is still in the group:\n%s", out)
		}
		return nil
	})
}

// A06: separators and comments in scripts. Only # is none.
func TestSeparatorsAndCommentsInScripts(t *testing.T) {
	t.Parallel()
	const script = "create H;create I;\n// a comment\ncreate /* two */ J // three\n\n# no comment\nlink H \\\nI 4\nlink I J"
	want := map[string]string{"topics": "H\nI\nJ\n", "links": "H to I with cost 4\nI to J with cost 0\n"}
	stock := startNode(t)
	_, stderr, exit := peers.AdminScript(t, service(stock).Manager, script)
	if exit != 1 || !strings.Contains(stderr, "unknown command `#'") {
		t.Errorf("stock: exit %d, %q", exit, stderr)
	}
	native := startNode(t)
	o := floetest.FloeInput(t, script, "admin", "--addr", native.HTTP())
	if o.Exit != 1 || !strings.Contains(o.Stderr, "#") || o.Stdout != "" {
		t.Errorf("%v", o)
	}
	for command, text := range want {
		for _, n := range []*floetest.Node{stock, native} {
			if got := n.Must(command); got != text {
				t.Errorf("%s: got %q, want %q", command, got, text)
			}
		}
	}
}

// A07: create of one name that is there fails; among several it is a warning and the others are made.
func TestCreateOfNamesThatAreThere(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := service(n)
	admin(t, s, "create A")
	if _, stderr, exit := peers.Admin(t, s.Manager, "create A"); exit != 1 || stderr != "error: topic `A' exists\n" {
		t.Errorf("exit %d, %q", exit, stderr)
	}
	if _, stderr, exit := peers.Admin(t, s.Manager, "create D A E"); exit != 0 || stderr != "warning: topic `A' exists\n" {
		t.Errorf("exit %d, %q", exit, stderr)
	}
	if got, want := n.Must("topics"), "A\nD\nE\n"; got != want {
		t.Errorf("topics: got %q, want %q", got, want)
	}
}

// A09: in a pipe the stock tool prints banner and prompts, floe data only.
func TestPipesGetDataOnly(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.Must("create", "A", "B")
	stdout, _, _ := peers.AdminScript(t, service(n).Manager, "topics\n")
	if !strings.HasPrefix(stdout, "Ice ") || peers.Unprompted(stdout) != "A\nB\n" {
		t.Errorf("stock: %q", stdout)
	}
	if o := floetest.FloeInput(t, "topics\n", "admin", "--addr", n.HTTP()); o.Stdout != "A\nB\n" || o.Stderr != "" || o.Exit != 0 {
		t.Errorf("%v", o)
	}
	if got := list[api.Topic](n, t, "topics"); len(got) != 2 || got[1].Name != "B" {
		t.Errorf("json: %+v", got)
	}
}

// A10: the stock tool lists subscribers and links' targets together; floe tells them apart.
func TestSubscribersAndLinksAreToldApart(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := service(n)
	admin(t, s, "create A B; link A B 0")
	peers.Subscribe(t, s, peers.CPP, "A", "--identity", "s1")
	if got, want := admin(t, s, "subscribers A"), "A: subscribers:\n\tIceStorm/topic.B\n\ts1\n"; got != want {
		t.Errorf("stock: got %q, want %q", got, want)
	}
	got := map[string]bool{}
	for _, sub := range list[api.Subscriber](n, t, "subscribers", "A") {
		got[sub.Identity] = sub.Link
	}
	if len(got) != 2 || !got["IceStorm/topic.B"] || got["s1"] {
		t.Errorf("links: %v", got)
	}
	text := strings.Split(strings.TrimSpace(n.Must("subscribers", "A")), "\n")
	if !slices.ContainsFunc(text, func(l string) bool { return strings.Contains(l, "IceStorm/topic.B") && strings.Contains(l, "link") }) {
		t.Errorf("floe subscribers: %q", text)
	}
}

// S5: the stock tool works over ssl, and with it alone: not where it does not know the authority, nor in the clear.
func TestStockToolOverSSL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{{"ca", "--cluster", "demo", "--dir", dir}, {"node", "--id", "n1", "--dir", dir}, {"ca", "--cluster", "other", "--dir", dir + "/other"}} {
		if o := floetest.Floe(t, append([]string{"cert"}, args...)...); o.Exit != 0 {
			t.Fatal(o)
		}
	}
	const port = "10001"
	n := floetest.NewNode(t, "n1", "--ice-ssl", ":"+port, "--ice-tls-cert", dir+"/n1.crt", "--ice-tls-key", dir+"/n1.key")
	n.Start()
	n.WaitReady()
	at := func(transport string) string { return "IceStorm/TopicManager:" + endpoint(transport, n.IP, port) }
	ssl := func(ca string, commands ...string) (string, string, int) {
		return peers.Admin(t, at("ssl"), append([]string{"--Ice.Plugin.IceSSL=IceSSL:createIceSSL", "--IceSSL.CAs=" + ca}, commands...)...)
	}
	if stdout, stderr, exit := ssl(dir+"/ca.crt", "create A", "topics"); exit != 0 || stdout != "A\n" {
		t.Errorf("over ssl: exit %d, %q, %q", exit, stdout, stderr)
	}
	if stdout, stderr, exit := ssl(dir+"/other/ca.crt", "create B"); exit == 0 || !strings.Contains(stderr, "certificate") {
		t.Errorf("with another authority: exit %d, %q, %q", exit, stdout, stderr)
	}
	if stdout, stderr, exit := peers.Admin(t, at("tcp"), "--Ice.Override.Timeout=2000", "create C"); exit == 0 {
		t.Errorf("in the clear at the port of ssl: exit %d, %q, %q", exit, stdout, stderr)
	}
	if got := n.Must("topics"); got != "A\n" {
		t.Errorf("topics %q", got)
	}
}
