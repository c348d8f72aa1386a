package ice

import (
	"slices"
	"strings"
	"testing"

	"floe/topics"
	"floe/transport/ice/proto"
)

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
