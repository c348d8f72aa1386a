package ice

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
)

// fakeGroup is a group of one node on a real state, without raft. With ahead
// set it is a node whose local copy lags behind: Read catches up.
type fakeGroup struct {
	*fsm.State

	mu     sync.Mutex
	index  uint64
	refuse error    // what Propose and Read answer instead
	ahead  []fsm.Op // committed elsewhere, not here yet
	reads  int
	froms  []string
}

func newGroup(t testing.TB, instance string, ops ...fsm.Op) *fakeGroup {
	t.Helper()
	g := &fakeGroup{State: fsm.New(fsm.Config{})}
	g.must(t, append([]fsm.Op{fsm.Init{ClusterID: "c", Instance: instance, Version: 1}}, ops...)...)
	return g
}

func (g *fakeGroup) must(t testing.TB, ops ...fsm.Op) {
	t.Helper()
	for _, op := range ops {
		if _, err := g.apply(op); err != nil {
			t.Fatalf("%T: %v", op, err)
		}
	}
}

func (g *fakeGroup) apply(op fsm.Op) (fsm.Result, error) {
	data, err := fsm.Command{Op: op}.Encode()
	if err != nil {
		return fsm.Result{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.index++
	result := g.Apply(&raft.Log{Index: g.index, Type: raft.LogCommand, Data: data}).(fsm.Result)
	return result, result.Err()
}

func (g *fakeGroup) servers(ids ...string) {
	var c raft.Configuration
	for _, id := range ids {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.index++
	g.StoreConfiguration(g.index, c)
}

func (g *fakeGroup) Propose(_ context.Context, op fsm.Op, from string) (fsm.Result, error) {
	g.mu.Lock()
	refuse := g.refuse
	g.froms = append(g.froms, from)
	g.mu.Unlock()
	if refuse != nil {
		return fsm.Result{}, refuse
	}
	return g.apply(op)
}

func (g *fakeGroup) Read(context.Context) (*fsm.View, error) {
	g.mu.Lock()
	g.reads++
	refuse, ahead := g.refuse, g.ahead
	g.ahead = nil
	g.mu.Unlock()
	if refuse != nil {
		return nil, refuse
	}
	for _, op := range ahead {
		if _, err := g.apply(op); err != nil {
			return nil, err
		}
	}
	return g.View(), nil
}

func (g *fakeGroup) setRefuse(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse = err
}

// fakeHub records the events it is given.
type fakeHub struct {
	group *fakeGroup

	mu     sync.Mutex
	events []hubEvent
	news   chan struct{} // gets one at each event, if there is room
}

type hubEvent struct {
	topic, how, op string // how: publish, deliver, or the subscriber's identity
	cost           int32
	params         string
}

type fakeTopic struct {
	hub *fakeHub
	id  topics.ID
}

func (h *fakeHub) Topic(name string) Topic {
	t := h.group.View().Graph.Topic(name)
	if t == nil {
		return nil
	}
	return fakeTopic{h, t.ID}
}

func (t fakeTopic) ID() topics.ID                                 { return t.id }
func (t fakeTopic) Alive() bool                                   { return t.hub.group.View().Graph.ByID(t.id) != nil }
func (t fakeTopic) Publish(ev *delivery.Event, _ *delivery.Burst) { t.record("publish", ev) }
func (t fakeTopic) Deliver(ev *delivery.Event, _ *delivery.Burst) { t.record("deliver", ev) }
func (t fakeTopic) PublishTo(id topics.Identity, ev *delivery.Event, _ *delivery.Burst) bool {
	topic := t.hub.group.View().Graph.ByID(t.id)
	if topic == nil || topic.Subscription(id) == nil {
		return false
	}
	t.record(id.Category+"/"+id.Name, ev)
	return true
}

func (t fakeTopic) record(how string, ev *delivery.Event) {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	name := t.hub.group.View().Graph.ByID(t.id).Name
	t.hub.events = append(t.hub.events, hubEvent{name, how, string(ev.Parts().Operation), ev.Cost, string(ev.Parts().Encaps)})
	select {
	case t.hub.news <- struct{}{}:
	default:
	}
}

// wait returns the events once there are n of them, or those after 3 s.
func (h *fakeHub) wait(n int) []hubEvent {
	timeout := time.After(3 * time.Second)
	for {
		if events := h.list(); len(events) >= n {
			return events
		}
		select {
		case <-h.news:
		case <-timeout:
			return h.list()
		}
	}
}

func (h *fakeHub) list() []hubEvent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]hubEvent(nil), h.events...)
}

var errNoQuorum = errors.New("no quorum: 1 of 3 voters reachable, n2 and n3 are not")
