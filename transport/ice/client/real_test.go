package client

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/peers"
	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// retrieve asks a topic manager for a topic's proxy.
func retrieve(t *testing.T, c *Client, manager, topic string) proto.Proxy {
	t.Helper()
	m, err := proto.ParseProxy(manager)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Call(t.Context(), &m, "retrieve", proto.ModeIdempotent, nil, stringParams(topic))
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxyResult(&r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func operations(events []peers.Event) []string {
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = e.Op
	}
	return list
}

// TestLinkToARealIceStorm forwards to a stock IceStorm, kills it and brings
// it back at the same ports: events flow again without anybody's help.
func TestLinkToARealIceStorm(t *testing.T) {
	data := t.TempDir()
	storm := peers.IceStorm(t, "--dir", data)
	sub := peers.Subscribe(t, storm.Service, peers.CPP, "b", "--create", "--any", "--mode", "oneway", "--identity", "s1")
	st := newStand(t, Config{}, delivery.Config{})
	topic := retrieve(t, st.client, storm.Manager, "b")
	st.group.linkTo(topics.Remote{Identity: topics.Identity(topic.Identity), Proxy: proto.AppendProxy(nil, &topic, proto.Encoding11)})
	const n = 3000
	st.publish(names(n)...)
	if got := operations(sub.WaitEvents(n)); !slices.Equal(got, names(n)) {
		t.Errorf("got %d events, not those published in order", len(got))
	}
	eventually(t, "all are answered", func() bool { return st.receiver().Delivered == n })
	sub.Stop()
	storm.Kill()
	st.publish("while-down")
	back := peers.IceStorm(t, append(storm.SamePorts(), "--dir", data)...)
	sub = peers.Subscribe(t, back.Service, peers.CPP, "b", "--any", "--identity", "s2")
	st.publish("after")
	eventually(t, "the event arrives", func() bool { return slices.Contains(operations(sub.Events()), "after") })
	eventually(t, "it is answered", func() bool { return st.receiver().State == "idle" })
	if r := st.receiver(); r.Lost() > 1 {
		t.Errorf("got %+v", r)
	}
}

// TestRealSubscribers delivers to C++ programs in each mode. They have their
// addresses from subscribing to a stock IceStorm.
func TestRealSubscribers(t *testing.T) {
	storm := peers.IceStorm(t)
	modes := map[string]proto.ProxyMode{"oneway": proto.Oneway, "batch": proto.BatchOneway, "twoway": proto.Twoway}
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			sub := peers.Subscribe(t, storm.Service, peers.CPP, name, "--create", "--any", "--identity", name)
			p, err := proto.ParseProxy(name + ":" + sub.Endpoints)
			if err != nil {
				t.Fatal(err)
			}
			p.Mode = mode
			st := newStand(t, Config{}, delivery.Config{})
			st.group.subscribe(name, p)
			st.publish(names(200)...)
			if diff := cmp.Diff(operations(sub.WaitEvents(200)), names(200), anyOrder(mode)); diff != "" {
				t.Errorf("got (-) want (+):\n%s", diff)
			}
			eventually(t, "all are counted", func() bool { return st.receiver().Delivered == 200 })
		})
	}
}

// anyOrder compares what a twoway subscriber got: several of its threads may
// take events at a time.
func anyOrder(mode proto.ProxyMode) cmp.Option {
	if mode != proto.Twoway {
		return cmp.Options{}
	}
	return cmp.Transformer("sorted", func(list []string) string { return fmt.Sprint(slices.Sorted(slices.Values(list))) })
}

// TestRealRegistry finds a subscriber through a stock IceGrid registry, also
// after it came back at another port.
func TestRealRegistry(t *testing.T) {
	registry, storm := peers.IceGridRegistry(t), peers.IceStorm(t)
	locator, err := proto.ParseProxy(registry.Locator)
	if err != nil {
		t.Fatal(err)
	}
	storm.Properties = append(storm.Properties, "--Ice.Default.Locator="+registry.Locator)
	subscribe := func(topic string) *peers.Subscriber {
		return peers.Subscribe(t, storm.Service, peers.CPP, topic, "--create", "--any", "--identity", "s1", "--adapter", "subs")
	}
	sub := subscribe("first")
	st := newStand(t, Config{Locator: locator}, delivery.Config{})
	p := proto.Proxy{Identity: proto.Identity{Name: "s1"}, Protocol: proto.Protocol10, Encoding: proto.Encoding11, AdapterID: "subs"}
	st.group.subscribe("s1", p, retry("-1"))
	st.publish("a")
	sub.WaitEvents(1)
	sub.Stop()
	sub = subscribe("second")
	st.publish("b")
	if got := operations(sub.WaitEvents(1)); !slices.Contains(got, "b") {
		t.Errorf("got %v", got)
	}
}
