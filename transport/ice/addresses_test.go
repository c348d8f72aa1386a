package ice

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"floe/fsm"
	"floe/transport/ice/proto"
)

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

func TestBadEndpointIsRefused(t *testing.T) {
	if _, err := New(Config{Group: newGroup(t, "IceStorm"), Endpoints: []string{"tcp -q"}}); err == nil {
		t.Error("no error")
	}
}
