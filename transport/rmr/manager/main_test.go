package manager

import (
	"context"
	"errors"
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
	"floe/scripts/rmrapp"
)

// TestMain leaves out what the libraries leave behind where a node ends in the middle of
// handing its leadership over, or of a probe.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/hashicorp/raft.(*Raft).leaderLoop.func2"),
		goleak.IgnoreTopFunction("github.com/hashicorp/raft.(*Raft).leadershipTransfer"),
		goleak.IgnoreTopFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"),
	)
}

const patience = 30 * time.Second

// group is a cluster of one node without Raft.
type group struct {
	*fsm.State
	mu      sync.Mutex
	methods map[string]func(context.Context, string, []byte) ([]byte, error)
	cut     bool   // there is no quorum
	skip    uint64 // so many entries of others come before the next
	leads   chan struct{}
	ops     map[string]int // by type
}

func newGroup(t testing.TB) *group {
	g := &group{State: fsm.New(fsm.Config{}), methods: map[string]func(context.Context, string, []byte) ([]byte, error){}, leads: make(chan struct{}), ops: map[string]int{}}
	g.must(t, fsm.Init{ClusterID: "11111111-0000-0000-0000-000000000000", Instance: "IceStorm", Version: fsm.ProgramVersion})
	g.StoreConfiguration(g.View().Index+1, raft.Configuration{Servers: []raft.Server{{ID: "n1"}}})
	return g
}

var errCut = errors.New("no quorum")

func (g *group) ID() string                     { return "n1" }
func (g *group) IsLeader() bool                 { return !g.isCut() }
func (g *group) LeaderChanged() <-chan struct{} { return g.leads }

func (g *group) LeaderID() string {
	if g.isCut() {
		return ""
	}
	return "n1"
}

func (g *group) isCut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cut
}

func (g *group) setCut(cut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut = cut
}

func (g *group) Read(context.Context) (*fsm.View, error) {
	if g.isCut() {
		return nil, errCut
	}
	return g.View(), nil
}

func (g *group) Propose(_ context.Context, op fsm.Op, _ string) (fsm.Result, error) {
	if g.isCut() {
		return fsm.Result{}, errCut
	}
	return g.apply(op)
}

// apply applies an op as if it came from elsewhere.
func (g *group) apply(op fsm.Op) (fsm.Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ops[fmt.Sprintf("%T", op)]++
	b, err := fsm.Command{Op: op}.Encode()
	if err != nil {
		return fsm.Result{}, err
	}
	index := g.View().Index + 1 + g.skip
	g.skip = 0
	r, ok := g.Apply(&raft.Log{Index: index, Data: b}).(fsm.Result)
	if !ok {
		return fsm.Result{}, errors.New("halted")
	}
	return r, r.Err()
}

// others has entries of others come before the next.
func (g *group) others(n uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.skip = n
}

func (g *group) must(t testing.TB, ops ...fsm.Op) {
	t.Helper()
	for _, op := range ops {
		if _, err := g.apply(op); err != nil {
			t.Fatal(err)
		}
	}
}

func (g *group) proposed(op fsm.Op) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ops[fmt.Sprintf("%T", op)]
}

func (g *group) Handle(name string, h func(context.Context, string, []byte) ([]byte, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.methods[name] = h
}

func (g *group) Call(ctx context.Context, node, name string, body []byte) ([]byte, error) {
	g.mu.Lock()
	h := g.methods[name]
	g.mu.Unlock()
	if node != "n1" || h == nil {
		return nil, errCut
	}
	return h(ctx, "n1", body)
}

// load changes the routes by a text.
func (g *group) load(t testing.TB, lines ...string) {
	t.Helper()
	g.must(t, change(t, lines...))
}

// change is a full table with the map records given, or an update if the first line
// opens one.
func change(t testing.TB, lines ...string) fsm.ChangeRoutes {
	t.Helper()
	text := strings.Join(lines, "\n") + "\n"
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "updatert") {
		text = "newrt|start\n" + strings.TrimPrefix(text, "\n") + "newrt|end\n"
	} else {
		text += "updatert|end\n"
	}
	p := routing.Parse(text, routing.Options{})
	if err := p.Err(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return fsm.ChangeRoutes{Blocks: fsm.RouteBlocks(p.Update)}
}

// member makes a node known, with its listeners.
func member(id string, listeners map[string][]string) fsm.SetMember {
	return fsm.SetMember{Member: fsm.Member{ID: id, Incarnation: 1, Addresses: listeners, Supports: fsm.ProgramVersion}}
}

// served is a manager at work on a free port.
type served struct {
	*Manager
	address string
	stopRun context.CancelFunc
	ran     chan struct{}
}

func serve(t testing.TB, g Group, change ...func(*Config)) *served {
	t.Helper()
	return serveOn(t, g, "127.0.0.1:0", change...)
}

func serveOn(t testing.TB, g Group, address string, change ...func(*Config)) *served {
	t.Helper()
	cfg := Config{Group: g, Lease: 500 * time.Millisecond}
	for _, f := range change {
		f(&cfg)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{Manager: New(cfg), address: l.Addr().String(), stopRun: cancel, ran: make(chan struct{})}
	go func() { defer close(s.ran); s.Run(ctx) }()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		s.halt()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// halt ends it without a word to the leader.
func (s *served) halt() {
	s.stopRun()
	<-s.ran
	s.stop()
}

func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// start starts a simulated app that asks at an address.
func start(t testing.TB, manager string, change ...func(*rmrapp.Config)) *rmrapp.App {
	t.Helper()
	cfg := rmrapp.Config{RouteManager: manager, Every: 200 * time.Millisecond}
	for _, f := range change {
		f(&cfg)
	}
	a, err := rmrapp.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func wait(t testing.TB, a *rmrapp.App, what string, ok func(*rmrapp.App) bool) {
	t.Helper()
	if err := a.Wait(soon(t), what, ok); err != nil {
		t.Fatal(err)
	}
}

// routed waits until messages of a type go to that endpoint; "" for nowhere.
func routed(t testing.TB, a *rmrapp.App, mtype int32, endpoint string) {
	t.Helper()
	wait(t, a, fmt.Sprintf("sends %d to %q", mtype, endpoint), func(a *rmrapp.App) bool { return goes(a, mtype) == endpoint })
}

func goes(a *rmrapp.App, mtype int32) string {
	var groups []string
	for _, g := range a.Lookup(mtype, -1, "") {
		groups = append(groups, strings.Join(g, ","))
	}
	return strings.Join(groups, ";")
}

func noFaults(t testing.TB, apps ...*rmrapp.App) {
	t.Helper()
	if err := rmrapp.Fleet(apps).Faults(); err != nil {
		t.Error(err)
	}
}

// eventually polls until ok or fails the test.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(patience)
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

// kindOf returns how the newest table was begun.
func kindOf(a *rmrapp.App) routing.Kind {
	e, _ := a.Last()
	return e.Kind
}
