package ops

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/peers"
	"floe/scripts/suite/ice"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

// Create on one node, link through another, retrieve and publish through the third, at once: nobody ever misses a topic
// that was made before. Each node is asked over HTTP and over Ice in turn.
func TestReadYourWritesAcrossNodes(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	var https []*client.Client
	var ices []*ice.Conn
	for _, n := range c.Nodes {
		https = append(https, n.Client(5*time.Second))
		conn, err := ice.Dial(n.Ice(), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ices = append(ices, conn)
	}
	if _, err := https[0].Create(t.Context(), "sink"); err != nil {
		t.Fatal(err)
	}
	for round := range 200 {
		name := fmt.Sprint("t", round)
		a, b, third := round%3, (round+1)%3, (round+2)%3
		if _, err := https[a].Create(t.Context(), name); err != nil {
			t.Fatalf("round %d: create: %v", round, err)
		}
		if _, err := https[b].Link(t.Context(), api.NewLink{From: name, To: "sink"}); err != nil {
			t.Fatalf("round %d: link through another node: %v", round, err)
		}
		proxy, err := ices[third].TopicProxy(name, 5*time.Second)
		if err != nil {
			t.Fatalf("round %d: retrieve through the third: %v", round, err)
		}
		publisher, err := ices[third].Publisher(proxy.Identity, 5*time.Second)
		if err != nil {
			t.Fatalf("round %d: getPublisher through the third: %v", round, err)
		}
		if _, err := ices[third].Call(ice.Request{Identity: publisher.Identity, Operation: "hello", Encaps: ice.Text("x")}, 5*time.Second); err != nil {
			t.Fatalf("round %d: publish through the third: %v", round, err)
		}
		if err := https[third].Publish(t.Context(), api.Publish{Topic: name, Data: []byte("x")}); err != nil {
			t.Fatalf("round %d: native publish through the third: %v", round, err)
		}
	}
	if links, err := https[1].Links(t.Context()); err != nil || len(links) != 200 {
		t.Errorf("%d links, %v, want 200", len(links), err)
	}
}

// The same with the stock programs, which take a while to start: three of them in a row per round.
func TestReadYourWritesOfIcePrograms(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	admin := func(i int, commands ...string) {
		t.Helper()
		out, stderr, exit := peers.Admin(t, c.Nodes[i%3].Ice(), commands...)
		if exit != 0 {
			t.Fatalf("icestormadmin %q: exit %d: %s%s", commands, exit, out, stderr)
		}
	}
	admin(0, "create sink")
	for round := range 6 {
		name := fmt.Sprint("t", round)
		admin(round, "create "+name)
		admin(round+1, "link "+name+" sink 3")
		if got := peers.Publish(t, service(c.Nodes[(round+2)%3]), peers.CPP, name, "--count", "2"); got.Acked != 2 {
			t.Fatalf("round %d: %+v", round, got)
		}
	}
}

// service is a node as Ice clients are told of it.
func service(n *floetest.Node) peers.Service {
	return peers.Service{Manager: fmt.Sprintf("IceStorm/TopicManager:tcp -h %s -p %s", n.IP, floetest.IcePort)}
}

// X07, shortened: the leader is frozen under load and goes on after another was elected. All nodes serve afterwards.
func TestFrozenLeader(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	for round := range 4 {
		frozen := c.WaitLeader()
		load := startCreating(t, c.Nodes, fmt.Sprintf("round%d-", round))
		load.wait(t, 10)
		frozen.Signal(syscall.SIGSTOP)
		for _, n := range c.Nodes {
			if n != frozen {
				n.WaitStatus("under another leader", func(s api.Status) bool { return s.Leader != "" && s.Leader != frozen.ID })
			}
		}
		frozen.Signal(syscall.SIGCONT)
		begun := time.Now()
		for _, n := range c.Nodes {
			n.WaitReady()
			n.Must("create", fmt.Sprintf("after%d-%s", round, n.ID), "--timeout", "10s")
		}
		t.Logf("round %d: all nodes serve %v after the leader goes on", round, time.Since(begun).Round(time.Millisecond))
		made := load.stop()
		c.WaitLeader()
		for _, n := range c.Nodes {
			missing(t, n, made.acked)
		}
	}
	c.WaitSame()
}

// R07, shortened: all nodes are killed at once under load. Every acknowledged change is there.
func TestKillAllUnderLoad(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	var acked, failed []string
	for round := range 5 {
		var loads []*creating
		for _, n := range c.Nodes {
			loads = append(loads, startCreating(t, []*floetest.Node{n}, fmt.Sprintf("r%d-%s-", round, n.ID)))
		}
		for _, l := range loads {
			l.wait(t, 10)
		}
		c.Kill()
		for _, l := range loads {
			made := l.stop()
			acked = append(acked, made.acked...)
			failed = append(failed, made.failed...)
		}
		c.Restart()
		c.WaitLeader()
		missing(t, c.Nodes[round%3], acked)
	}
	t.Logf("%d acknowledged creates over 5 kills of all nodes", len(acked))
	for _, name := range names(t, c.Nodes[0]) { // a plain failure means: not done, ever
		if slices.Contains(failed, name) {
			t.Errorf("create of %s was said to have failed, and was done", name)
		}
	}
	c.WaitSame()
}

// A leader that hangs holds its connections open: changes and reads asked of the others must not wait for its answer.
func TestLeaderThatHangs(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 3)
	for _, command := range [][]string{{"create", "T"}, {"topics"}, {"status"}, {"remove", ""}} {
		hung := c.WaitLeader()
		asked := c.Followers()[0]
		if command[0] == "remove" {
			command[1] = hung.ID
		}
		hung.Signal(syscall.SIGSTOP)
		o := asked.Floe(command...)
		hung.Signal(syscall.SIGCONT)
		if o.Exit != 0 {
			t.Errorf("with a leader that hangs: %v", o)
		}
		t.Logf("%s with a leader that hangs: %v", command[0], o.Took.Round(time.Millisecond))
		if command[0] != "remove" {
			c.WaitVoters(3)
		}
	}
}
