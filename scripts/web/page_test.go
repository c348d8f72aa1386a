package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
	"floe/scripts/rmrapp"
	"floe/transport/http/api"
	"floe/transport/http/client"
	iceclient "floe/transport/ice/client"
	"floe/transport/ice/proto"
)

// lookLimit bounds one run of the browser.
const lookLimit = 5 * time.Minute

// look opens the page of a node in a browser, for what one story of browser/look.js does and expects there.
func look(t *testing.T, story string, n *floetest.Node, facts map[string]any) {
	t.Helper()
	shots := os.Getenv("FLOE_SCREENSHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	said, err := json.Marshal(facts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lookLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join("browser", "look.js"), story, "http://"+n.HTTP()+"/", shots, string(said))
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", story, err, out)
	}
}

// odd are names that a careless page would trip over.
var odd = []string{"", `<script>document.title="broken"</script>`, `"><img src=x onerror=alert(1)>`, "line\nbreak\ttab", "  two  spaces ", "\u202egnp.exe",
	"日本語のとても長いトピックの名前です", strings.Repeat("long-", 40), "a/b?c#d&e=f%20", `C:\path`, "🚀🚀🚀", "__proto__"}

// links of the graph beside the odd names: a fan, a circle, two ways, a chain with a shortcut, extreme costs, one to messages.
var links = []api.NewLink{
	{From: "market", To: "quotes", Cost: 5}, {From: "market", To: "orders", Cost: 10}, {From: "market", To: "alarms", Cost: 1},
	{From: "quotes", To: "archive", Cost: 7}, {From: "orders", To: "archive", Cost: 3}, {From: "alarms", To: "pager", Cost: 0},
	{From: "archive", To: "market", Cost: -1}, {From: "quotes", To: "orders", Cost: 2147483647}, {From: "orders", To: "quotes", Cost: -2147483648},
	{From: "market", To: "pager", Cost: 100}, {From: "berlin", To: "paris", Cost: 2}, {From: "paris", To: "berlin", Cost: 2}, {From: "paris", To: "rome", Cost: 4},
	{From: "pager", To: "110/7", Messages: true, Cost: 6},
}

// TestPage opens the page of a cluster that has one of everything.
func TestPage(t *testing.T) {
	t.Parallel()
	c := floetest.StartCluster(t, 2)
	n := c.Nodes[0]
	calls := n.Client(floetest.Patience)
	fill(t, calls)
	apps(t, c.Nodes[1], n)
	subscribe(t, n, "quotes", "nobody:tcp -h "+n.IP+" -p 9 -t 2000", map[string]string{"retryCount": "-1"})
	subscribe(t, n, "quotes", "<b>datagrams</b> -d:udp -h "+n.IP+" -p 9", nil)
	ctx, stop := context.WithCancel(t.Context())
	published := make(chan error, 1)
	go func() { published <- publish(ctx, n) }()
	look(t, "page", n, map[string]any{"odd": odd, "topics": 9 + 1 + len(odd), "links": len(links) + len(odd), "follower": c.Nodes[1].HTTP(), "endpoint": nobody(c.Nodes[1])})
	stop()
	if err := <-published; err != nil {
		t.Error(err)
	}
	if got := n.Must("routes", "show"); !strings.Contains(got, "mse|2000|-1|10.9.9.9:4560") {
		t.Errorf("the table that the page loaded is not there, but %.200q", got)
	}
	if got := n.Must("links", "fresh"); !strings.Contains(got, "-7") {
		t.Errorf("the link that the page made is not there: %s", got)
	}
}

func fill(t *testing.T, calls *client.Client) {
	t.Helper()
	made := map[string]bool{}
	create := func(name string) {
		if _, err := calls.Create(t.Context(), name); err != nil && !made[name] {
			t.Fatalf("create %q: %v", name, err)
		}
		made[name] = true
	}
	all := links
	for i, name := range odd {
		create(name)
		all = append(all[:len(all):len(all)], api.NewLink{From: "odd", To: name, Cost: int32(i)})
	}
	create("odd")
	for _, l := range all {
		for _, name := range []string{l.From, l.To} {
			if !made[name] && (name == l.From || !l.Messages) {
				create(name)
			}
		}
		if _, err := calls.Link(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
}

// apps loads a table and has two programs ask for it, one of each node.
func apps(t *testing.T, nodes ...*floetest.Node) {
	t.Helper()
	var b strings.Builder
	b.WriteString("newrt|start\nmse|1000|-1|10.0.1.1:4560,10.0.1.2:4560;10.0.2.1:4560\nmse|1001|-1|%meid\nrte|1002|a-rather-long-host-name.in-some-namespace.svc.cluster.local:4560\n")
	for i := range 300 {
		fmt.Fprintf(&b, "mse|%d,10.7.0.%d:4560|%d|10.8.0.%d:4560\n", 3000+i, i%250, i, i%250)
	}
	fmt.Fprintf(&b, "mse|110|7|%s\n", nobody(nodes[0]))
	b.WriteString("newrt|end|304\nmeid_map|start\nmme_ar|10.0.2.1:38000|gnb_001 gnb_<b>002</b> gnb_003\nmeid_map|end|1\n")
	if _, err := nodes[0].Client(floetest.Patience).LoadRoutes(t.Context(), b.String(), nil); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		app, err := rmrapp.Start(rmrapp.Config{RouteManager: net.JoinHostPort(n.IP, "4561"), Every: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(app.Close)
		ctx, cancel := context.WithTimeout(t.Context(), floetest.Patience)
		defer cancel()
		if err := app.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// nobody is an endpoint at which nobody listens.
func nobody(n *floetest.Node) string { return n.IP + ":9" }

// publish publishes until ctx ends.
func publish(ctx context.Context, n *floetest.Node) error {
	calls := client.New(client.Config{Addresses: []string{n.HTTP()}, Timeout: floetest.Patience})
	defer calls.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, topic := range []string{"market", "quotes", "pager", odd[1]} {
			err := calls.Publish(ctx, api.Publish{Topic: topic, Context: map[string]string{"cost": "3"}, Data: []byte("x")})
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// subscribe subscribes a program that is not there.
func subscribe(t *testing.T, n *floetest.Node, topic, proxy string, qos map[string]string) {
	t.Helper()
	manager, err := proto.ParseProxy("IceStorm/topic." + topic + ":tcp -h " + n.IP + " -p " + floetest.IcePort)
	if err != nil {
		t.Fatal(err)
	}
	subscriber, err := proto.ParseProxy(proxy)
	if err != nil {
		t.Fatal(err)
	}
	params, start := proto.BeginEncapsulation(nil, proto.Encoding11)
	params = proto.AppendStringDict(params, qos)
	params = proto.EndEncapsulation(proto.AppendProxy(params, &subscriber, proto.Encoding11), start)
	c := iceclient.New(iceclient.Config{})
	defer c.Close(t.Context())
	r, err := c.Call(t.Context(), &manager, "subscribeAndGetPublisher", proto.ModeNormal, nil, params)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPageWithTokens opens the page of a node that wants tokens.
func TestPageWithTokens(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "n1")
	n.Start()
	n.WaitReady()
	n.Must("create", "there")
	root := strings.TrimSpace(n.Must("token", "add", "root", "--role", "cluster"))
	file := filepath.Join(t.TempDir(), "root.token")
	if err := os.WriteFile(file, []byte(root), 0o600); err != nil {
		t.Fatal(err)
	}
	reader := strings.TrimSpace(n.Must("token", "add", "reader", "--role", "read", "--token-file", file))
	look(t, "tokens", n, map[string]any{"reader": reader, "root": root})
}

// TestPageOfManyTopics opens the page of a node with 10 000 topics in trees, one of which has a thousand links.
func TestPageOfManyTopics(t *testing.T) {
	t.Parallel()
	n := floetest.NewNode(t, "n1")
	n.Start()
	n.WaitReady()
	var b strings.Builder
	const topics = 10_000
	for i := range topics {
		fmt.Fprintf(&b, "create t%05d\n", i)
	}
	for i := 1; i < topics; i++ {
		parent := i / 4
		if i%10 == 0 {
			parent = 0
		}
		fmt.Fprintf(&b, "link t%05d t%05d %d\n", parent, i, i%20)
	}
	if _, err := n.Client(floetest.Patience).Apply(t.Context(), api.Apply{Script: b.String()}); err != nil {
		t.Fatal(err)
	}
	look(t, "many", n, nil)
}
