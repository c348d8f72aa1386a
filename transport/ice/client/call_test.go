package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

func newClient(t *testing.T, config Config) *Client {
	t.Helper()
	c := New(config)
	t.Cleanup(func() { c.Close(t.Context()) })
	return c
}

func (c *Client) ping(ctx context.Context, endpoints ...proto.Endpoint) (proto.Reply, error) {
	p := proxyTo(proto.Oneway, endpoints...) // calls are twoway all the same
	return c.Call(ctx, &p, "ice_ping", proto.ModeNonmutating, nil, nil)
}

func TestCallReturnsEveryStatus(t *testing.T) {
	tests := []struct {
		verdict verdict
		status  proto.Status
	}{
		{answerOK, proto.StatusOK}, {answerUserException, proto.StatusUserException},
		{answerObjectNotExist, proto.StatusObjectNotExist}, {answerUnknown, proto.StatusUnknownException},
	}
	s := newServer(t)
	c := newClient(t, Config{})
	for _, test := range tests {
		s.set(always(test.verdict))
		r, err := c.ping(t.Context(), s.endpoint())
		if err != nil || r.Status != test.status {
			t.Errorf("got %v, %v, want %v", r.Status, err, test.status)
		}
	}
}

func TestCallIsRepeatedOnlyWhenSurelyNotExecuted(t *testing.T) {
	tests := []struct {
		verdict  verdict
		doubtful bool
	}{{closeGracefully, false}, {die, true}}
	for _, test := range tests {
		s := newServer(t)
		s.set(once("ice_ping", test.verdict))
		_, err := newClient(t, Config{}).ping(t.Context(), s.endpoint())
		if got := errors.Is(err, ErrDoubtful); got != test.doubtful || !test.doubtful && err != nil {
			t.Errorf("verdict %v: got error %v", test.verdict, err)
		}
		if got := len(s.executed()); got != 1 {
			t.Errorf("verdict %v: executed %d times, want once", test.verdict, got)
		}
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	s := newServer(t)
	s.set(always(answerNothing))
	c := newClient(t, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.ping(ctx, s.endpoint()); !errors.Is(err, ErrDoubtful) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a doubtful end by the deadline", err)
	}
	s.release()
	s.set(always(answerOK))
	if _, err := c.ping(t.Context(), s.endpoint()); err != nil {
		t.Errorf("the connection is of no use afterwards: %v", err)
	}
}

func TestProbe(t *testing.T) {
	alive, dead, mute := newServer(t), newServer(t), newServer(t)
	alive.set(always(answerObjectNotExist))
	dead.stop()
	mute.set(func(s *server) { s.mute = true })
	c := newClient(t, Config{ConnectTimeout: 20 * time.Millisecond})
	tests := []struct {
		name  string
		proxy proto.Proxy
		want  bool
	}{
		{"answers", proxyTo(proto.Twoway, alive.endpoint()), true},
		{"oneway", proxyTo(proto.Oneway, alive.endpoint()), true},
		{"refused", proxyTo(proto.Oneway, dead.endpoint()), false},
		{"stopped", proxyTo(proto.Oneway, mute.endpoint()), false},
		{"datagram", proxyTo(proto.Datagram), true},
		{"nowhere", proxyTo(proto.Oneway), false},
	}
	for _, test := range tests {
		if got := c.Probe(t.Context(), proto.AppendProxy(nil, &test.proxy, proto.Encoding11)); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestSecureProxiesUseOnlySSL(t *testing.T) {
	s := newServer(t)
	p := proxyTo(proto.Twoway, s.endpoint())
	p.Secure = true
	if _, err := newClient(t, Config{}).Call(t.Context(), &p, "x", 0, nil, nil); !errors.Is(err, ErrNoEndpoint) {
		t.Errorf("got %v, want %v", err, ErrNoEndpoint)
	}
}

// locate makes a server a locator that knows one adapter and one object.
func locate(s *server, at *proto.Endpoint) {
	s.result = func(r *proto.Request) []byte {
		p := proxyTo(proto.Twoway, *at)
		if string(r.Operation) == "findObjectById" {
			p.Endpoints, p.AdapterID = nil, "adapter"
		}
		b, start := proto.BeginEncapsulation(nil, proto.Encoding11)
		return proto.EndEncapsulation(proto.AppendProxy(b, &p, proto.Encoding11), start)
	}
}

func TestIndirectSubscribers(t *testing.T) {
	for _, adapter := range []string{"adapter", ""} {
		t.Run(fmt.Sprintf("adapter %q", adapter), func(t *testing.T) {
			s, l := newServer(t), newServer(t)
			at := s.endpoint()
			l.set(func(s *server) { locate(s, &at) })
			st := newStand(t, Config{Locator: proxyTo(proto.Twoway, l.endpoint())}, delivery.Config{})
			p := proxyTo(proto.Oneway)
			p.AdapterID = adapter
			st.group.subscribe("s", p, retry("-1"))
			st.publish("a")
			eventually(t, "it arrives", func() bool { return len(s.executed()) == 1 })
			s.stop()
			moved := newServer(t)
			l.set(func(*server) { at = moved.endpoint() })
			eventually(t, "events arrive at the new address", func() bool { st.publish("b"); return len(moved.executed()) > 0 })
		})
	}
}

// What a locator said is kept for so many proxies; with one more all is forgotten, and asked for again.
func TestLocatedAddressesAreBounded(t *testing.T) {
	s, l := newServer(t), newServer(t)
	at, asked := s.endpoint(), 0
	l.set(func(s *server) {
		locate(s, &at)
		answer := s.result
		s.result = func(r *proto.Request) []byte { asked++; return answer(r) }
	})
	c := newClient(t, Config{Locator: proxyTo(proto.Twoway, l.endpoint())})
	p := proxyTo(proto.Twoway)
	p.AdapterID = "adapter"
	find := func(want int) {
		t.Helper()
		got, err := c.locator.addresses(t.Context(), &p, -1)
		if err != nil || len(got) != 1 {
			t.Errorf("got %v, %v", got, err)
		}
		l.set(func(*server) {
			if asked != want {
				t.Errorf("the locator was asked %d times, want %d", asked, want)
			}
		})
	}
	find(1)
	for i := range 10_000 - 1 {
		c.locator.remember(fmt.Sprint("other", i), []proto.Endpoint{at})
	}
	find(1)
	c.locator.remember("one more", []proto.Endpoint{at})
	find(2)
	if got := len(c.locator.known); got != 2 {
		t.Errorf("%d are known after all were forgotten", got)
	}
}

func TestUnregisteredSubscriberIsRemoved(t *testing.T) {
	l := newServer(t)
	l.set(always(answerUserException))
	st := newStand(t, Config{Locator: proxyTo(proto.Twoway, l.endpoint())}, delivery.Config{})
	p := proxyTo(proto.Oneway)
	p.AdapterID = "adapter"
	st.group.subscribe("s", p, retry("-1"))
	st.publish("a")
	eventually(t, "it is removed", func() bool { return !st.group.subscribed("s") })
}

func TestNoLocator(t *testing.T) {
	st := newStand(t, Config{}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.Oneway), retry("0"))
	st.publish("a")
	eventually(t, "it is removed", func() bool { return !st.group.subscribed("s") })
}

func TestUncachedConnectionsUseAllEndpoints(t *testing.T) {
	first, second := newServer(t), newServer(t)
	st := newStand(t, Config{}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.Oneway, first.endpoint(), second.endpoint()), topics.Setting{Key: "connectionCached", Value: "0"})
	eventually(t, "both were used", func() bool {
		st.publish("a")
		return len(first.executed()) > 0 && len(second.executed()) > 0
	})
}

func TestHeartbeatsOnAQuietConnection(t *testing.T) {
	s := newServer(t)
	s.set(always(answerNothing))
	c := newClient(t, Config{IdleTimeout: 40 * time.Millisecond})
	beats := 0
	s.set(func(s *server) { s.beat = func() { beats++ } })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := c.ping(ctx, s.endpoint()); done <- err }()
	eventually(t, "heartbeats come", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return beats > 1 })
	s.release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
