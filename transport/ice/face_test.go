package ice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/client"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

func TestCreateOrRetrieve(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm"), nil)
	c := f.dial(t)
	for range 2 {
		d := c.result(manager, "createOrRetrieve", proto.ModeNormal, str("x"))
		if p := d.Proxy(); p.Identity != obj("IceStorm", "topic.x") || d.Finish() != nil {
			t.Errorf("got %v", p.String())
		}
	}
	f.group.setRefuse(errNoQuorum)
	c.result(manager, "createOrRetrieve", proto.ModeNormal, str("x"))
	r := c.call(manager, "createOrRetrieve", proto.ModeNormal, str("y"))
	if r.Status != proto.StatusUnknownException || r.Text != errNoQuorum.Error() {
		t.Errorf("got %v %q", r.Status, r.Text)
	}
}

// A program that creates a topic on one node and goes on at another must not
// be told that there is none, though that node's copy lags behind.
func TestNegativeAnswersAreConfirmed(t *testing.T) {
	for _, c := range []struct {
		name   string
		target proto.Identity
		op     string
		mode   byte
		params func([]byte) []byte
		ok     bool
	}{
		{"retrieve", manager, "retrieve", proto.ModeIdempotent, str("late"), true},
		{"topic", obj("IceStorm", "topic.late"), "getName", proto.ModeIdempotent, nil, true},
		{"publisher", obj("IceStorm", "late.publish"), "tick", proto.ModeNormal, nil, true},
		{"link object", obj("IceStorm", "late.link"), "ice_ping", proto.ModeNonmutating, nil, true},
		{"private publisher", obj("IceStorm", "topic.late.publish.s/x"), "tick", proto.ModeNormal, nil, true},
		{"no such", obj("IceStorm", "topic.never"), "getName", proto.ModeIdempotent, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(t, "IceStorm")
			g.ahead = []fsm.Op{fsm.CreateTopic{Name: "late"}, subscription("late", "s", "x")}
			f := startFace(t, g, nil)
			r := f.dial(t).call(c.target, c.op, c.mode, c.params)
			if got := r.Err() == nil; got != c.ok {
				t.Errorf("got %v", r.Err())
			}
		})
	}
}

// Oneway events that came before the topic is known here arrive in order.
func TestOnewayEventsWaitForTheTopic(t *testing.T) {
	g := newGroup(t, "IceStorm")
	g.ahead = makeTopics("late")
	f := startFace(t, g, nil)
	c := f.dial(t)
	var b []byte
	for i := range 5 {
		b = append(b, request(0, obj("IceStorm", "late.publish"), fmt.Sprint("op", i), 0, nil)...)
	}
	c.send(b)
	var got []string
	for _, e := range f.hub.wait(5) {
		got = append(got, e.op)
	}
	if want := []string{"op0", "op1", "op2", "op3", "op4"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Without a leader the local copy answers, and one question is asked for all
// requests that came together.
func TestUnknownObjectsAskOnce(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm"), nil)
	f.group.setRefuse(errNoQuorum)
	c := f.dial(t)
	var b []byte
	for range 50 {
		b = append(b, request(0, obj("IceStorm", "no.publish"), "op", 0, nil)...)
	}
	c.send(append(b, request(1, obj("other", "x"), "op", 0, nil)...))
	if m, err := c.message(); err != nil || m[18] != byte(proto.StatusObjectNotExist) {
		t.Fatalf("% x, %v", m, err)
	}
	f.group.mu.Lock()
	defer f.group.mu.Unlock()
	if f.group.reads > 3 {
		t.Errorf("%d reads for 50 events in one write", f.group.reads)
	}
}

func TestDestroyedTopicTakesNoMoreEvents(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a")...), nil)
	c := f.dial(t)
	publisher := obj("IceStorm", "a.publish")
	if r := c.call(publisher, "tick", 0, nil); r.Err() != nil {
		t.Fatal(r.Err())
	}
	f.group.must(t, fsm.DestroyTopic{Name: "a"})
	if r := c.call(publisher, "tick", 0, nil); r.Status != proto.StatusObjectNotExist {
		t.Errorf("got %v", r.Status)
	}
	f.group.must(t, fsm.CreateTopic{Name: "a"})
	if r := c.call(publisher, "tick", 0, nil); r.Err() != nil {
		t.Error(r.Err())
	}
}

func TestFinderNamesAllVoters(t *testing.T) {
	g := newGroup(t, "Storm")
	var ids []string
	for i := range 7 {
		id := fmt.Sprintf("n%d", i)
		ids = append(ids, id)
		g.must(t, fsm.SetMember{Member: fsm.Member{ID: id, Addresses: map[string][]string{"ice": {fmt.Sprintf("tcp -h h%d -p 1", i), fmt.Sprintf("udp -h h%d -p 1", i)}}}})
	}
	g.servers(ids...)
	f := startFace(t, g, func(c *Config) { c.Node, c.Endpoints = "n5", []string{"tcp -h h5 -p 1", "udp -h h5 -p 1"} })
	c := f.dial(t)
	hosts := func(p proto.Proxy) (out []string) {
		for _, e := range p.Endpoints {
			out = append(out, strings.Fields(e.String())[0]+" "+e.Host)
		}
		return out
	}
	d := c.result(finderID, "getTopicManager", proto.ModeNormal, nil)
	p := d.Proxy()
	if want := []string{"tcp h5", "tcp h6", "tcp h0", "tcp h1", "tcp h2"}; !slices.Equal(hosts(p), want) || p.Identity != obj("Storm", "TopicManager") {
		t.Errorf("got %v %v, want %v", p.Identity, hosts(p), want)
	}
	g.must(t, fsm.CreateTopic{Name: "a"})
	d = c.result(obj("Storm", "topic.a"), "getPublisher", proto.ModeIdempotent, nil)
	if got := hosts(d.Proxy()); len(got) != 10 || got[0] != "tcp h5" || got[1] != "udp h5" {
		t.Errorf("publisher: %v", got)
	}
	d = c.result(obj("Storm", "topic.a"), "getNonReplicatedPublisher", proto.ModeIdempotent, nil)
	if got := hosts(d.Proxy()); !slices.Equal(got, []string{"tcp h5", "udp h5"}) {
		t.Errorf("not replicated: %v", got)
	}
	// A node that comes back elsewhere is named by its new address at once.
	g.must(t, fsm.SetMember{Member: fsm.Member{ID: "n6", Addresses: map[string][]string{"ice": {"tcp -h new -p 1"}}}})
	d = c.result(finderID, "getTopicManager", proto.ModeNormal, nil)
	if got := hosts(d.Proxy()); got[1] != "tcp new" {
		t.Errorf("moved: %v", got)
	}
}

func TestReplicaQuery(t *testing.T) {
	want := queryOf(t, replyDecoder(t, readVector(t, "testdata/vectors/ha-node-query.txt")))
	g := newGroup(t, "HA")
	g.servers("n0", "n1", "n2")
	f := startFace(t, g, func(c *Config) {
		c.Node, c.Endpoints = "n2", []string{"tcp -h 127.0.0.1 -p 10030"}
		c.Leader = func() (string, uint64) { return "n2", 4 }
	})
	d := f.dial(t).result(obj("HA", "node2"), "query", proto.ModeIdempotent, nil)
	got := queryOf(t, &d)
	want.Group, want.Replica.Endpoints[0].Port = "c:4", 10030
	for i := range want.Up {
		want.Up[i].Generation, want.Up[i].Iteration = 0, 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("query (-captured +ours):\n%s", diff)
	}
}

func queryOf(t *testing.T, d *proto.Decoder) proto.QueryInfo {
	t.Helper()
	q := d.QueryInfo()
	if err := d.Finish(); err != nil {
		t.Fatal(err)
	}
	return q
}

func TestRetrieveAllThatNeverFits(t *testing.T) {
	g := newGroup(t, "IceStorm")
	for i := range 3000 {
		g.must(t, fsm.CreateTopic{Name: fmt.Sprintf("%0250d", i)})
	}
	f := startFace(t, g, nil)
	r := f.dial(t).call(manager, "retrieveAll", proto.ModeIdempotent, nil)
	if r.Status != proto.StatusUnknownException || !strings.Contains(r.Text, "3000 topics do not fit") {
		t.Errorf("got %v %q", r.Status, r.Text)
	}
	// An operator who raised the limit raised it for clients too.
	f = startFace(t, g, func(c *Config) { c.Server.MessageSizeMax = 4 << 20 })
	d := f.dial(t).result(manager, "retrieveAll", proto.ModeIdempotent, nil)
	if n := d.SeqSize(2); n != 3000 {
		t.Errorf("%d topics", n)
	}
}

// The estimate that fitting goes by is never too low, and close.
func TestFittingEstimate(t *testing.T) {
	g := newGroup(t, "IceStorm")
	var endpoints []proto.Endpoint
	for i := range 256 {
		g.must(t, fsm.CreateTopic{Name: strings.Repeat("x", i)})
	}
	for i := range 5 {
		endpoints = append(endpoints, proto.Endpoint{Type: proto.EndpointTCP, Host: strings.Repeat("h", 40*i), Port: 1})
	}
	v := g.View()
	for _, encoding := range []proto.Version{proto.Encoding10, proto.Encoding11} {
		for n := 1; n <= len(endpoints); n++ {
			size := len(appendTopics(nil, v, endpoints[:n], encoding))
			if got := fitting(v, endpoints, size-1, encoding); got >= n {
				t.Errorf("%d endpoints take %d bytes, but fit in less", n, size)
			}
			if got := fitting(v, endpoints, size+3*v.Graph.Len(), encoding); got < n {
				t.Errorf("%d endpoints take %d bytes, but %d fit in a little more", n, size, got)
			}
		}
	}
}

func TestLocator(t *testing.T) {
	g := newGroup(t, "IceStorm", makeTopics("a")...)
	g.must(t, fsm.SetMember{Member: fsm.Member{ID: "n2", Addresses: map[string][]string{"ice": {"tcp -h two -p 2"}}}})
	g.must(t, fsm.SetMember{Member: fsm.Member{ID: "n3", Addresses: map[string][]string{"ice": {"tcp -h three -p 3"}}}})
	g.servers("n1", "n2", "n3")
	f := startFace(t, g, func(c *Config) { c.Live = func(id string) bool { return id != "n2" } })
	c := f.dial(t)
	d := c.result(locatorID, "findAdapterById", proto.ModeNonmutating, str("floe"))
	p := d.Proxy()
	if n := len(p.Endpoints); n != 3 || p.Endpoints[2].Host != "three" {
		t.Errorf("adapter floe: %v", p.String())
	}
	r := c.call(locatorID, "findAdapterById", proto.ModeIdempotent, str("other"))
	if ex, err := proto.ParseUserException(r.Encaps); err != nil || ex.TypeID != "::Ice::AdapterNotFoundException" {
		t.Errorf("adapter other: %v %v", ex, err)
	}
	identity := func(id proto.Identity) func([]byte) []byte {
		return func(dst []byte) []byte { return proto.AppendIdentity(dst, id) }
	}
	for _, id := range []proto.Identity{manager, finderID, obj("IceStorm", "topic.a"), obj("IceStorm", "a.publish")} {
		d = c.result(locatorID, "findObjectById", proto.ModeNonmutating, identity(id))
		if p := d.Proxy(); p.Identity != id || len(p.Endpoints) < 2 {
			t.Errorf("object %v: %v", id, p.String())
		}
	}
	r = c.call(locatorID, "findObjectById", proto.ModeNonmutating, identity(obj("IceStorm", "topic.b")))
	if ex, err := proto.ParseUserException(r.Encaps); err != nil || ex.TypeID != "::Ice::ObjectNotFoundException" {
		t.Errorf("no such object: %v %v", ex, err)
	}
	d = c.result(locatorID, "getRegistry", proto.ModeNonmutating, nil)
	if p := d.Proxy(); !p.IsNull() {
		t.Errorf("registry: %v", p.String())
	}
}

func subscribeParams(qos map[string]string, p proto.Proxy) func([]byte) []byte {
	return func(dst []byte) []byte {
		return proto.AppendProxy(proto.AppendStringDict(dst, qos), &p, proto.Encoding11)
	}
}

// W01 and W11: a retryCount is never refused, whatever it says and whatever
// the proxy's mode; afterwards the identity is free again.
func TestRetryCountIsNeverRefused(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a")...), nil)
	c := f.dial(t)
	topic := obj("IceStorm", "topic.a")
	for _, mode := range []proto.ProxyMode{proto.Twoway, proto.Oneway, proto.BatchOneway, proto.Datagram} {
		for _, count := range []string{"abc", "", "10abc", "-2", "5"} {
			p := proto.NewProxy(obj("s", "x"), proto.Endpoint{Type: proto.EndpointTCP, Host: "h", Port: 1})
			p.Mode = mode
			c.result(topic, "subscribeAndGetPublisher", 0, subscribeParams(map[string]string{"retryCount": count}, p))
			got := f.group.View().Graph.Topic("a").Subscription(topics.Identity{Name: "x", Category: "s"})
			if kept := unmarshal(got.Proxy); got.Setting("retryCount") != count || kept.Mode != mode {
				t.Errorf("kept %+v", got)
			}
			// W03: the same identity is refused until it unsubscribes.
			r := c.call(topic, "subscribeAndGetPublisher", 0, subscribeParams(nil, p))
			if ex, err := proto.ParseUserException(r.Encaps); err != nil || ex.TypeID != proto.TypeAlreadySubscribed {
				t.Errorf("again: %v %v", ex, err)
			}
			c.result(topic, "unsubscribe", proto.ModeIdempotent, func(dst []byte) []byte { return proto.AppendProxy(dst, &p, proto.Encoding11) })
		}
	}
}

// X10: a subscribe that fails for want of a quorum leaves nothing behind.
func TestSubscribeWithoutQuorumLeavesNothing(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a")...), nil)
	c := f.dial(t)
	topic, params := obj("IceStorm", "topic.a"), subscribeParams(nil, proto.NewProxy(obj("s", "x")))
	f.group.setRefuse(errNoQuorum)
	if r := c.call(topic, "subscribeAndGetPublisher", 0, params); r.Text != errNoQuorum.Error() {
		t.Fatalf("got %v %q", r.Status, r.Text)
	}
	f.group.setRefuse(nil)
	c.result(topic, "subscribeAndGetPublisher", 0, params)
	if n := len(f.group.View().Graph.Topic("a").Subscriptions); n != 1 {
		t.Errorf("%d subscriptions", n)
	}
}

func linkParams(p proto.Proxy, cost int32) func([]byte) []byte {
	return func(dst []byte) []byte {
		return proto.AppendInt32(proto.AppendProxy(dst, &p, proto.Encoding11), cost)
	}
}

// answering is a Caller that answers every call alike.
type answering struct {
	reply proto.Reply
	err   error
}

func (a answering) Call(context.Context, *proto.Proxy, string, byte, proto.Context, []byte) (proto.Reply, error) {
	return a.reply, a.err
}

func result(encaps []byte) answering { return answering{reply: proto.Reply{Encaps: encaps}} }

func proxyResult(p proto.Proxy) []byte {
	return encapsulate(func(dst []byte) []byte { return proto.AppendProxy(dst, &p, proto.Encoding11) })
}

// G12 and the other ends of linking to a topic of another server.
func TestLinkElsewhere(t *testing.T) {
	far := proto.Endpoint{Type: proto.EndpointTCP, Host: "far", Port: 9}
	link := proto.NewProxy(obj("Foreign", "b.link"), far)
	for _, c := range []struct {
		name   string
		caller Caller
		target proto.Identity
		status proto.Status
		links  int
	}{
		{"foreign", result(proxyResult(link)), obj("Foreign", "topic.b"), proto.StatusOK, 1},
		{"foreign, our instance name", result(proxyResult(proto.NewProxy(obj("IceStorm", "b.link"), far))), obj("IceStorm", "topic.b"), proto.StatusOK, 1},
		{"null link proxy", result(proxyResult(proto.Proxy{})), obj("Foreign", "topic.b"), proto.StatusUnknownException, 0},
		{"no result", result(encapsulate(func(b []byte) []byte { return b })), obj("Foreign", "topic.b"), proto.StatusUnknownLocalException, 0},
		{"unreachable", answering{err: errors.New("connection refused")}, obj("Foreign", "topic.b"), proto.StatusUnknownLocalException, 0},
		{"missing", answering{reply: proto.Reply{Status: proto.StatusObjectNotExist}}, obj("Foreign", "topic.b"), proto.StatusObjectNotExist, 0},
		{"no topic", answering{reply: proto.Reply{Status: proto.StatusOperationNotExist}}, obj("Foreign", "x"), proto.StatusOperationNotExist, 0},
		{"no caller", nil, obj("Foreign", "topic.b"), proto.StatusUnknownLocalException, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := startFace(t, newGroup(t, "IceStorm", makeTopics("a", "b")...), func(config *Config) { config.Caller = c.caller })
			target := proto.NewProxy(c.target, far)
			cl := f.dial(t)
			if r := cl.call(obj("IceStorm", "topic.a"), "link", 0, linkParams(target, 3)); r.Status != c.status {
				t.Fatalf("got %v, want %v (%q)", r.Status, c.status, r.Text)
			}
			links := f.group.View().Graph.Topic("a").Links
			if len(links) != c.links {
				t.Fatalf("links %+v", links)
			}
			if c.links == 0 {
				return
			}
			if links[0].Remote == nil {
				t.Fatal("the link stays inside")
			}
			d := cl.result(obj("IceStorm", "topic.a"), "getLinkInfoSeq", proto.ModeIdempotent, nil)
			info := d.LinkInfos()
			want := []proto.LinkInfo{{Topic: target, Name: "b", Cost: 3}}
			if diff := cmp.Diff(want, info); diff != "" {
				t.Errorf("info (-want +got):\n%s", diff)
			}
		})
	}
}

// A topic of ours stays inside the cluster, by whatever way it is named.
func TestLinkInside(t *testing.T) {
	for _, c := range []struct {
		name    string
		target  func(f *testFace) proto.Proxy
		through Caller
	}{
		{"our address", func(f *testFace) proto.Proxy { return f.topicProxy(f.group.View(), "b") }, nil},
		{"adapter", func(*testFace) proto.Proxy {
			p := proto.NewProxy(obj("IceStorm", "topic.b"))
			p.AdapterID = "floe"
			return p
		}, nil},
		{"well known", func(*testFace) proto.Proxy { return proto.NewProxy(obj("IceStorm", "topic.b")) }, nil},
		{"another name of our host", func(f *testFace) proto.Proxy {
			p := f.topicProxy(f.group.View(), "b")
			p.Endpoints = slices.Clone(p.Endpoints)
			p.Endpoints[0].Host = "localhost"
			return p
		}, dialer{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := startFace(t, newGroup(t, "IceStorm", makeTopics("a", "b")...), func(config *Config) { config.Caller = c.through })
			if r := f.dial(t).call(obj("IceStorm", "topic.a"), "link", 0, linkParams(c.target(f), 3)); r.Err() != nil {
				t.Fatal(r.Err())
			}
			links := f.group.View().Graph.Topic("a").Links
			if len(links) != 1 || links[0].Remote != nil || links[0].Cost != 3 {
				t.Errorf("links %+v", links)
			}
		})
	}
}

func TestRepeatedForwardIsDroppedOnce(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a")...), func(c *Config) { c.Dedupe = client.NewDedupe(0) })
	c := f.dial(t)
	target := proto.AppendTarget(nil, obj("IceStorm", "a.link"), "")
	events := []proto.Event{{Operation: []byte("one")}, {Operation: []byte("two")}}
	for _, seq := range []string{"1", "1", "2"} {
		c.send(proto.AppendForward(nil, 7, target, proto.NewContext(map[string]string{"floe.origin": "o", "floe.seq": seq}), events))
		if b, err := c.message(); err != nil || b[18] != 0 {
			t.Fatalf("% x, %v", b, err)
		}
	}
	if got := f.hub.list(); len(got) != 4 {
		t.Errorf("got %d events, want 4: %v", len(got), got)
	}
}

// G10, X09: what races with destroy leaves nothing that revives the topic.
func TestDestroyRacesWithSubscribeAndLink(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("u")...), nil)
	want := f.group.View().Digest()
	clients := []*peer{f.dial(t), f.dial(t), f.dial(t)}
	target := obj("IceStorm", "topic.t")
	link := linkParams(f.topicProxy(f.group.View(), "u"), 0)
	for range 100 {
		f.group.must(t, makeTopics("t")...)
		clients[0].send(request(1, target, "subscribeAndGetPublisher", 0, subscribeParams(nil, proto.NewProxy(obj("s", "x")))))
		clients[1].send(request(1, target, "link", 0, link))
		clients[2].send(request(1, target, "destroy", 0, nil))
		for i, c := range clients {
			b, err := c.message()
			if err != nil {
				t.Fatal(err)
			}
			if s := proto.Status(b[18]); s != proto.StatusOK && (s != proto.StatusObjectNotExist || i == 2) {
				t.Fatalf("client %d: %v", i, s)
			}
		}
	}
	if got := f.group.View().Digest(); got != want {
		t.Errorf("something of the destroyed topics is left")
	}
}

func TestForwardToDestroyedTopic(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a")...), nil)
	c := f.dial(t)
	for _, want := range []proto.Status{proto.StatusOK, proto.StatusObjectNotExist} {
		c.send(proto.AppendForward(nil, 1, proto.AppendTarget(nil, obj("IceStorm", "a.link"), ""), nil, []proto.Event{{Operation: []byte("x")}}))
		if b, err := c.message(); err != nil || proto.Status(b[18]) != want {
			t.Errorf("% x, %v, want %v", b, err, want)
		}
		if want == proto.StatusOK {
			f.group.must(t, fsm.DestroyTopic{Name: "a"})
		}
	}
}

// What linking to an object of ours gives where it is no topic.
func TestLinkInsideRefused(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a", "b")...), nil)
	c := f.dial(t)
	link := func(p proto.Proxy) proto.Reply {
		return c.call(obj("IceStorm", "topic.a"), "link", 0, linkParams(p, 0))
	}
	faceted := f.topicProxy(f.group.View(), "b")
	faceted.Facet = "f"
	for _, x := range []struct {
		target proto.Proxy
		status proto.Status
	}{
		{faceted, proto.StatusFacetNotExist},
		{f.topicProxy(f.group.View(), "never"), proto.StatusObjectNotExist},
		{f.callProxy(f.group.View(), managerName), proto.StatusOperationNotExist},
	} {
		if r := link(x.target); r.Status != x.status || r.Identity != x.target.Identity || r.Operation != "getLinkProxy" {
			t.Errorf("%s: got %v %v %q", x.target.String(), r.Status, r.Identity, r.Operation)
		}
	}
	// The target goes while the change is on its way.
	f.group.setRefuse(&fsm.Refusal{Kind: topics.ErrNoTopic, Name: "b"})
	if r := link(f.topicProxy(f.group.View(), "b")); r.Status != proto.StatusObjectNotExist || r.Identity.Name != "topic.b" {
		t.Errorf("got %v %v", r.Status, r.Identity)
	}
	// The source does.
	f.group.setRefuse(&fsm.Refusal{Kind: topics.ErrNoTopic, Name: "a"})
	if r := link(f.topicProxy(f.group.View(), "b")); r.Status != proto.StatusObjectNotExist || r.Identity.Name != "topic.a" {
		t.Errorf("got %v %v", r.Status, r.Identity)
	}
}

// A forward that says it holds 2^30 events is refused without room for them.
func TestForwardOfAnAbsurdCount(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a")...), nil)
	c := f.dial(t)
	r := c.call(obj("IceStorm", "a.link"), "forward", 0, func(dst []byte) []byte { return append(dst, 255, 0, 0, 0, 0x40) })
	if r.Status != proto.StatusUnknownLocalException {
		t.Errorf("got %v", r.Status)
	}
	c.result(manager, "ice_ping", 0, nil)
}

// Names that hold the words objects are named with.
func TestNamesLikeObjects(t *testing.T) {
	names := []string{"", "a", "a.publish", "topic.a", "a.publish.b", "node0", "TopicManager", "a.link", "ü/ \n"}
	g := newGroup(t, "IceStorm", makeTopics(names...)...)
	for _, n := range names {
		g.must(t, subscription(n, "c/d", "s.publish.t"))
	}
	f := startFace(t, g, nil)
	c := f.dial(t)
	for _, n := range names {
		d := c.result(obj("IceStorm", "topic."+n), "getName", proto.ModeIdempotent, nil)
		if got := d.String(); got != n {
			t.Errorf("got %q, want %q", got, n)
		}
		c.result(obj("IceStorm", n+".link"), "ice_ping", 0, nil)
		private := f.privateProxy(f.group.View(), n, topics.Identity{Name: "s.publish.t", Category: "c/d"})
		c.result(private.Identity, "tick", 0, nil)
		if e := f.hub.list(); e[len(e)-1].topic != n || e[len(e)-1].how != "c/d/s.publish.t" {
			t.Errorf("%q: event %+v", n, e[len(e)-1])
		}
	}
}

func TestNameThatIsNone(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm"), nil)
	c := f.dial(t)
	for _, n := range []string{strings.Repeat("x", 256), "\xff"} {
		if r := c.call(manager, "create", 0, str(n)); r.Status != proto.StatusUnknownException || !strings.Contains(r.Text, "not a topic name") {
			t.Errorf("got %v %q", r.Status, r.Text)
		}
	}
}

// Ten thousand silly proxies: each is refused or kept, none harms.
func TestSillyProxies(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm", makeTopics("a")...), nil)
	c := f.dial(t)
	topic := obj("IceStorm", "topic.a")
	good := marshal(&proto.Proxy{Identity: obj("s", "x"), Encoding: proto.Encoding11, Endpoints: f.own})
	for i := range 10_000 {
		silly := slices.Clone(good)
		silly[i%len(silly)] ^= byte(1 + i/len(silly))
		r := c.call(topic, "subscribeAndGetPublisher", 0, func(dst []byte) []byte { return append(append(dst, 0), silly...) })
		if r.Status == proto.StatusUnknownException && !strings.Contains(r.Text, "limit") {
			t.Fatalf("%x: %q", silly, r.Text)
		}
	}
	c.result(manager, "ice_ping", 0, nil)
}

func TestRequestsNameWhoAsked(t *testing.T) {
	f := startFace(t, newGroup(t, "IceStorm"), nil)
	c := f.dial(t)
	c.result(manager, "create", 0, str("a"))
	f.group.mu.Lock()
	defer f.group.mu.Unlock()
	if want := "ice " + c.conn.LocalAddr().String(); f.group.froms[0] != want {
		t.Errorf("got %q, want %q", f.group.froms[0], want)
	}
}

func TestBadEndpointIsRefused(t *testing.T) {
	if _, err := New(Config{Group: newGroup(t, "IceStorm"), Endpoints: []string{"tcp -q"}}); err == nil {
		t.Error("no error")
	}
}

func TestServeAfterShutdown(t *testing.T) {
	f, err := New(Config{Group: newGroup(t, "IceStorm")})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Serve(l, server.Transport{Name: "tcp"}); !errors.Is(err, server.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
