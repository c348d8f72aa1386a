package ice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"

	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

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
