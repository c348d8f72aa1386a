package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// topicServer makes a server answer as a linked topic does. It notes the
// events forwarded in order.
type topicServer struct {
	*server
	dedupe    *Dedupe
	mu        sync.Mutex
	forwarded []string
	repeats   int
}

func asTopic(s *server) *topicServer {
	ts := &topicServer{server: s, dedupe: NewDedupe(0)}
	s.set(func(s *server) { s.result = ts.answer })
	return ts
}

func (ts *topicServer) answer(r *proto.Request) []byte {
	if string(r.Operation) != "getLinkProxy" {
		return proto.AppendEmptyEncapsulation(nil, proto.Encoding11)
	}
	p := proto.NewProxy(proto.Identity{Name: "b.link", Category: "IceStorm"}, ts.endpoint())
	b, at := proto.BeginEncapsulation(nil, proto.Encoding11)
	return proto.EndEncapsulation(proto.AppendProxy(b, &p, proto.Encoding11), at)
}

// events returns what the executed forwards hold, repeats apart.
func (ts *topicServer) events() []string {
	ts.server.mu.Lock()
	requests := ts.requests
	ts.requests = nil
	ts.server.mu.Unlock()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, r := range requests {
		if string(r.Operation) != "forward" {
			continue
		}
		if ts.dedupe.Repeated(r.Context) {
			ts.repeats++
			continue
		}
		proto.ForEachEvent(r.Encaps, func(e proto.Event) { ts.forwarded = append(ts.forwarded, string(e.Operation)) })
	}
	return slices.Clone(ts.forwarded)
}

func remoteTopic(s *server) topics.Remote {
	id := proto.Identity{Name: "topic.b", Category: "IceStorm"}
	p := proto.NewProxy(id, s.endpoint())
	return topics.Remote{Identity: topics.Identity(id), Proxy: proto.AppendProxy(nil, &p, proto.Encoding11)}
}

func TestLinkForwardsAllInOrder(t *testing.T) {
	s := asTopic(newServer(t))
	st := newStand(t, Config{}, delivery.Config{})
	st.group.linkTo(remoteTopic(s.server))
	st.publish(names(5000)...)
	eventually(t, "5000 arrive", func() bool { return len(s.events()) == 5000 })
	if diff := cmp.Diff(s.events(), names(5000)); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	s.set(func(s *server) {
		if s.peak != 1 {
			t.Errorf("got %d unanswered at most, want 1", s.peak)
		}
	})
}

func TestLinkMessagesAreBounded(t *testing.T) {
	s := asTopic(newServer(t))
	s.set(always(answerNothing))
	st := newStand(t, Config{}, delivery.Config{})
	st.group.linkTo(remoteTopic(s.server))
	encaps, at := proto.BeginEncapsulation(nil, proto.Encoding11)
	encaps = proto.EndEncapsulation(proto.AppendString(encaps, make([]byte, 4<<10)), at)
	ev, _ := delivery.NewEvent(proto.AppendTail(nil, "big", 0, nil, encaps))
	for range 2000 {
		st.Topic("a").Publish(ev, nil)
	}
	eventually(t, "all arrive", func() bool { s.release(); return len(s.events()) == 2000 })
	s.set(func(s *server) {
		for _, m := range s.raw {
			if len(m) > 256<<10 {
				t.Errorf("a message of %d bytes", len(m))
			}
		}
	})
}

func TestLinkToIceStormIsAtMostOnce(t *testing.T) {
	s := asTopic(newServer(t))
	s.set(once("forward", die))
	st := newStand(t, Config{}, delivery.Config{})
	st.group.linkTo(remoteTopic(s.server))
	st.publish("a")
	eventually(t, "the first is in doubt", func() bool { return st.receiver().Dropped[delivery.Doubtful] == 1 })
	st.publish("b")
	eventually(t, "the second arrives", func() bool { return slices.Contains(s.events(), "b") })
	if diff := cmp.Diff(s.events(), []string{"a", "b"}); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

func TestLinkSurvivesARestartAtTheSamePort(t *testing.T) {
	s := asTopic(newServer(t))
	address := s.address()
	st := newStand(t, Config{}, delivery.Config{})
	st.group.linkTo(remoteTopic(s.server))
	st.publish("a")
	eventually(t, "it arrives", func() bool { return st.receiver().Delivered == 1 })
	s.stop()
	st.publish("b", "c")
	eventually(t, "it is marked down", func() bool {
		r := st.receiver()
		return r.State == "retrying" && r.LastError != "" && len(st.Problems()) == 1
	})
	s = asTopic(serverAt(t, address))
	eventually(t, "all arrive", func() bool { return st.receiver().Queued == 0 })
	// Nothing else may be lost than what was under way.
	if got := len(s.events()) + int(st.receiver().Dropped[delivery.Doubtful]); got != 2 {
		t.Errorf("got %d of 2 events", got)
	}
	if len(st.group.View().Graph.Topic("a").Links) != 1 {
		t.Error("the link was removed")
	}
}

func TestLinkToAVanishedTopicIsRemoved(t *testing.T) {
	s := asTopic(newServer(t))
	s.set(always(answerObjectNotExist))
	st := newStand(t, Config{}, delivery.Config{})
	st.group.linkTo(remoteTopic(s.server))
	st.publish("a")
	eventually(t, "the link is removed", func() bool { return len(st.group.View().Graph.Topic("a").Links) == 0 })
}

func TestLinkProxyIsAskedForAgain(t *testing.T) {
	s := asTopic(newServer(t))
	s.set(once("forward", answerObjectNotExist))
	st := newStand(t, Config{}, delivery.Config{})
	st.group.linkTo(remoteTopic(s.server))
	st.publish("a")
	eventually(t, "it is delivered", func() bool { return st.receiver().Delivered == 1 })
	asked := 0
	for _, operation := range s.executed() {
		asked += strings.Count(operation, "getLinkProxy")
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}

// clusters knows the nodes of another floe cluster.
type clusters struct {
	mu    sync.Mutex
	nodes []proto.Endpoint
	err   error
	asked int
}

func (c *clusters) LinkProxy(_ context.Context, _ string, _ topics.ID) (proto.Proxy, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return proto.NewProxy(proto.Identity{Name: "b.link", Category: "IceStorm"}, c.nodes...), c.err
}

func (c *clusters) set(err error, nodes ...proto.Endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes, c.err = nodes, err
}

var otherCluster = topics.Remote{Identity: topics.Identity{Name: "topic.b", Category: "Other"}, Cluster: "1234", Topic: 7}

func TestLinkToAnotherClusterIsExactlyOnce(t *testing.T) {
	s := asTopic(newServer(t))
	known := &clusters{nodes: []proto.Endpoint{s.endpoint()}}
	st := newStand(t, Config{Clusters: known, Origin: "n1"}, delivery.Config{FirstDelay: time.Millisecond, MaxDelay: time.Millisecond})
	st.group.linkTo(otherCluster)
	const n = 3000
	n2 := 0
	s.set(func(s *server) {
		s.judge = func(*proto.Request) verdict {
			if n2++; n2%5 == 3 {
				return die
			}
			return answerOK
		}
	})
	var all []string
	for i, name := range names(n) {
		all = append(all, name)
		st.publish(name)
		if i%100 == 0 {
			eventually(t, "it goes on", func() bool { return len(s.events()) > i-200 })
		}
	}
	eventually(t, "all arrive", func() bool { return len(s.events()) >= n })
	eventually(t, "all are counted", func() bool { return st.receiver().Delivered == n })
	if diff := cmp.Diff(s.events(), all); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	if s.repeats == 0 {
		t.Error("nothing was repeated: the test shows nothing")
	}
}

func TestLinkToAnotherClusterFollowsItsAddresses(t *testing.T) {
	s := asTopic(newServer(t))
	known := &clusters{nodes: []proto.Endpoint{s.endpoint()}}
	st := newStand(t, Config{Clusters: known}, delivery.Config{})
	st.group.linkTo(otherCluster)
	st.publish("a")
	eventually(t, "it is delivered", func() bool { return st.receiver().Delivered == 1 })
	s.stop()
	moved := asTopic(newServer(t))
	known.set(nil, moved.endpoint())
	st.publish("b")
	eventually(t, "it arrives at the new address", func() bool { return slices.Contains(moved.events(), "b") })
	known.set(errors.Join(ErrGone))
	moved.stop()
	st.publish("c")
	eventually(t, "the link is removed", func() bool { return len(st.group.View().Graph.Topic("a").Links) == 0 })
}

func TestDedupe(t *testing.T) {
	d := NewDedupe(2)
	steps := []struct {
		origin string
		seq    uint64
		want   bool
	}{
		{"a", 1, false}, {"a", 1, true}, {"a", 3, false}, {"a", 2, false}, {"a", 2, true}, {"a", 3, true},
		{"b", 1, false}, {"a", 100, false}, {"a", 3, true}, {"a", 99, false}, {"a", 99, true}, {"a", 100, true},
		{"c", 1, false}, {"a", 100, true}, {"b", 1, false}, // b was forgotten for c
		{"a", 1 << 63, false}, {"a", 1 << 63, true}, {"a", 1<<63 - 63, false}, {"a", 1<<63 - 64, true},
	}
	for i, step := range steps {
		if got := d.Seen(step.origin, step.seq); got != step.want {
			t.Errorf("step %d: Seen(%q, %d): got %v, want %v", i, step.origin, step.seq, got, step.want)
		}
	}
	for range 2 {
		if d.Repeated(nil) {
			t.Error("a forward without origin is a repeat")
		}
	}
	if context := repeatContext("n/1", 5); d.Repeated(context) || !d.Repeated(context) {
		t.Error("a repeat was not known by its context")
	}
}
