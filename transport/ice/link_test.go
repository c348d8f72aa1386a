package ice

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/proto"
)

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
