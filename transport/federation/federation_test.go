package federation_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"floe/fsm"
	"floe/topics"
	"floe/transport/federation"
)

// world is a network of clusters: an address leads to a node's answers.
type world struct {
	answers map[string]map[string]func(context.Context, string, []byte) ([]byte, error)
}

// member is one cluster of one node, without Raft.
type member struct {
	*fsm.State
	*federation.Federation
	world *world
	index uint64
	cut   bool
}

func (m *member) Read(context.Context) (*fsm.View, error) {
	if m.cut {
		return nil, errors.New("no quorum")
	}
	return m.View(), nil
}

func (m *member) Ask(ctx context.Context, addr, method string, body []byte) ([]byte, error) {
	answer := m.world.answers[addr][method]
	if answer == nil {
		return nil, errors.New("connection refused")
	}
	return answer(ctx, "", body)
}

func (m *member) do(t *testing.T, op fsm.Op) fsm.Result {
	t.Helper()
	b, err := fsm.Command{Op: op}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	m.index++
	r := m.Apply(&raft.Log{Index: m.index, Data: b}).(fsm.Result)
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return r
}

// move makes the node answer at an address, and nowhere else.
func (m *member) move(t *testing.T, addr string) {
	for old, answers := range m.world.answers {
		if answers["owner:"+m.View().ClusterID] != nil {
			delete(m.world.answers, old)
		}
	}
	answers := map[string]func(context.Context, string, []byte) ([]byte, error){}
	answers["owner:"+m.View().ClusterID] = func(context.Context, string, []byte) ([]byte, error) { return nil, nil }
	m.Register(func(method string, f func(context.Context, string, []byte) ([]byte, error)) { answers[method] = f })
	m.world.answers[addr] = answers
	m.do(t, fsm.SetMember{Member: fsm.Member{ID: "n1", Addresses: map[string][]string{"peer": {addr}}}})
}

func (w *world) cluster(t *testing.T, id, addr string) *member {
	m := &member{State: fsm.New(fsm.Config{}), world: w}
	m.Federation = federation.New(federation.Config{Group: m, LinkProxy: func(t *topics.Topic) []byte { return []byte("link of " + t.Name) }})
	m.do(t, fsm.Init{ClusterID: id, Instance: "IceStorm", Version: 1})
	m.move(t, addr)
	return m
}

func newWorld() *world {
	return &world{answers: map[string]map[string]func(context.Context, string, []byte) ([]byte, error){}}
}

func TestLinkIsFoundAgainAfterTheOtherClusterMoved(t *testing.T) {
	ctx := t.Context()
	w := newWorld()
	west, east := w.cluster(t, "west-id", "w:1"), w.cluster(t, "east-id", "e:1")
	east.do(t, fsm.CreateTopic{Name: "b"})
	peer, err := west.Discover(ctx, "east", []string{"dead:1", "e:1"})
	if err != nil || peer.ID != "east-id" || !slices.Equal(peer.Addresses, []string{"dead:1", "e:1"}) {
		t.Fatalf("discover: %+v, %v", peer, err)
	}
	west.do(t, fsm.SetCluster{Cluster: peer})
	remote, err := west.Topic(ctx, "east", "b")
	want := topics.Remote{Identity: topics.Identity{Name: "topic.b", Category: "east"}, Cluster: "east-id", Topic: east.View().Graph.Topic("b").ID}
	if err != nil || remote.Identity != want.Identity || remote.Cluster != want.Cluster || remote.Topic != want.Topic {
		t.Fatalf("topic: %+v, %v, want %+v", remote, err, want)
	}
	proxy := func() string {
		p, err := west.LinkProxy(ctx, remote.Cluster, remote.Topic)
		if err != nil {
			return err.Error()
		}
		return string(p)
	}
	if got := proxy(); got != "link of b" {
		t.Errorf("proxy: %s", got)
	}
	east.move(t, "e:2")
	if _, err := west.LinkProxy(ctx, remote.Cluster, remote.Topic); !errors.Is(err, federation.ErrUnreachable) {
		t.Errorf("all nodes moved at once: %v", err)
	}
	peer.Addresses = []string{"e:2"}
	west.do(t, fsm.SetCluster{Cluster: peer})
	if got := proxy(); got != "link of b" {
		t.Errorf("proxy after the move: %s", got)
	}
}

func TestRefusals(t *testing.T) {
	ctx := t.Context()
	w := newWorld()
	west, east := w.cluster(t, "west-id", "w:1"), w.cluster(t, "east-id", "e:1")
	if _, err := west.Topic(ctx, "east", "b"); !errors.Is(err, fsm.ErrNoCluster) {
		t.Errorf("unknown cluster: %v", err)
	}
	west.do(t, fsm.SetCluster{Cluster: fsm.Peer{Name: "east", ID: "east-id", Addresses: []string{"e:1"}}})
	if _, err := west.Topic(ctx, "east", "b"); !errors.Is(err, federation.ErrNoTopic) {
		t.Errorf("unknown topic: %v", err)
	}
	east.cut = true
	if _, err := west.Topic(ctx, "east", "b"); !errors.Is(err, federation.ErrUnreachable) {
		t.Errorf("a node without quorum must not say no: %v", err)
	}
	w.answers["e:1"] = w.answers["w:1"]
	if _, err := west.Topic(ctx, "east", "b"); !errors.Is(err, federation.ErrOtherCluster) {
		t.Errorf("another cluster at the address: %v", err)
	}
	if _, err := west.Discover(ctx, "north", []string{"dead:1"}); !errors.Is(err, federation.ErrUnreachable) {
		t.Errorf("discover: %v", err)
	}
	if _, err := west.LinkProxy(ctx, "no-id", 1); !errors.Is(err, fsm.ErrNoCluster) {
		t.Errorf("link to an unknown cluster id: %v", err)
	}
}
