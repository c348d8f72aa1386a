package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"

	"floe/fsm"
	"floe/routing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group is the cluster of a test: nodes that share one state.
type group struct {
	mu      sync.Mutex
	state   *fsm.State
	index   uint64
	probers map[string]*Prober
	cutOff  string // a node whose calls fail
}

func newGroup(t *testing.T, table string) *group {
	g := &group{state: fsm.New(fsm.Config{}), probers: map[string]*Prober{}}
	g.propose(t, fsm.Init{ClusterID: "c", Instance: "IceStorm", Version: fsm.ProgramVersion})
	g.load(t, table)
	return g
}

func (g *group) load(t *testing.T, table string) {
	t.Helper()
	p := routing.Parse("newrt|start\n"+table+"newrt|end\n", routing.Options{})
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	g.propose(t, fsm.ChangeRoutes{Blocks: fsm.RouteBlocks(p.Update)})
}

func (g *group) propose(t *testing.T, op fsm.Op) {
	t.Helper()
	if _, err := g.apply(op); err != nil {
		t.Fatal(err)
	}
}

func (g *group) apply(op fsm.Op) (fsm.Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b, err := fsm.Command{Op: op}.Encode()
	if err != nil {
		return fsm.Result{}, err
	}
	g.index++
	r := g.state.Apply(&raft.Log{Index: g.index, Term: 1, Type: raft.LogCommand, Data: b}).(fsm.Result)
	return r, r.Err()
}

// node is one node of a group; n1 leads.
type node struct {
	*group
	id string
}

func (n node) ID() string       { return n.id }
func (n node) View() *fsm.View  { return n.state.View() }
func (n node) IsLeader() bool   { return n.id == "n1" }
func (n node) LeaderID() string { return "n1" }
func (n node) Propose(_ context.Context, op fsm.Op, _ string) (fsm.Result, error) {
	return n.apply(op)
}
func (n node) Call(ctx context.Context, to, _ string, body []byte) ([]byte, error) {
	if n.cutOff == n.id {
		return nil, errors.New("cut off")
	}
	return n.probers[to].Handle(ctx, n.id, body)
}

// run has nodes look after members until the test ends.
func (g *group) run(t *testing.T, ids ...string) {
	g.make(ids...)
	g.start(t)
}

func (g *group) make(ids ...string) {
	for _, id := range ids {
		g.probers[id] = New(Config{Group: node{g, id}, Looks: true, Every: 50 * time.Millisecond, Timeout: 200 * time.Millisecond})
	}
}

func (g *group) start(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, p := range g.probers {
		running.Go(func() { _ = p.Run(ctx) })
	}
	t.Cleanup(func() { cancel(); running.Wait() })
}

func (g *group) dead() []string { return g.state.View().Distribution.Dead }

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("not within 30 s: " + what)
		}
	}
}

// member is a program that takes connections, as the library does: with a
// backlog of one.
type member struct {
	endpoint string
	l        net.Listener
}

func newMember(t *testing.T, at string) *member {
	t.Helper()
	backlog := net.ListenConfig{}
	l, err := backlog.Listen(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { _ = syscall.Listen(int(fd), 1) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &member{endpoint: l.Addr().String(), l: l}
}

// accept takes connections until the listener closes.
func (m *member) accept() {
	for {
		c, err := m.l.Accept()
		if err != nil {
			return
		}
		_ = c.Close()
	}
}

func TestDeadMemberIsWithdrawnAndComesBack(t *testing.T) {
	t.Parallel()
	a, b, c := newMember(t, "127.0.0.1:0"), newMember(t, "127.0.0.1:0"), newMember(t, "127.0.0.1:0")
	for _, m := range []*member{a, b, c} {
		go m.accept()
	}
	g := newGroup(t, fmt.Sprintf("mse|5|-1|%s,%s,%s\nmse|6|-1|%s\n", a.endpoint, b.endpoint, c.endpoint, a.endpoint))
	g.run(t, "n1", "n2", "n3")
	_ = b.l.Close()
	eventually(t, "the dead one withdrawn", func() bool { return slices.Equal(g.dead(), []string{b.endpoint}) })
	again := newMember(t, b.endpoint)
	go again.accept()
	eventually(t, "taken back", func() bool { return len(g.dead()) == 0 })
}

// A process that stands still takes no connection, but the kernel takes some
// for it.
func TestStoppedMemberIsWithdrawn(t *testing.T) {
	t.Parallel()
	a, b, stopped := newMember(t, "127.0.0.1:0"), newMember(t, "127.0.0.1:0"), newMember(t, "127.0.0.1:0")
	go a.accept()
	go b.accept()
	g := newGroup(t, fmt.Sprintf("mse|5|-1|%s,%s,%s\n", a.endpoint, b.endpoint, stopped.endpoint))
	g.run(t, "n1", "n2")
	eventually(t, "the stopped one withdrawn", func() bool { return slices.Equal(g.dead(), []string{stopped.endpoint}) })
}

// Where many don't answer it takes long to ask all of them: longer than a report counts. It is
// reported and agreed upon all the same, once, and what is withdrawn stays so.
func TestManyThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for i := range 10 {
		fmt.Fprintf(&table, "mse|%d|-1|dead%d:1", 100+i, i)
		for j := range 20 {
			fmt.Fprintf(&table, ",alive%d-%d:1", i, j)
		}
		table.WriteString("\n")
	}
	g := newGroup(t, table.String())
	slow := make(chan struct{})
	release := sync.OnceFunc(func() { close(slow) })
	t.Cleanup(release)
	var asked atomic.Int32
	g.make("n1", "n2")
	for _, p := range g.probers {
		p.dial = func(ctx context.Context, endpoint string) error {
			if strings.HasPrefix(endpoint, "dead") {
				return errors.New("refused")
			}
			if asked.Add(1) > 4*200 { // in the third turn
				select {
				case <-slow:
				case <-ctx.Done():
				}
			}
			return nil
		}
		p.config.Timeout = 2 * time.Minute
	}
	g.start(t)
	eventually(t, "the dead withdrawn", func() bool { return len(g.dead()) == 10 })
	version := g.state.View().Distribution.Version
	eventually(t, "a turn that lasts", func() bool { return asked.Load() > 4*200+workers })
	for began := time.Now(); time.Since(began) < fresh+time.Second; time.Sleep(50 * time.Millisecond) {
		if g.state.View().Distribution.Version != version {
			t.Fatalf("withdrawn now: %q", g.dead())
		}
	}
	release()
}

func TestLeaderDecides(t *testing.T) {
	now := time.Now()
	at := func(dead ...string) heard { return heard{report{Dead: dead, Settled: true}, now} }
	five := membersOf(tableOf(t, "mse|5|-1|a:1,b:1,c:1,d:1,e:1\n"))
	for name, test := range map[string]struct {
		members   *members
		reports   map[string]heard
		withdrawn []string
		dead      string
		alive     string
		most      bool
	}{
		"two agree":            {five, map[string]heard{"n1": at("a:1"), "n2": at("a:1"), "n3": at()}, nil, "a:1", "", false},
		"one alone":            {five, map[string]heard{"n1": at("a:1"), "n2": at(), "n3": at()}, nil, "", "", false},
		"the only one":         {five, map[string]heard{"n1": at("a:1")}, nil, "a:1", "", false},
		"over half":            {five, map[string]heard{"n1": at("a:1", "b:1", "c:1"), "n2": at("a:1", "b:1", "c:1")}, nil, "", "", true},
		"over half, one back":  {five, map[string]heard{"n1": at("a:1", "b:1", "c:1"), "n2": at("a:1", "b:1", "c:1")}, []string{"d:1"}, "", "d:1", true},
		"back":                 {five, map[string]heard{"n1": at("a:1"), "n2": at()}, []string{"a:1"}, "", "a:1", false},
		"still dead":           {five, map[string]heard{"n1": at("a:1"), "n2": at("a:1")}, []string{"a:1"}, "", "", false},
		"old report":           {five, map[string]heard{"n1": at("a:1"), "n2": {report{[]string{"a:1"}, true}, now.Add(-time.Minute)}, "n3": at()}, nil, "", "", false},
		"nobody has settled":   {five, map[string]heard{"n1": {report{[]string{"a:1"}, false}, now}}, []string{"b:1"}, "", "", false},
		"nobody looks":         {five, nil, []string{"a:1"}, "", "a:1", false},
		"in no group any more": {five, map[string]heard{"n1": at()}, []string{"x:1"}, "", "x:1", false},
		"last of a group": {membersOf(tableOf(t, "mse|5|-1|a:1,b:1\nmse|6|-1|c:1,d:1,e:1\n")),
			map[string]heard{"n1": at("a:1", "b:1")}, nil, "b:1", "", false},
	} {
		j := judge{reports: test.reports}
		op, most := j.decide(test.members, test.withdrawn, now)
		if got := strings.Join(op.Dead, " "); got != test.dead || strings.Join(op.Alive, " ") != test.alive || most != test.most {
			t.Errorf("%s: dead %q, alive %q, most %t", name, op.Dead, op.Alive, most)
		}
	}
}

// Who begins to lead can't know yet who looks. Two that agree are enough even so.
func TestNewLeaderDecides(t *testing.T) {
	now := time.Now()
	at := func(dead ...string) heard { return heard{report{Dead: dead, Settled: true}, now} }
	five := membersOf(tableOf(t, "mse|5|-1|a:1,b:1,c:1,d:1,e:1\n"))
	for name, test := range map[string]struct {
		reports   map[string]heard
		withdrawn []string
		dead      string
		most      bool
	}{
		"nobody has reported": {nil, []string{"a:1"}, "", false},
		"one has":             {map[string]heard{"n1": at("a:1")}, []string{"b:1"}, "", false},
		"two agree":           {map[string]heard{"n1": at("a:1", "c:1"), "n2": at("a:1")}, []string{"b:1"}, "a:1", false},
		"two do not":          {map[string]heard{"n1": at("a:1"), "n2": at()}, []string{"b:1"}, "", false},
		"one has not settled": {map[string]heard{"n1": at("a:1"), "n2": {report{[]string{"a:1"}, false}, now}}, nil, "", false},
		"over half":           {map[string]heard{"n1": at("a:1", "b:1", "c:1"), "n2": at("a:1", "b:1", "c:1")}, nil, "", true},
	} {
		j := judge{since: now.Add(-fresh / 2), reports: test.reports}
		op, most := j.decide(five, test.withdrawn, now)
		if got := strings.Join(op.Dead, " "); got != test.dead || len(op.Alive) > 0 || most != test.most {
			t.Errorf("%s: dead %q, alive %q, most %t", name, op.Dead, op.Alive, most)
		}
	}
}

func tableOf(t *testing.T, text string) *routing.Table {
	return newGroup(t, text).state.View().Routes.State().Table
}

// Who comes and goes must answer for longer each time.
func TestFlappingIsDamped(t *testing.T) {
	now := time.Now()
	var o opinion
	for _, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		for range failures {
			o.note(errors.New("refused"), now)
		}
		o.note(nil, now)
		o.note(nil, now.Add(wait-time.Millisecond))
		if !o.dead {
			t.Fatalf("alive before %v", wait)
		}
		now = now.Add(wait)
		if o.note(nil, now); o.dead {
			t.Fatalf("dead after %v", wait)
		}
	}
}
