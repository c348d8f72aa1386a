package ice

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"floe/scripts/peers"
	"floe/transport/delivery"
	"floe/transport/ice/client"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// startWhole serves a face over a real hub and client: all of a node but raft.
func startWhole(t testing.TB, g *fakeGroup, change func(*Config)) *testFace {
	t.Helper()
	calls := client.New(client.Config{FlushInterval: 50 * time.Millisecond})
	hub := delivery.New(delivery.Config{Group: g, Opener: calls})
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- hub.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Errorf("hub: %v", err)
		}
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		calls.Close(closing)
	})
	return startFace(t, g, func(c *Config) {
		c.Hub, c.Caller, c.Dedupe = FromHub(hub), calls, client.NewDedupe(0)
		if change != nil {
			change(c)
		}
	})
}

func (f *testFace) service() peers.Service { return peers.Service{Manager: f.adminAt()} }

func TestManualExampleWithRealPeers(t *testing.T) {
	f := startWhole(t, newGroup(t, "IceStorm"), nil)
	peers.MakeManualGraph(t, f.service())
	peers.CheckManualOutcome(t, peers.CPP, peers.CPP, f.service())
	peers.CheckManualOutcome(t, peers.Python, peers.Python, f.service())
}

// JavaScript from the npm package ice publishes over ws, which shows that our
// WebSocket is one.
func TestJavaScriptOverWebSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	f := startWhole(t, newGroup(t, "IceStorm", makeTopics("A")...), func(c *Config) {
		c.Endpoints = append(c.Endpoints, "ws -h 127.0.0.1 -p "+port)
	})
	served := make(chan error, 1)
	go func() { served <- f.Serve(l, server.Transport{Name: "ws", WebSocket: true}) }()
	s := f.service()
	s.WS = "IceStorm/TopicManager:ws -h 127.0.0.1 -p " + port
	sub := peers.Subscribe(t, s, peers.CPP, "A", "--mode", "oneway")
	peers.Publish(t, s, peers.JavaScript, "A", "--count", "3")
	sub.WaitEvents(3)
	sub.Stop()
	f.shutdownNow(t)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func (f *testFace) shutdownNow(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := f.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// Links in both directions between a real IceStorm and us, made by the stock
// icestormadmin.
func TestFederationWithIceStorm(t *testing.T) {
	storm := peers.IceStorm(t)
	f := startWhole(t, newGroup(t, "Floe"), nil)
	ours := peers.Service{Manager: "Floe/TopicManager:" + f.own[0].String()}
	both := []string{"--IceStormAdmin.TopicManager.Ours=" + ours.Manager, "--IceStormAdmin.TopicManager.Theirs=" + storm.Manager}
	admin := func(command string) {
		t.Helper()
		if _, stderr, exit := peers.Admin(t, storm.Manager, append(both, command)...); exit != 0 {
			t.Fatalf("%s: %s", command, stderr)
		}
	}
	admin("create Floe/out Floe/in IceStorm/out IceStorm/in")
	admin("link Floe/out IceStorm/in 2")
	admin("link IceStorm/out Floe/in 2")
	if l := f.group.View().Graph.Topic("out").Links; len(l) != 1 || l[0].Remote == nil {
		t.Fatalf("links: %+v", l)
	}
	theirs := peers.Subscribe(t, storm.Service, peers.CPP, "in", "--mode", "oneway")
	here := peers.Subscribe(t, ours, peers.CPP, "in", "--mode", "oneway")
	peers.Publish(t, ours, peers.CPP, "out", "--count", "3", "--cost", "1,3,2")
	peers.Publish(t, storm.Service, peers.CPP, "out", "--count", "3", "--cost", "1,3,2")
	for _, sub := range []*peers.Subscriber{theirs, here} {
		events := sub.WaitEvents(2)
		if len(events) != 2 || events[0].Cost != "1" || events[1].Cost != "2" {
			t.Errorf("got %+v", events)
		}
		sub.Stop()
	}
}

func TestAdapterAtRealRegistry(t *testing.T) {
	dir := t.TempDir()
	registry := peers.IceGridRegistry(t)
	locator, err := proto.ParseProxy(registry.Locator)
	if err != nil {
		t.Fatal(err)
	}
	f := startWhole(t, newGroup(t, "IceStorm", makeTopics("a")...), func(c *Config) {
		c.Adapter = Adapter{ID: "floe-n1", ReplicaGroup: "floes", Locator: locator, Every: 50 * time.Millisecond}
	})
	waitRegistered(t, registry, "floe-n1", true)
	// By the registry an unmodified program finds us without an address.
	stdout, stderr, _ := peers.Admin(t, "IceStorm/TopicManager @ floe-n1", "--Ice.Default.Locator="+registry.Locator, "topics")
	if stdout != "a\n" {
		t.Errorf("topics by the registry: %q %q", stdout, stderr)
	}
	// One that comes back with nothing in its database learns it again.
	registry.Stop()
	port := strings.Fields(registry.Locator[strings.Index(registry.Locator, "-p "):])[1]
	registry = peers.IceGridRegistry(t, "--port", port, "--dir", dir)
	waitRegistered(t, registry, "floe-n1", true)
	f.shutdownNow(t)
	waitRegistered(t, registry, "floe-n1", false)
}

func waitRegistered(t *testing.T, r *peers.Registry, adapter string, want bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; {
		endpoints := r.AdapterEndpoints(t, adapter) // starts a program: no busy loop
		if strings.Contains(endpoints, "127.0.0.1") == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("adapter registered: want %v, got %q", want, endpoints)
		}
	}
}

// An unmodified program that is told of our locator finds the cluster
// without any other address.
func TestAdminByOurLocator(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a")...), nil)
	stdout, stderr, exit := peers.Admin(t, "IceStorm/TopicManager @ floe", "--Ice.Default.Locator=floe/Locator:"+f.own[0].String(), "topics", "create b", "link a b")
	if stdout != "a\n" || exit != 0 {
		t.Errorf("%q, %q, %d", stdout, stderr, exit)
	}
	stdout, stderr, exit = peers.Admin(t, "IceStorm/TopicManager", "--Ice.Default.Locator=floe/Locator:"+f.own[0].String(), "links")
	if stdout != "a to b with cost 0\n" || exit != 0 {
		t.Errorf("well known: %q, %q, %d", stdout, stderr, exit)
	}
}
