package nbi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
	"go.uber.org/goleak"

	"floe/fsm"
	"floe/routing"
	"floe/routing/derive"
	"floe/transport/nbi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deadline is how long tests wait for what must come.
const deadline = 20 * time.Second

// group is a state without Raft.
type group struct {
	*fsm.State
	mu        sync.Mutex
	index     uint64
	proposals int
	fail      error
	before    func() // runs before the next proposal, once
}

func newGroup(t testing.TB) *group {
	g := &group{State: fsm.New(fsm.Config{})}
	g.must(t, fsm.Init{ClusterID: "11111111-0000-0000-0000-000000000000", Instance: "IceStorm", Version: fsm.ProgramVersion})
	return g
}

func (g *group) must(t testing.TB, ops ...fsm.Op) {
	t.Helper()
	for _, op := range ops {
		if _, err := g.Propose(context.Background(), op, ""); err != nil {
			t.Fatal(err)
		}
	}
}

func (g *group) facts(t testing.TB, changes ...derive.Change) {
	t.Helper()
	g.must(t, fsm.ChangeFacts{Changes: changes})
}

func (g *group) Propose(ctx context.Context, op fsm.Op, _ string) (fsm.Result, error) {
	g.mu.Lock()
	before := g.before
	g.before = nil
	g.mu.Unlock()
	if before != nil {
		before()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.proposals++
	if g.fail != nil {
		return fsm.Result{}, g.fail
	}
	if err := ctx.Err(); err != nil {
		return fsm.Result{}, err
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

func (g *group) asked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proposals
}

// face is a served face and a caller of it.
type face struct {
	t      testing.TB
	server *nbi.Server
	url    string
	client *http.Client
}

func serve(t testing.TB, config nbi.Config) *face {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &face{t: t, server: nbi.New(config), url: "http://" + l.Addr().String() + "/ric/v1", client: &http.Client{Transport: &http.Transport{}, Timeout: deadline}}
	ended := make(chan error, 1)
	go func() { ended <- f.server.Serve(l) }()
	t.Cleanup(func() {
		f.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := f.server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

// answer is what came back.
type answer struct {
	code   int
	body   string
	header http.Header
}

func (f *face) do(method, path, body string, header ...string) answer {
	f.t.Helper()
	r, err := http.NewRequest(method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	got, err := f.client.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer got.Body.Close()
	var text bytes.Buffer
	if _, err := io.Copy(&text, got.Body); err != nil {
		f.t.Fatal(err)
	}
	return answer{got.StatusCode, text.String(), got.Header}
}

// want makes a call whose status must be code.
func (f *face) want(code int, method, path, body string) answer {
	f.t.Helper()
	a := f.do(method, path, body)
	if a.code != code {
		f.t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, a.code, a.body, code)
	}
	return a
}

// wantTable compares the routes with records written by hand.
func wantTable(t testing.TB, v *fsm.View, text string) {
	t.Helper()
	parsed := routing.Parse(text, routing.Options{})
	if err := parsed.Err(); err != nil {
		t.Fatal(err)
	}
	want, _, err := routing.State{}.Apply(parsed.Update)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want.AppendText(nil)), string(v.Routes.State().AppendText(nil))); d != "" {
		t.Fatalf("other routes than the rules make (-want +got):\n%s", d)
	}
}

func config(t testing.TB) derive.Config {
	t.Helper()
	text, err := os.ReadFile("testdata/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := nbi.ParseConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func setConfig(t testing.TB) derive.Change {
	c := config(t)
	return derive.Change{Kind: derive.SetConfig, Config: &c}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
