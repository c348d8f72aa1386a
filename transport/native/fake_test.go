package native

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group is a state without Raft, shared by the nodes of a test.
type group struct {
	*fsm.State
	mu    sync.Mutex
	index uint64
}

func newGroup(t *testing.T, names ...string) *group {
	g := &group{State: fsm.New(fsm.Config{})}
	g.do(t, fsm.Init{ClusterID: "c", Instance: "IceStorm", Version: 1})
	for _, name := range names {
		g.do(t, fsm.CreateTopic{Name: name})
	}
	return g
}

func (g *group) do(t *testing.T, op fsm.Op) {
	t.Helper()
	if _, err := g.Propose(t.Context(), op, ""); err != nil {
		t.Fatal(err)
	}
}

func (g *group) Propose(_ context.Context, op fsm.Op, _ string) (fsm.Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b, err := fsm.Command{Op: op}.Encode()
	if err != nil {
		return fsm.Result{}, err
	}
	g.index++
	r := g.Apply(&raft.Log{Index: g.index, Data: b}).(fsm.Result)
	return r, r.Err()
}

func (g *group) Read(context.Context) (*fsm.View, error) { return g.View(), nil }

// nobody opens no Ice receivers: the tests have none.
type nobody struct{}

func (nobody) Subscriber(*delivery.Receiver, *topics.Topic, *topics.Subscription) delivery.Sender {
	panic("no Ice subscribers here")
}

func (nobody) Link(*delivery.Receiver, *topics.Topic, *topics.Link) delivery.Sender {
	panic("no Ice links here")
}

// stream is one end of a stream in memory.
type stream struct {
	in, out chan []byte
	over    chan struct{}
	once    *sync.Once
	wrote   func(frame []byte)
}

func newStreams() (a, b *stream) {
	x, y := make(chan []byte, 1024), make(chan []byte, 1024)
	over, once := make(chan struct{}), &sync.Once{}
	return &stream{in: x, out: y, over: over, once: once}, &stream{in: y, out: x, over: over, once: once}
}

func (s *stream) ReadFrame() ([]byte, error) {
	select {
	case b := <-s.in:
		return b, nil
	case <-s.over:
		return nil, io.ErrUnexpectedEOF
	}
}

func (s *stream) WriteFrame(parts ...[]byte) error {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	if s.wrote != nil {
		s.wrote(b)
	}
	select {
	case s.out <- b:
		return nil
	case <-s.over:
		return io.ErrClosedPipe
	}
}

func (s *stream) Flush() error { return nil }
func (s *stream) Abort()       { s.once.Do(func() { close(s.over) }) }

// net connects the nodes of a test.
type net struct {
	t     *testing.T
	group *group
	mu    sync.Mutex
	nodes map[string]*Native
	cut   map[string]bool
	open  []*stream
	sent  map[byte]int // frames by type
	wg    sync.WaitGroup
}

func newNet(t *testing.T, g *group) *net {
	n := &net{t: t, group: g, nodes: map[string]*Native{}, cut: map[string]bool{}, sent: map[byte]int{}}
	t.Cleanup(n.wg.Wait)
	return n
}

var errCut = errors.New("connection refused")

func (n *net) dial(ctx context.Context, from, to string) (Stream, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut[to] || n.nodes[to] == nil {
		return nil, errCut
	}
	a, b := newStreams()
	b.wrote = func(frame []byte) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.sent[frame[0]]++
	}
	n.open = append(n.open, a)
	server := n.nodes[to]
	n.wg.Go(func() {
		_ = server.Serve(context.WithoutCancel(ctx), from, b) // how it ends is the test's doing
		b.Abort()
	})
	return a, nil
}

func (n *net) frames(kind byte) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent[kind]
}

// setCut cuts a node off, or heals it.
func (n *net) setCut(id string, cut bool) {
	n.mu.Lock()
	n.cut[id] = cut
	open := n.open
	n.open = nil
	n.mu.Unlock()
	if cut {
		for _, s := range open {
			s.Abort()
		}
	}
}

// start starts a node.
func (n *net) start(id string, change ...func(*Config)) *Native {
	n.t.Helper()
	n.group.do(n.t, fsm.SetMember{Member: fsm.Member{ID: id}})
	hub := delivery.New(delivery.Config{Group: n.group, Opener: nobody{}})
	config := Config{Node: id, Group: n.group, Hub: hub, Open: func(ctx context.Context, to string) (Stream, error) { return n.dial(ctx, id, to) }}
	for _, f := range change {
		f(&config)
	}
	node := New(config)
	hub.Tap(node)
	n.mu.Lock()
	n.nodes[id] = node
	n.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	n.wg.Go(func() {
		if err := node.Run(ctx); err != nil {
			n.t.Error(err)
		}
	})
	n.t.Cleanup(cancel)
	return node
}
