package relay_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"

	"floe/fsm"
	"floe/routing"
	"floe/transport/rmr"
	"floe/transport/rmr/proto"
	"floe/transport/rmr/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group is a state without Raft.
type group struct {
	*fsm.State
	t     testing.TB
	mu    sync.Mutex
	index uint64
}

func newGroup(t testing.TB) *group {
	g := &group{State: fsm.New(fsm.Config{}), t: t}
	g.apply(fsm.Init{ClusterID: "11111111-0000-0000-0000-000000000000", Instance: "IceStorm", Version: 3})
	return g
}

func (g *group) apply(op fsm.Op) {
	g.t.Helper()
	b, err := fsm.Command{Op: op}.Encode()
	if err != nil {
		g.t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.index++
	r, ok := g.Apply(&raft.Log{Index: g.index, Data: b}).(fsm.Result)
	if !ok || r.Err() != nil {
		g.t.Fatalf("%T: %v", op, r.Err())
	}
}

// load replaces the table by records, one a line, without their start and end.
func (g *group) load(records ...string) {
	g.t.Helper()
	g.apply(fsm.ChangeRoutes{Blocks: blocks(g.t, records...)})
}

func blocks(t testing.TB, records ...string) []fsm.RouteBlock {
	t.Helper()
	return parsed(t, "newrt", records)
}

func parsed(t testing.TB, word string, records []string) []fsm.RouteBlock {
	t.Helper()
	p := routing.Parse(word+" | start\n"+strings.Join(records, "\n")+"\n"+word+" | end\n", routing.Options{})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return fsm.RouteBlocks(p.Update)
}

// node is a relay with both listeners.
type node struct {
	*relay.Relay
	group          *group
	topics         *topics
	rmr, rmrTopics string
}

func start(t testing.TB, cfg relay.Config) *node {
	t.Helper()
	n := &node{group: newGroup(t), topics: newTopics()}
	messages, topics := listen(t), listen(t)
	n.rmr, n.rmrTopics = messages.Addr().String(), topics.Addr().String()
	cfg.Group, cfg.Publish, cfg.Source = n.group, n.topics.publish, n.rmr
	n.Relay = relay.New(cfg)
	var wg sync.WaitGroup
	wg.Go(func() { report(t, n.Serve(messages)) })
	wg.Go(func() { report(t, n.ServeTopics(topics)) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = n.Shutdown(ctx)
		wg.Wait()
	})
	return n
}

func report(t testing.TB, err error) {
	if err != nil {
		t.Error(err)
	}
}

// load loads a table and waits until the relay goes by it.
func (n *node) load(t testing.TB, records ...string) {
	t.Helper()
	n.group.load(records...)
	n.current(t)
}

func (n *node) current(t testing.TB) {
	t.Helper()
	want := n.group.View().TableVersion()
	eventually(t, "the relay goes by the latest table", func() bool { return n.Stats().Version == want })
}

// topics keeps what was published.
type topics struct {
	mu  sync.Mutex
	got map[string][]proto.Message
	all int
}

func newTopics() *topics { return &topics{got: map[string][]proto.Message{}} }

func (p *topics) publish(topic string, m *proto.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got[topic] = append(p.got[topic], m.Clone())
	p.all++
}

func (p *topics) count(topic string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.got[topic])
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// app returns an application that listens, and its endpoint.
func app(t testing.TB) (*rmr.App, string) {
	t.Helper()
	l := listen(t)
	return appOn(t, rmr.Config{Listener: l}), l.Addr().String()
}

func appOn(t testing.TB, cfg rmr.Config) *rmr.App {
	a := rmr.New(cfg)
	t.Cleanup(a.Close)
	return a
}

// freePort returns an endpoint where nobody listens.
func freePort(t testing.TB) string {
	l := listen(t)
	defer l.Close()
	return l.Addr().String()
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func receive(t testing.TB, a *rmr.App) *rmr.Received {
	t.Helper()
	r, err := a.Receive(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func send(t testing.TB, a *rmr.App, to string, m proto.Message) {
	t.Helper()
	if err := a.Send(within(t), to, m); err != nil {
		t.Fatal(err)
	}
}

func text(mtype int32, payload string) proto.Message {
	return proto.Message{Type: mtype, SubID: proto.NoSubID, Payload: []byte(payload)}
}

func frame(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Append(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func dial(t testing.TB, endpoint string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

func write(t testing.TB, nc net.Conn, b []byte) {
	t.Helper()
	if _, err := nc.Write(b); err != nil {
		t.Fatal(err)
	}
}

// eventually polls until ok or fails the test after twenty seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		case <-tick.C:
		}
	}
}

// balanced fails the test unless the figures add up.
func balanced(t testing.TB, s relay.Stats) {
	t.Helper()
	check := func(what string, c relay.Counts) {
		if c.Offered != c.Delivered+c.Lost()+c.Queued {
			t.Errorf("%s: %+v does not add up", what, c)
		}
	}
	check("total", s.Total)
	for _, e := range s.Endpoints {
		check(e.Name, e.Counts)
	}
}

// loadMEIDs gives MEIDs to owners in turn, and has type 1000 go by MEID.
func (n *node) loadMEIDs(t testing.TB, owners []string, meids int) {
	t.Helper()
	n.group.load("mse | 1000 | -1 | %meid")
	var records []string
	for from := 0; from < meids; from += routing.MaxRecordMEIDs {
		var r strings.Builder
		fmt.Fprintf(&r, "mme_ar | %s |", owners[from/routing.MaxRecordMEIDs%len(owners)])
		for i := from; i < min(from+routing.MaxRecordMEIDs, meids); i++ {
			fmt.Fprintf(&r, " gnb_001_001_%08d", i)
		}
		if records = append(records, r.String()); len(records) == 1000 {
			n.group.apply(fsm.ChangeRoutes{Blocks: parsed(t, "meid_map", records)})
			records = nil
		}
	}
	n.current(t)
}

// listener is the figures of the one that is not for topics alone.
func listener(n *node) relay.ListenerStats {
	for _, l := range n.Stats().Listeners {
		if !l.Topics {
			return l
		}
	}
	return relay.ListenerStats{}
}

// syncBuffer is what was logged.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
