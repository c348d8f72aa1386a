package http_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"floe/fsm"
	"floe/topics"
	floehttp "floe/transport/http"
	"floe/transport/http/api"
)

// group is a state without Raft.
type group struct {
	*fsm.State
	mu    sync.Mutex
	index uint64
	// fail, if set, is what the group answers with in place of its work.
	fail error
	// before runs before each change, once.
	before func()
}

func newGroup() *group {
	g := &group{State: fsm.New(fsm.Config{})}
	g.must(fsm.Init{ClusterID: "11111111-0000-0000-0000-000000000000", Instance: "IceStorm", Version: fsm.ProgramVersion})
	return g
}

func (g *group) must(ops ...fsm.Op) {
	for _, op := range ops {
		if _, err := g.Propose(context.Background(), op, ""); err != nil {
			panic(err)
		}
	}
}

func (g *group) Propose(_ context.Context, op fsm.Op, _ string) (fsm.Result, error) {
	if g.before != nil {
		f := g.before
		g.before = nil
		f()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail != nil {
		return fsm.Result{}, g.fail
	}
	b, err := fsm.Command{Op: op}.Encode()
	if err != nil {
		return fsm.Result{}, err
	}
	g.index++
	r, ok := g.Apply(&raft.Log{Index: g.index, Data: b}).(fsm.Result)
	if !ok {
		return fsm.Result{}, errors.New("halted")
	}
	return r, r.Err()
}

func (g *group) Read(context.Context) (*fsm.View, error) {
	if g.fail != nil {
		return nil, g.fail
	}
	return g.View(), nil
}

// nodes is a cluster of one.
type nodes struct {
	ready error
	asked []string
	fail  error
}

func (n *nodes) ID() string { return "n1" }
func (n *nodes) Members(context.Context) []api.Member {
	return []api.Member{{ID: "n1", Address: "127.0.0.1:7400", Role: "leader", Voter: true}}
}
func (n *nodes) Status(ctx context.Context) api.Status {
	return api.Status{Node: "n1", Members: n.Members(ctx), Problems: []string{}}
}
func (n *nodes) Ready() error                  { return n.ready }
func (n *nodes) ContactAge() time.Duration     { return 1500 * time.Millisecond }
func (n *nodes) note(s string) error           { n.asked = append(n.asked, s); return n.fail }
func (n *nodes) Keys(context.Context) api.Keys { return api.Keys{} }

func (n *nodes) ChangeKeys(context.Context, api.KeyChange) error { return nil }

func (n *nodes) Join(_ context.Context, a []string, _ string) error {
	return n.note("join " + strings.Join(a, ","))
}
func (n *nodes) Leave(context.Context) error { return n.note("leave") }
func (n *nodes) Remove(_ context.Context, id string, force bool) error {
	return n.note("remove " + id + map[bool]string{true: " force"}[force])
}
func (n *nodes) Transfer(_ context.Context, id string) error { return n.note("transfer " + id) }
func (n *nodes) Drain(_ context.Context, undo bool) error {
	return n.note("drain" + map[bool]string{true: " undo"}[undo])
}

// far is another cluster that has every topic but "missing".
type far struct{}

func (far) Discover(_ context.Context, name string, addresses []string) (fsm.Peer, error) {
	return fsm.Peer{Name: name, ID: "22222222-0000-0000-0000-000000000000", Addresses: addresses}, nil
}

func (far) Topic(_ context.Context, cluster, topic string) (topics.Remote, error) {
	if cluster != "east" {
		return topics.Remote{}, &fsm.Refusal{Kind: fsm.ErrNoCluster, Name: cluster}
	}
	if topic == "missing" {
		return topics.Remote{}, &fsm.Refusal{Kind: topics.ErrNoTopic, Name: topic}
	}
	return topics.Remote{Identity: topics.Identity{Name: "topic." + topic, Category: cluster}, Cluster: "22222222-0000-0000-0000-000000000000", Topic: 7}, nil
}

// world is a server with its fakes.
type world struct {
	group  *group
	nodes  *nodes
	server *floehttp.Server
	calls  http.Handler
}

func newWorld(t *testing.T, change ...func(*floehttp.Config)) *world {
	t.Helper()
	w := &world{group: newGroup(), nodes: &nodes{}}
	config := floehttp.Config{Group: w.group, Nodes: w.nodes, Clusters: far{}}
	for _, f := range change {
		f(&config)
	}
	w.server = floehttp.New(config)
	w.calls = w.server.Handler()
	return w
}

// do makes a call and returns status and body; a body of text is sent as it is.
func (w *world) do(t *testing.T, method, path string, body any) (int, string, http.Header) {
	t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		in = strings.NewReader(string(raw))
	}
	recorder := httptest.NewRecorder()
	w.calls.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, path, in))
	return recorder.Code, strings.TrimSpace(recorder.Body.String()), recorder.Header()
}

// kind is the kind of error in a body, "" where it is none.
func kind(body string) api.Kind {
	var e api.ErrorBody
	if json.Unmarshal([]byte(body), &e) != nil || e.Error == nil {
		return ""
	}
	return e.Error.Kind
}
