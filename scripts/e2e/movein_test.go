package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/floetest"
	"floe/scripts/peers"
	"floe/transport/http/api"
	"floe/transport/ice/client"
	"floe/transport/ice/proto"
)

// caller calls a topic service, as no stock tool does: a thousand times, and with any name.
type caller struct {
	t       *testing.T
	client  *client.Client
	manager proto.Proxy
	topics  map[string]proto.Proxy
}

func newCaller(t *testing.T, s peers.Service) *caller {
	t.Helper()
	c := &caller{t: t, client: client.New(client.Config{MessageSizeMax: 64 << 20}), manager: parseProxy(t, s.Manager), topics: map[string]proto.Proxy{}}
	t.Cleanup(func() { c.client.Close(t.Context()) })
	return c
}

func parseProxy(t *testing.T, text string) proto.Proxy {
	t.Helper()
	p, err := proto.ParseProxy(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (c *caller) call(p proto.Proxy, operation string, mode byte, params func([]byte) []byte) proto.Decoder {
	c.t.Helper()
	var b []byte
	if params != nil {
		dst, start := proto.BeginEncapsulation(nil, proto.Encoding11)
		b = proto.EndEncapsulation(params(dst), start)
	}
	reply, err := c.client.Call(c.t.Context(), &p, operation, mode, nil, b)
	if err == nil {
		err = reply.Err()
	}
	if err != nil {
		c.t.Fatalf("%s on %s: %v", operation, p.Identity, err)
	}
	d, err := proto.OpenEncapsulation(reply.Encaps)
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

func (c *caller) create(name string) {
	c.t.Helper()
	d := c.call(c.manager, "create", proto.ModeNormal, func(b []byte) []byte { return proto.AppendString(b, name) })
	c.topics[name] = d.Proxy()
}

func (c *caller) link(from string, to proto.Proxy, cost int32) {
	c.t.Helper()
	c.call(c.topics[from], "link", proto.ModeNormal, func(b []byte) []byte {
		return proto.AppendInt32(proto.AppendProxy(b, &to, proto.Encoding11), cost)
	})
}

func (c *caller) subscribe(topic, proxy string, qos map[string]string) {
	c.t.Helper()
	p := parseProxy(c.t, proxy)
	c.call(c.topics[topic], "subscribeAndGetPublisher", proto.ModeNormal, func(b []byte) []byte {
		return proto.AppendProxy(proto.AppendStringDict(b, qos), &p, proto.Encoding11)
	})
}

// listing is what the service says of all its topics: names, links with costs, and who subscribes, links included.
func (c *caller) listing() []string {
	c.t.Helper()
	d := c.call(c.manager, "retrieveAll", proto.ModeIdempotent, nil)
	var out []string
	for range d.SeqSize(3) {
		name, topic := d.String(), d.Proxy()
		out = append(out, fmt.Sprintf("%q", name))
		links := c.call(topic, "getLinkInfoSeq", proto.ModeIdempotent, nil)
		for _, l := range links.LinkInfos() {
			out = append(out, fmt.Sprintf("%q to %q %s with cost %d", name, l.Name, l.Topic.Identity, l.Cost))
		}
		subscribers := c.call(topic, "getSubscribers", proto.ModeNormal, nil)
		for _, id := range subscribers.Identities() {
			out = append(out, fmt.Sprintf("%q: %s", name, id))
		}
	}
	return out
}

// oddNames are legal names of topics that are easily spoilt.
var oddNames = []string{"", "a/b", "/", "new\nline", "tab\t", "  blanks ", "grüße 漢", `"quoted"\`, "-dashed", strings.Repeat("x", 255), "\x01"}

// fill makes a thousand topics, links and subscribers, and some odd ones.
func fill(c *caller) {
	const count = 1000
	for _, name := range oddNames {
		c.create(name)
	}
	for i := range count {
		c.create(fmt.Sprint("topic-", i))
	}
	modes := []string{"-t", "-o", "-O"}
	for i := range count {
		from := fmt.Sprint("topic-", i)
		c.link(from, c.topics[fmt.Sprint("topic-", (i*7+1)%count)], int32(i-count/2))
		c.subscribe(from, fmt.Sprintf("cat/sub-%d %s -f facet:tcp -h 127.0.0.1 -p 9 -t 1000:ws -h 127.0.0.1 -p 9 -r /x", i, modes[i%len(modes)]), map[string]string{"retryCount": "-1", "mine": fmt.Sprint(i)})
	}
	for i, name := range oddNames {
		c.link(name, c.topics[oddNames[(i+1)%len(oddNames)]], -1)
		if len(name) < 200 { // IceStorm's database has keys of 511 bytes at most
			c.link(name, c.topics[name], 0)
		}
		c.subscribe(name, "\"odd \\\"sub\\\"\" -D:udp -h 127.0.0.1 -p 9", nil)
		c.subscribe(name, "indirect -t -e 1.0 @ Adapter", map[string]string{"reliability": "ordered"})
	}
}

// A whole IceStorm moves in: what the stock tool and calls list afterwards is what they listed before, and its
// subscribers get events, without having done anything.
func TestAnIceStormMovesIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storm := peers.IceStorm(t, "--dir", dir)
	old := newCaller(t, storm.Service)
	fill(old)
	subs := map[string]*peers.Subscriber{}
	for topic, mode := range map[string]string{"topic-1": "twoway", "topic-2": "oneway", "topic-3": "ordered", "topic-4": "batch"} {
		subs[topic] = peers.Subscribe(t, storm.Service, peers.CPP, topic, "--mode", mode, "--identity", "real/"+topic, "--qos", "retryCount=-1")
	}
	ports := storm.SamePorts()
	storm.Stop()
	storm = peers.IceStorm(t, append([]string{"--dir", dir}, ports...)...) // links are in the order of the database now
	want, tool := newCaller(t, storm.Service).listing(), admin(t, storm.Service, "topics; links; subscribers topic-1 topic-2 topic-3 topic-4")
	storm.Stop()

	c := startThree(t)
	n := c.Nodes[0]
	database := filepath.Join(dir, "0")
	if got := n.Must("import", "icestorm", "--check", database); !strings.HasSuffix(got, "it would make 1011 topics, 1021 links, 1026 subscribers\n") {
		t.Fatalf("check: ...%s", got[max(0, len(got)-200):])
	}
	if got := n.Must("topics"); got != "" {
		t.Fatalf("--check made topics: %.100q", got)
	}
	if got := n.Must("import", "icestorm", database); got != "imported: 1011 topics, 1021 links, 1026 subscribers\n" {
		t.Fatalf("import: %s", got)
	}
	c.WaitSame()
	s := service(n)
	if diff := cmp.Diff(newCaller(t, s).listing(), want); diff != "" {
		t.Errorf("listing (-floe +IceStorm):\n%.3000s", diff)
	}
	if diff := cmp.Diff(admin(t, s, "topics; links; subscribers topic-1 topic-2 topic-3 topic-4"), tool); diff != "" {
		t.Errorf("icestormadmin (-floe +IceStorm):\n%.3000s", diff)
	}
	sub := subscriberNamed(t, n, "topic-0", "cat/sub-0")
	if want := "cat/sub-0 -f facet -t -e 1.1:tcp -h 127.0.0.1 -p 9 -t 1000:ws -h 127.0.0.1 -p 9 -t 60000 -r /x"; sub.Proxy != want || sub.QoS["mine"] != "0" || sub.QoS["retryCount"] != "-1" {
		t.Errorf("subscriber: %+v", sub)
	}
	for topic, sub := range subs {
		peers.Publish(t, s, peers.CPP, topic, "--count", "3")
		if got := seqs(sub.WaitEvents(3)); !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("%s: got events %v", topic, got)
		}
	}
	if o := n.Floe("import", "icestorm", database); o.Exit != 0 || o.Stdout != "no change\n" || o.Stderr != "" {
		t.Errorf("a second time: %v", o)
	}
}

func subscriberNamed(t *testing.T, n *floetest.Node, topic, identity string) api.Subscriber {
	t.Helper()
	all, err := copyOf[api.Subscriber](n, "/v1/subscribers")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s api.Subscriber) bool { return s.Topic == topic && s.Identity == identity })
	if i < 0 {
		t.Fatalf("topic %s has no subscriber %s", topic, identity)
	}
	return all[i]
}

// What a running service says is topics and links; subscribers are named as what is left out.
func TestTopicsAndLinksOfARunningIceStorm(t *testing.T) {
	t.Parallel()
	storm := peers.IceStorm(t)
	admin(t, storm.Service, "create A B; link A B -3")
	peers.Subscribe(t, storm.Service, peers.CPP, "B", "--identity", "s1")
	n := startNode(t)
	o := n.Floe("import", "icestorm", "--from", storm.Manager)
	if o.Exit != api.ExitRefused || !strings.Contains(o.Stderr, `can't be carried over: subscriber "s1" of topic "B"`) || n.Must("topics") != "" {
		t.Errorf("with a subscriber: %v", o)
	}
	if got := n.Must("import", "icestorm", "--from", storm.Manager, "--leave-out"); got != "imported: 2 topics, 1 link, 0 subscribers\n" {
		t.Errorf("import: %s", got)
	}
	if got := n.Must("links"); got != "A to B with cost -3\n" {
		t.Errorf("links: %s", got)
	}
}

// Publishers and subscribers move one by one, as docs/movein.md has it: no event is lost, and none comes twice.
func TestMoveInWithPublishersRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storm := peers.IceStorm(t, "--dir", dir)
	admin(t, storm.Service, "create news archive; link news archive 5")
	news := peers.Subscribe(t, storm.Service, peers.CPP, "news", "--mode", "ordered", "--identity", "n1", "--qos", "retryCount=-1")
	archive := peers.Subscribe(t, storm.Service, peers.CPP, "archive", "--mode", "oneway", "--identity", "a1", "--qos", "retryCount=-1")
	publish := func(s peers.Service, id string) *peers.Publisher {
		return peers.StartPublisher(t, s, peers.CPP, "news", "--count", "0", "--rate", "200", "--cost", "3", "--publisher", id)
	}
	stays, moves := publish(storm.Service, "1"), publish(storm.Service, "2")
	news.WaitEvents(20)

	n := startNode(t)
	if got := n.Must("import", "icestorm", filepath.Join(dir, "0")); got != "imported: 2 topics, 1 link, 2 subscribers\n" {
		t.Fatalf("import: %s", got)
	}
	s := service(n)
	moves.Stop()
	moved := publish(s, "3")
	news.WaitEvents(len(news.Events()) + 100)
	late := publish(s, "4")
	stays.Stop()
	news.WaitEvents(len(news.Events()) + 100)
	moved.Stop()
	late.Stop()
	for name, sub := range map[string]*peers.Subscriber{"news": news, "archive": archive} {
		for id, p := range map[int]*peers.Publisher{1: stays, 2: moves, 3: moved, 4: late} {
			wantAll(t, name, sub, id, p.Result())
		}
	}
}

// wantAll waits until a subscriber has every event of a publisher, each once and in order.
func wantAll(t *testing.T, name string, sub *peers.Subscriber, publisher int, p peers.Published) {
	t.Helper()
	var got []int
	floetest.Eventually(t, floetest.Patience, func() error {
		got = nil
		for _, e := range sub.Events() {
			if e.Publisher == publisher {
				got = append(got, e.Seq)
			}
		}
		if len(got) < p.Acked {
			return fmt.Errorf("%s: %d of %d events of publisher %d", name, len(got), p.Acked, publisher)
		}
		return nil
	})
	if p.Errors > 0 || len(got) != p.Count {
		t.Errorf("%s: publisher %d: %+v, %d events", name, publisher, p, len(got))
	}
	for i, seq := range got {
		if seq != i {
			t.Errorf("%s: publisher %d: event %d is number %d", name, publisher, i, seq)
			return
		}
	}
}

// floe takes the place of an IceStorm with its own properties file: same ports, same instance, and its database.
func TestTheSamePropertiesFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const ip = "127.0.97.1"
	port, publish := freePort(t), freePort(t)
	storm := peers.IceStorm(t, "--dir", dir, "--instance", "Demo", "--host", ip, "--port", port, "--publish-port", publish, "Flush.Timeout=100")
	admin(t, storm.Service, "create A B; link A B 5")
	sub := peers.Subscribe(t, storm.Service, peers.CPP, "B", "--mode", "batch", "--identity", "s1", "--qos", "retryCount=-1")
	storm.Stop()
	config := filepath.Join(dir, "icestorm.config")
	text := "IceBox.Service.IceStorm=IceStormService,37:createIceStorm\nIceStorm.InstanceName=Demo\n" +
		"IceStorm.TopicManager.Endpoints=tcp -h " + ip + " -p " + port + "\nIceStorm.Publish.Endpoints=tcp -h " + ip + " -p " + publish + "\n" +
		"IceStorm.LMDB.Path=0\nIceStorm.Flush.Timeout=100\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n := floetest.NewNode(t, "n1", "--ice-config", config)
	n.Start()
	n.WaitReady()
	if got := n.Must("import", "icestorm", config); got != "imported: 2 topics, 1 link, 1 subscriber\n" {
		t.Fatalf("import: %s", got)
	}
	for _, manager := range []string{storm.Manager, "Demo/TopicManager:" + endpoint("tcp", ip, publish)} {
		s := peers.Service{Manager: manager}
		if got := admin(t, s, "links"); got != "A to B with cost 5\n" {
			t.Errorf("links at %s: %q", manager, got)
		}
		before := len(sub.Events())
		peers.Publish(t, s, peers.CPP, "A", "--cost", "5")
		sub.WaitEvents(before + 1)
	}
}

// Clients move one by one while topics are linked both ways, as docs/movein.md has it: every event reaches the old copy
// of a subscriber, the new one, or both.
func TestMoveInByLinksBothWays(t *testing.T) {
	t.Parallel()
	storm := peers.IceStorm(t)
	admin(t, storm.Service, "create news")
	before := peers.Subscribe(t, storm.Service, peers.CPP, "news", "--mode", "ordered", "--identity", "s1", "--qos", "retryCount=-1", "--unsubscribe")
	publish := func(s peers.Service, id string) *peers.Publisher {
		return peers.StartPublisher(t, s, peers.CPP, "news", "--count", "0", "--rate", "100", "--publisher", id)
	}
	stays := publish(storm.Service, "1")
	before.WaitEvents(10)

	c := startThree(t)
	n := c.Nodes[1]
	s := service(c.Nodes...)
	if o := n.Floe("import", "icestorm", "--leave-out", "--from", storm.Manager); o.Exit != 0 {
		t.Fatal(o)
	}
	for _, want := range []string{"1 topic is in both; 2 links made\n", "1 topic is in both; 0 links made\n"} {
		if got := n.Must("import", "bridge", storm.Manager); got != want {
			t.Fatalf("bridge: got %q, want %q", got, want)
		}
	}
	if o := n.Floe("import", "icestorm", "--leave-out", "--from", storm.Manager); o.Exit != 0 || o.Stdout != "no change\n" {
		t.Errorf("an import over the links: %v", o)
	}
	after := peers.Subscribe(t, s, peers.CPP, "news", "--mode", "ordered", "--identity", "s1", "--qos", "retryCount=-1")
	after.WaitEvents(20)
	before.Stop()
	moved := publish(s, "2")
	after.WaitEvents(len(after.Events()) + 50)
	stays.Stop()
	after.WaitEvents(len(after.Events()) + 50)
	moved.Stop()
	for id, p := range map[int]*peers.Publisher{1: stays, 2: moved} {
		got := p.Result()
		floetest.Eventually(t, floetest.Patience, func() error {
			have := map[int]bool{}
			for _, e := range append(before.Events(), after.Events()...) {
				if e.Publisher == id {
					have[e.Seq] = true
				}
			}
			if len(have) != got.Count || got.Errors > 0 {
				return fmt.Errorf("publisher %d: %+v, %d events came", id, got, len(have))
			}
			return nil
		})
	}
	if got := n.Must("import", "bridge", "--undo", storm.Manager); got != "1 topic is in both; 2 links removed\n" {
		t.Errorf("undo: %q", got)
	}
	if here, there := n.Must("links"), admin(t, storm.Service, "links"); here+there != "" {
		t.Errorf("links are left: %q, %q", here, there)
	}
}

// A link of a topic to itself has the identity of the link that would be made, and is left alone.
func TestATopicLinkedToItselfIsNotLinkedBothWays(t *testing.T) {
	t.Parallel()
	storm := peers.IceStorm(t)
	admin(t, storm.Service, "create A; link A A 3")
	n := startNode(t)
	n.Must("create", "A")
	if o := n.Floe("import", "bridge", storm.Manager, "A"); o.Exit != api.ExitRefused || !strings.Contains(o.Stderr, "leads elsewhere") {
		t.Errorf("bridge: %v", o)
	}
	n.Must("import", "bridge", "--undo", storm.Manager)
	if got := admin(t, storm.Service, "links"); got != "A to A with cost 3\n" {
		t.Errorf("links: %q", got)
	}
}

// What a running route manager answers to getdebuginfo is taken over: floe's table afterwards is that one's.
func TestARouteManagerMovesIn(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "rtmgr.yaml")
	text := "PlatformComponents:\n- {name: SUBMAN, fqdn: submgr, port: 4560}\n- {name: E2MAN, fqdn: e2mgr, port: 3801}\n" +
		"PlatformRoutes:\n- {messagetype: RIC_SUB_REQ, senderendpoint: SUBMAN, subscriptionid: -1, meid: '%meid'}\nmessagetypes: ['MINE=30500']\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	old := startNode(t, "--nbi", ":3800", "--nbi-config", config)
	base := "http://" + net.JoinHostPort(old.IP, "3800")
	post := func(path, body string, code int) {
		t.Helper()
		r, err := http.Post(base+"/ric/v1/handles/"+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != code {
			t.Fatalf("%s: %s", path, r.Status)
		}
	}
	old.WaitLog("routes are derived by what --nbi-config says")
	post("e2t", `{"E2TAddress":"10.0.0.5:38000","ranNamelist":["gnb1","gnb2"]}`, 201)
	post("xapp-handle", `{"eventType":"deployed","xApps":"[{\"name\":\"kpi\",\"instances\":[{\"name\":\"kpi-1\",\"ip\":\"10.0.0.3\",\"port\":4560,\"txMessages\":[\"RIC_SUB_REQ\"],\"rxMessages\":[\"MINE\"]}]}]"}`, 200)
	post("xapp-subscription-handle", `{"address":"10.0.0.3","port":4560,"subscription_id":9}`, 201)
	post("addrmrroute", `[{"TargetEndPoint":"10.0.0.8:4560,10.0.0.9:4560","MessageType":30000,"SenderEndPoint":"10.0.0.3:4560"}]`, 201)

	n := startNode(t)
	if got := n.Must("import", "rtmgr", "--check", config, base); !strings.Contains(got, "+ mse|30000,10.0.0.3:4560|-1|10.0.0.8:4560,10.0.0.9:4560\n") || !strings.HasSuffix(got, "nothing was changed\n") {
		t.Errorf("check: %s", got)
	}
	if got := n.Must("routes", "show"); strings.Contains(got, "mse|") {
		t.Errorf("--check made routes: %s", got)
	}
	n.Must("import", "rtmgr", config, base)
	if diff := cmp.Diff(n.Must("routes", "show"), old.Must("routes", "show")); diff != "" || !strings.Contains(n.Must("routes", "show"), "mme_ar|10.0.0.5:38000|") {
		t.Errorf("routes (-imported +old):\n%s", diff)
	}
	if o := n.Floe("import", "rtmgr", config, base); o.Exit != 0 || !strings.HasSuffix(o.Stdout, "no change\n") || o.Stderr != "" {
		t.Errorf("a second time: %v", o)
	}
}
