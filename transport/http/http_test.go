package http_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"floe/cluster"
	"floe/fsm"
	"floe/topics"
	floehttp "floe/transport/http"
	"floe/transport/http/api"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// Every call in turn, on one graph.
func TestCalls(t *testing.T) {
	w := newWorld(t)
	steps := []struct {
		method, path string
		body         any
		status       int
		want         string // the body, or the kind of error
	}{
		{"GET", "/v1/topics", nil, 200, `[]`},
		{"POST", "/v1/topics", api.NewTopic{Name: "A"}, 200, `{"name":"A","id":1}`},
		{"POST", "/v1/topics", api.NewTopic{Name: "A"}, 409, "topic_exists"},
		{"POST", "/v1/topics", api.NewTopic{Name: ""}, 200, `{"name":"","id":2}`},
		{"POST", "/v1/topics", api.NewTopic{Name: "a/b\n"}, 200, `{"name":"a/b\n","id":3}`},
		{"POST", "/v1/topics", api.NewTopic{Name: strings.Repeat("x", 256)}, 400, "invalid_name"},
		{"POST", "/v1/topics", `{"name":"B"} trailing`, 400, "bad_request"},
		{"POST", "/v1/topics", `{"nam":"B"}`, 400, "bad_request"},
		{"POST", "/v1/topics", "{\"name\":\"B\xff\"}", 400, "bad_request"},
		{"POST", "/v1/topics", `[`, 400, "bad_request"},
		{"POST", "/v1/topics", `{"name":"\ud800"}`, 400, "bad_request"},
		{"POST", "/v1/topics", `{"name":"\ud800\u0041"}`, 400, "bad_request"},
		{"POST", "/v1/topics", `{"name":"\udc00\ud800"}`, 400, "bad_request"},
		{"POST", "/v1/topics", `{}`, 400, "bad_request"},
		{"POST", "/v1/topics", `null`, 400, "bad_request"},
		{"POST", "/v1/topics", `{"name":null}`, 400, "bad_request"},
		{"POST", "/v1/links", `{"from":"A"}`, 400, "bad_request"},
		{"POST", "/v1/events", `{"data":""}`, 400, "bad_request"},
		{"POST", "/v1/apply", `{"prune":true}`, 400, "bad_request"},
		{"POST", "/v1/topics", `{"name":"` + strings.Repeat("x", 2<<20) + `"}`, 413, "too_large"},
		{"GET", "/v1/topics?name=A", nil, 200, `{"name":"A","id":1}`},
		{"GET", "/v1/topics?name=", nil, 200, `{"name":"","id":2}`},
		{"GET", "/v1/topics?name=zz", nil, 404, "no_such_topic"},
		{"GET", "/v1/topics", nil, 200, `[{"name":"","id":2},{"name":"A","id":1},{"name":"a/b\n","id":3}]`},
		{"DELETE", "/v1/topics", nil, 400, "bad_request"},
		{"DELETE", "/v1/topics?name=zz", nil, 404, "no_such_topic"},

		{"POST", "/v1/links", api.NewLink{From: "A", To: "", Cost: -3}, 200, `{"from":"A","to":"","cost":-3}`},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "", Cost: 4}, 409, "link_exists"},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "", Cost: 4, Replace: true}, 200, `{"from":"A","to":"","cost":4}`},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "zz"}, 404, "no_such_topic"},
		{"POST", "/v1/links", `{"from":"A","to":"","cost":2147483648}`, 400, "bad_request"},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "a/b\n"}, 200, `{"from":"A","to":"a/b\n","cost":0}`},
		{"GET", "/v1/links", nil, 200, `[{"from":"A","to":"","cost":4},{"from":"A","to":"a/b\n","cost":0}]`},
		{"GET", "/v1/links?topic=", nil, 200, `[]`},
		{"GET", "/v1/links?topic=zz", nil, 404, "no_such_topic"},
		{"DELETE", "/v1/links?from=A", nil, 400, "bad_request"},
		{"DELETE", "/v1/links?from=A&to=", nil, 200, `{"removed":1}`},
		{"DELETE", "/v1/links?from=A&to=", nil, 404, "no_such_link"},
		{"DELETE", "/v1/links?from=zz&to=A", nil, 404, "no_such_topic"},

		{"POST", "/v1/clusters", api.Cluster{Name: "east"}, 400, "bad_request"},
		{"POST", "/v1/clusters", api.Cluster{Name: "east", Addresses: []string{"h:1"}}, 200, `{"name":"east","id":"22222222-0000-0000-0000-000000000000","addresses":["h:1"]}`},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "east/B", Cost: 5}, 200, `{"from":"A","to":"east/B","cost":5}`},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "missing", Cluster: "east"}, 404, "no_such_topic"},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "west/B"}, 404, "no_such_topic"},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "7/1", Messages: true, Cost: -2}, 200, `{"from":"A","to":"rmr:7/1","cost":-2,"remote":"rmr"}`},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "7/1", Messages: true}, 409, "link_exists"},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "x", Messages: true}, 400, "bad_request"},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "7", Messages: true, Cluster: "east"}, 400, "bad_request"},
		{"DELETE", "/v1/links?from=A&to=7&messages=true", nil, 404, "no_such_link"},
		{"DELETE", "/v1/links?from=A&to=x&messages=true", nil, 400, "bad_request"},
		{"DELETE", "/v1/links?from=A&to=7/1&messages=maybe", nil, 400, "bad_request"},
		{"DELETE", "/v1/links?from=A&to=7/1&messages=true", nil, 200, `{"removed":1}`},
		{"POST", "/v1/links", api.NewLink{From: "A", To: "7", Messages: true}, 200, `{"from":"A","to":"rmr:7","cost":0,"remote":"rmr"}`},
		{"DELETE", "/v1/links?from=A&to=rmr:7", nil, 200, `{"removed":1}`},
		{"GET", "/v1/graph", nil, 200, `{"topics":[{"name":"","id":2},{"name":"A","id":1},{"name":"a/b\n","id":3}],"links":[{"from":"A","to":"a/b\n","cost":0},{"from":"A","to":"east/B","cost":5,"remote":"floe east"}]}`},
		{"DELETE", "/v1/clusters?name=east", nil, 409, "in_use"},
		{"DELETE", "/v1/links?from=A&to=east/B", nil, 200, `{"removed":1}`},
		{"DELETE", "/v1/clusters?name=east", nil, 200, `{"removed":1}`},
		{"DELETE", "/v1/clusters?name=east", nil, 404, "no_such_cluster"},
		{"GET", "/v1/clusters", nil, 200, `[]`},

		{"DELETE", "/v1/subscribers?topic=A&identity=x", nil, 404, "no_such_subscriber"},
		{"DELETE", "/v1/subscribers?topic=A&identity=a/b/c", nil, 400, "bad_request"},
		{"DELETE", "/v1/subscribers?topic=zz&identity=x", nil, 404, "no_such_topic"},
		{"DELETE", "/v1/topics?name=A", nil, 200, `{"removed":1}`},

		{"GET", "/v1/members", nil, 200, `[{"id":"n1","address":"127.0.0.1:7400","role":"leader","voter":true,"version":"","draining":false}]`},
		{"POST", "/v1/join", api.Join{}, 400, "bad_request"},
		{"POST", "/v1/join", api.Join{Addresses: []string{"h:1"}}, 200, `{"message":"joined"}`},
		{"POST", "/v1/leave", nil, 200, `{"message":"left"}`},
		{"POST", "/v1/remove", api.Remove{ID: "n2", Force: true}, 200, `{"message":"removed n2"}`},
		{"POST", "/v1/transfer", api.Transfer{}, 200, `{"message":"leadership handed over"}`},
		{"POST", "/v1/drain", api.Drain{Undo: true}, 200, `{"message":"takes part again"}`},
		{"POST", "/v1/events", api.Publish{Topic: "A"}, 501, "later_version"},
		{"GET", "/v1/events", nil, 400, "bad_request"},
		{"GET", "/v1/events?topic=A", nil, 501, "later_version"},
		{"GET", "/v1/settings", nil, 200, `[]`},
		{"POST", "/v1/settings", api.Setting{Name: "log-level", Value: "debug"}, 501, "later_version"},
		{"GET", "/v1/nothing", nil, 404, "not_found"},
		{"PUT", "/v1/topics", nil, 405, "method_not_allowed"},
	}
	for _, s := range steps {
		status, body, _ := w.do(t, s.method, s.path, s.body)
		got := body
		if k := kind(body); k != "" {
			got = string(k)
		}
		if status != s.status || got != s.want {
			t.Errorf("%s %s: got %d %s, want %d %s", s.method, s.path, status, body, s.status, s.want)
		}
	}
	if d := cmp.Diff([]string{"join h:1", "leave", "remove n2 force", "transfer ", "drain undo"}, w.nodes.asked); d != "" {
		t.Error(d)
	}
}

func TestSubscribers(t *testing.T) {
	w := newWorld(t)
	w.group.must(fsm.CreateTopic{Name: "A"}, fsm.CreateTopic{Name: "B"}, fsm.Link{From: "A", To: "B"},
		fsm.Subscribe{Topic: "A", Subscription: topics.Subscription{
			Identity: topics.Identity{Name: "s/1", Category: "cat"}, QoS: []topics.Setting{{Key: "retryCount", Value: "2"}}}})
	status, body, _ := w.do(t, "GET", "/v1/subscribers?topic=A", nil)
	want := `[{"topic":"A","identity":"cat/s\\/1","link":false,"qos":{"retryCount":"2"},"serial":4},{"topic":"A","identity":"IceStorm/topic.B","link":true,"serial":3}]`
	if status != 200 || body != want {
		t.Errorf("got %d %s, want %s", status, body, want)
	}
	if status, body, _ = w.do(t, "DELETE", `/v1/subscribers?topic=A&identity=cat/s%5C/1`, nil); status != 200 {
		t.Errorf("got %d %s", status, body)
	}
}

// Reads ask the leader unless they may be stale, and then say how old they are.
func TestStaleReads(t *testing.T) {
	w := newWorld(t)
	w.group.must(fsm.CreateTopic{Name: "A"})
	w.group.fail = &cluster.NoQuorum{Voters: 3, Reachable: 1}
	for _, path := range []string{"/v1/topics", "/v1/links", "/v1/subscribers", "/v1/graph", "/v1/clusters"} {
		status, body, _ := w.do(t, "GET", path, nil)
		if status != 503 || kind(body) != api.NoQuorum || !strings.Contains(body, "1 of 3 voters reachable") {
			t.Errorf("%s: got %d %s, want 503 no_quorum", path, status, body)
		}
		status, _, header := w.do(t, "GET", path+"?stale=1", nil)
		if status != 200 || header.Get("Floe-Node") != "n1" || header.Get("Floe-Index") != "2" || header.Get("Floe-Age") != "1.500" {
			t.Errorf("%s, stale: got %d %v", path, status, header)
		}
	}
	for _, path := range []string{"/v1/status", "/v1/members"} {
		if status, body, _ := w.do(t, "GET", path, nil); status != 200 {
			t.Errorf("%s without a leader: got %d %s", path, status, body)
		}
	}
}

func TestHealth(t *testing.T) {
	w := newWorld(t)
	if status, body, _ := w.do(t, "GET", "/readyz", nil); status != 200 || body != "ready" {
		t.Errorf("got %d %s", status, body)
	}
	w.nodes.ready = errors.New("no leader")
	if status, body, _ := w.do(t, "GET", "/readyz", nil); status != 503 || body != "no leader" {
		t.Errorf("got %d %s", status, body)
	}
	if status, body, _ := w.do(t, "GET", "/healthz", nil); status != 200 || body != "ok" {
		t.Errorf("got %d %s", status, body)
	}
}

func TestPagesElsewhereAreRefused(t *testing.T) {
	w := newWorld(t)
	req := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/topics", strings.NewReader(`{"name":"A"}`))
	req.Header.Set("Origin", "http://evil.example")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	recorder := httptest.NewRecorder()
	w.calls.ServeHTTP(recorder, req)
	if recorder.Code != 403 || w.group.View().Graph.Len() != 0 {
		t.Errorf("got %d, want 403 and no topic", recorder.Code)
	}
}

// lines is a stream of two lines that then ends with an error.
type lines struct{ all []api.Event }

func (l *lines) Next(ctx context.Context) (api.Event, error) {
	if len(l.all) == 0 {
		return api.Event{}, &api.Error{Kind: api.Internal, Message: "over"}
	}
	ev := l.all[0]
	l.all = l.all[1:]
	return ev, nil
}
func (l *lines) Close() {}

type events struct{ published []api.Publish }

func (e *events) Publish(_ context.Context, p api.Publish) error {
	e.published = append(e.published, p)
	return nil
}

func (e *events) Subscribe(_ context.Context, names []string) (floehttp.Stream, error) {
	if names[0] == "zz" {
		return nil, &fsm.Refusal{Kind: topics.ErrNoTopic, Name: "zz"}
	}
	return &lines{all: []api.Event{{Missed: 2}, {Received: &api.Received{Topic: names[0], Operation: "message", Context: map[string]string{}, Data: []byte("hi")}}}}, nil
}

func TestEvents(t *testing.T) {
	fake := &events{}
	w := newWorld(t, func(c *floehttp.Config) { c.Events = fake })
	if status, body, _ := w.do(t, "POST", "/v1/events", api.Publish{Topic: "A", Data: []byte{0, 255}}); status != 200 || len(fake.published) != 1 || string(fake.published[0].Data) != "\x00\xff" {
		t.Errorf("got %d %s, %v", status, body, fake.published)
	}
	if status, body, _ := w.do(t, "GET", "/v1/events?topic=zz", nil); status != 404 || kind(body) != api.NoSuchTopic {
		t.Errorf("got %d %s", status, body)
	}
	_, body, _ := w.do(t, "GET", "/v1/events?topic=A", nil)
	want := `{"subscribed":true}
{"missed":2}
{"event":{"topic":"A","operation":"message","cost":0,"context":{},"data":"aGk="}}
{"error":{"kind":"internal","message":"over"}}`
	if d := cmp.Diff(want, body); d != "" {
		t.Error(d)
	}
}

func TestErrorKinds(t *testing.T) {
	tests := []struct {
		err    error
		kind   api.Kind
		status int
		exit   int
	}{
		{&cluster.NoQuorum{Voters: 3, Reachable: 1}, api.NoQuorum, 503, 4},
		{&cluster.Unknown{Cause: context.DeadlineExceeded}, api.UnknownOutcome, 504, 3},
		{&cluster.Unknown{Cause: &cluster.NoQuorum{Voters: 3}}, api.UnknownOutcome, 504, 3},
		{fmt.Errorf("join: %w", &cluster.Refused{Code: cluster.CodeQuorum, Text: "no"}), api.QuorumAtRisk, 409, 1},
		{&cluster.Refused{Code: "new_code", Text: "no"}, api.Membership, 409, 1},
		{&cluster.OtherCluster{}, api.OtherCluster, 409, 1},
		{&cluster.Unreachable{Address: "h:1", Cause: errors.New("refused")}, api.Unreachable, 502, 4},
		{&fsm.Refusal{Kind: fsm.ErrForgotten}, api.UnknownOutcome, 504, 3},
		{context.DeadlineExceeded, api.Timeout, 503, 4},
		{errors.New("something"), api.Internal, 500, 1},
	}
	for _, tt := range tests {
		w := newWorld(t)
		w.group.fail = tt.err
		status, body, _ := w.do(t, "POST", "/v1/topics", api.NewTopic{Name: "A"})
		if got := kind(body); got != tt.kind || status != tt.status || got.Exit() != tt.exit {
			t.Errorf("%v: got %s (%d, exit %d), want %s (%d, exit %d)", tt.err, got, status, got.Exit(), tt.kind, tt.status, tt.exit)
		}
	}
}

// A refusal of an unknown name ends with the known ones spelled almost alike.
func TestRefusalsNameWhatIsNear(t *testing.T) {
	w := newWorld(t)
	w.group.must(fsm.CreateTopic{Name: "News"}, fsm.CreateTopic{Name: "Weather"})
	w.nodes.fail = &cluster.Refused{Code: cluster.CodeUnknownNode, Text: "node n2 is not in the cluster"}
	for _, c := range []struct {
		method, path string
		body         any
		want         string
	}{
		{"GET", "/v1/topics?name=Nwes", nil, `did you mean \"News\"?`},
		{"POST", "/v1/links", api.NewLink{From: "News", To: "weather"}, `did you mean \"Weather\"?`},
		{"GET", "/v1/topics?name=Sport", nil, `no such topic"`},
		{"POST", "/v1/remove", api.Remove{ID: "n2"}, `did you mean \"n1\"?`},
		{"POST", "/v1/transfer", api.Transfer{ID: "node7"}, `not in the cluster"`},
	} {
		if _, body, _ := w.do(t, c.method, c.path, c.body); !strings.Contains(body, c.want) {
			t.Errorf("%s %s: got %s, want %s", c.method, c.path, body, c.want)
		}
	}
}

// A list of MEIDs may be cut to those that begin so, and to so many.
func TestSomeMEIDs(t *testing.T) {
	w := newWorld(t)
	w.do(t, "POST", "/v1/meids", api.SetMEIDs{Owner: "h:1", MEIDs: []string{"a1", "a2", "a3", "b1"}})
	for query, want := range map[string]string{"prefix=a&limit=2": "a1 a2", "prefix=b": "b1", "limit=1": "a1", "prefix=c": "", "prefix=": "a1 a2 a3 b1"} {
		_, body, _ := w.do(t, "GET", "/v1/meids?"+query, nil)
		var all []api.MEID
		if err := json.Unmarshal([]byte(body), &all); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range all {
			got = append(got, m.MEID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", query, got, want)
		}
	}
	if status, _, _ := w.do(t, "GET", "/v1/meids?limit=0", nil); status != 400 {
		t.Errorf("limit=0: got %d", status)
	}
}
