package nbi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/routing/derive"
	"floe/transport/nbi"
)

func TestCodes(t *testing.T) {
	g := newGroup(t)
	f := serve(t, nbi.Config{Group: g})
	sub, e2t := "/handles/xapp-subscription-handle", "/handles/e2t"
	for _, c := range []struct {
		method, path, body string
		want               int
		reason             string
	}{
		{"POST", e2t, `{"E2TAddress":"e:1"`, 400, "the body is not the JSON that belongs here: unexpected end of JSON input"},
		{"POST", e2t, `{"E2TAddress":"e:1"} x`, 400, "invalid character"},
		{"POST", e2t, `[]`, 400, "cannot unmarshal array"},
		{"POST", e2t, `null`, 400, "it is null"},
		{"POST", e2t, `{"E2TAddress":7}`, 400, "cannot unmarshal number"},
		{"POST", e2t, `{}`, 422, "E2TAddress is missing"},
		{"POST", e2t, `{"E2TAddress":""}`, 400, "empty owner"},
		{"POST", e2t, `{"E2TAddress":"e2t"}`, 400, `owner "e2t" has no port: write host:port`},
		{"POST", e2t + "/", `{"E2TAddress":"e:1","ranNamelist":["` + strings.Repeat("x", 32) + `"]}`, 400, "a message carries at most 31"},
		{"DELETE", e2t, `{}`, 422, "E2TAddress is missing"},
		{"DELETE", e2t, `{"E2TAddress":"e:1","ranAssocList":[{}]}`, 422, "E2TAddress is missing"},
		{"DELETE", e2t, `{"E2TAddress":"not:there:1"}`, 400, "write an IPv6 address as [address]:port"},
		{"DELETE", e2t, `{"E2TAddress":"not-there:1"}`, 201, ""},
		{"POST", sub, `{"address":"a","port":1}`, 422, "subscription_id is missing"},
		{"POST", sub, `{"address":"a","subscription_id":1}`, 422, "port is missing"},
		{"POST", sub, `{"port":1,"subscription_id":1}`, 422, "address is missing"},
		{"POST", sub, `{"address":"a","port":0,"subscription_id":1}`, 400, "has no port"},
		{"POST", sub, `{"address":"a","port":70000,"subscription_id":1}`, 400, "cannot unmarshal number 70000"},
		{"POST", sub, `{"address":"a","port":1,"subscription_id":-1}`, 400, "is negative"},
		{"POST", sub, `{"address":"a","port":1,"subscription_id":4294967296}`, 400, "cannot unmarshal"},
		{"DELETE", sub, `{"address":"a","port":1,"subscription_id":1}`, 204, ""},
		{"PUT", sub + "/1", `[{"address":"a"}]`, 422, "port is missing"},
		{"PUT", sub + "/x", `[]`, 422, `subscription id "x" is no number`},
		{"PUT", sub + "/1", `[]`, 201, ""},
		{"PUT", sub + "/1/", `[{"address":"a","port":1}]`, 201, ""},
		{"POST", "/handles/associate-ran-to-e2t", `{}`, 400, "cannot unmarshal object"},
		{"POST", "/handles/associate-ran-to-e2t", `[]`, 201, ""},
		{"POST", "/handles/associate-ran-to-e2t", `[{"ranNamelist":["a"]}]`, 422, "E2TAddress is missing"},
		{"POST", "/handles/associate-ran-to-e2t", `[{"E2TAddress":"e:1","ranNamelist":["a b"]}]`, 400, "contains a blank"},
		{"POST", "/handles/dissociate-ran", `[{}]`, 422, "E2TAddress is missing"},
		{"POST", "/handles/dissociate-ran", `[{"E2TAddress":"never-seen:1"}]`, 201, ""},
		{"POST", "/handles/xapp-handle", `{"event":"deployed"}`, 400, "xApps: there are none"},
		{"POST", "/handles/xapp-handle", `{"xApps":""}`, 400, "xApps: it is no JSON array"},
		{"POST", "/handles/xapp-handle", `{"xApps":"[{]"}`, 400, "xApps: invalid character"},
		{"POST", "/handles/xapp-handle", `{"xApps":"[{}]"}`, 400, "xApps: xApp 1 has no name"},
		{"POST", "/handles/xapp-handle", `{"xApps":"null"}`, 400, "xApps: it is no JSON array"},
		{"POST", "/handles/xapp-handle", `{"event":"deployed","xApps":"[]"}`, 200, ""},
		{"POST", "/handles/xapp-handle", `{"event":"deployed","xApps":[{"name":"x"}]}`, 200, ""},
		{"POST", "/handles/addrmrroute", `[{"MessageType":1}]`, 422, "TargetEndPoint is missing"},
		{"POST", "/handles/addrmrroute", `[{"TargetEndPoint":"a:1"}]`, 422, "MessageType is missing"},
		{"POST", "/handles/addrmrroute", `[{"TargetEndPoint":"a:1,,b:1","MessageType":1}]`, 400, "empty endpoint"},
		{"POST", "/handles/addrmrroute", `[{"TargetEndPoint":"a:1","MessageType":1,"SenderEndPoint":"x y"}]`, 400, "contains a blank"},
		{"POST", "/handles/addrmrroute", `[{"TargetEndPoint":"a:1","MessageType":1},{"TargetEndPoint":"a","MessageType":1}]`, 400, "change 2: route: endpoint"},
		{"DELETE", "/handles/delrmrroute", `[{"TargetEndPoint":"a:1","MessageType":1}]`, 201, ""},
		{"GET", e2t, "", 405, "GET is not possible here, only DELETE, POST"},
		{"POST", "/health", `{}`, 405, "only GET, HEAD"},
		{"GET", "/nothing", "", 404, "no such call: /ric/v1/nothing"},
		{"GET", "/health/", "", 200, ""},
		{"POST", e2t + "?wait=done", `{"E2TAddress":"e:1"}`, 400, "only wait=applied is known"},
		{"POST", e2t + "?wait=applied&timeout=1h", `{"E2TAddress":"e:1"}`, 400, "a time like 5s is needed"},
	} {
		a := f.do(c.method, c.path, c.body)
		if a.code != c.want {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, a.code, a.body, c.want)
		}
		var wire struct{ Error string }
		if c.reason != "" && (json.Unmarshal([]byte(a.body), &wire) != nil || !strings.Contains(wire.Error, c.reason)) {
			t.Errorf("%s %s %s: says %s, want %s", c.method, c.path, c.body, a.body, c.reason)
		}
	}
	// What was refused left nothing behind.
	wantTable(t, g.View(), table(subscriptionRecords("1", "a:1")[strings.Index(subscriptionRecords("1", "a:1"), "mse|12050"):]))
}

func TestContentType(t *testing.T) {
	f := serve(t, nbi.Config{Group: newGroup(t)})
	for kind, want := range map[string]int{"": 415, "text/plain": 415, "application/jsonx": 415, "application/json; charset=utf-8": 201, "Application/JSON": 201} {
		if a := f.do("POST", "/handles/e2t", `{"E2TAddress":"e:1"}`, "Content-Type", kind); a.code != want {
			t.Errorf("%q: %d, want %d", kind, a.code, want)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	var out syncBuffer
	f := serve(t, nbi.Config{Group: newGroup(t), Log: hclog.New(&hclog.LoggerOptions{Output: &out})})
	body := `{"E2TAddress":"e:1","x":"` + strings.Repeat("x", 16<<20) + `"}`
	f.want(413, "POST", "/handles/e2t", body)
	if got := f.server.Stats().BadInput; got != 1 || !strings.Contains(out.String(), "call refused, it is over a limit") {
		t.Errorf("%d counted, logged %q", got, out.String())
	}
}

// submgr takes 200 and 201 for a new subscription and nothing else, and it
// reads no body.
func TestAnswersToOldCallersAreBare(t *testing.T) {
	f := serve(t, nbi.Config{Group: newGroup(t)})
	for _, a := range []answer{
		f.want(201, "POST", "/handles/xapp-subscription-handle", `{"address":"a","port":1,"subscription_id":1}`),
		f.want(200, "DELETE", "/handles/xapp-subscription-handle", `{"address":"a","port":1,"subscription_id":1}`),
		f.want(201, "POST", "/handles/e2t", `{"E2TAddress":"e:1"}`),
		f.want(200, "POST", "/handles/xapp-handle/", `{"xApps":"[]"}`),
	} {
		if a.body != "" {
			t.Errorf("%d with %q", a.code, a.body)
		}
	}
}

func TestNoCommitIsNoSuccess(t *testing.T) {
	g := newGroup(t)
	f := serve(t, nbi.Config{Group: g, Ready: func() error { return errors.New("no leader") }, CommitWithin: 50 * time.Millisecond})
	g.mu.Lock()
	g.fail = errors.New("no quorum: 1 of 3 voters reachable")
	g.mu.Unlock()
	a := f.want(503, "POST", "/handles/e2t", `{"E2TAddress":"e:1"}`)
	if !strings.Contains(a.body, "1 of 3 voters reachable") {
		t.Error(a.body)
	}
	g.mu.Lock()
	g.fail = &fsm.Refusal{Kind: fsm.ErrVersion}
	g.mu.Unlock()
	f.want(503, "POST", "/handles/e2t", `{"E2TAddress":"e:1"}`)
	g.mu.Lock()
	g.fail = fmt.Errorf("propose: %w", context.DeadlineExceeded)
	g.mu.Unlock()
	if a := f.want(503, "POST", "/handles/e2t", `{"E2TAddress":"e:1"}`); !strings.Contains(a.body, "outcome is unknown") {
		t.Error(a.body)
	}
	// Reading and health need nobody.
	f.want(200, "GET", "/routes", "")
	f.want(200, "GET", "/getdebuginfo", "")
	f.want(200, "GET", "/health/alive", "")
	if a := f.want(200, "GET", "/health", ""); !strings.Contains(a.body, `"status":"unhealthy"`) || !strings.Contains(a.body, "no leader") {
		t.Error(a.body)
	}
	if a := f.want(503, "GET", "/health/ready", ""); !strings.Contains(a.body, "no leader") || a.header.Get("Retry-After") == "" {
		t.Error(a.body)
	}
	if got := f.server.Stats(); got.Accepted != 0 || got.Failed != 4 {
		t.Errorf("figures %+v", got)
	}
}

func TestHealthy(t *testing.T) {
	f := serve(t, nbi.Config{Group: newGroup(t)})
	if a := f.want(200, "GET", "/health", ""); a.body != `{"status":"healthy"}`+"\n" {
		t.Error(a.body)
	}
	f.want(200, "GET", "/health/ready", "")
}

// A commit that does not come is given up within the time submgr waits.
func TestCallsEndInTime(t *testing.T) {
	g := &deafGroup{newGroup(t)}
	f := serve(t, nbi.Config{Group: g, CommitWithin: 50 * time.Millisecond})
	if a := f.want(503, "PUT", "/handles/xapp-subscription-handle/1", `[{"address":"a","port":1}]`); !strings.Contains(a.body, "not committed in time, the outcome is unknown") {
		t.Error(a.body)
	}
}

// Large bodies take turns; those of the day's work don't wait for them.
func TestLargeBodiesDoNotHoldUpSmallOnes(t *testing.T) {
	f := serve(t, nbi.Config{Group: newGroup(t), CommitWithin: 100 * time.Millisecond})
	large := `{"E2TAddress":"e:1","x":"` + strings.Repeat("x", 1<<20) + `"}`
	var writers []*io.PipeWriter
	done := make(chan int, 8)
	for range 8 {
		body, w := io.Pipe()
		writers = append(writers, w)
		r, err := http.NewRequest("POST", f.url+"/handles/e2t", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		go func() {
			a, err := f.client.Do(r)
			if err != nil {
				t.Error(err)
				done <- 0
				return
			}
			_ = a.Body.Close()
			done <- a.StatusCode
		}()
		if _, err := w.Write([]byte(large[:100<<10])); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all places taken", func() bool { return f.do("POST", "/handles/e2t", large).code == 503 })
	f.want(201, "POST", "/handles/e2t", `{"E2TAddress":"e:2"}`)
	for _, w := range writers {
		if _, err := w.Write([]byte(large[100<<10:])); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
	}
	for range 8 {
		if code := <-done; code != 201 {
			t.Errorf("a large body: %d", code)
		}
	}
	f.want(201, "POST", "/handles/e2t", large)
}

// deafGroup commits nothing.
type deafGroup struct{ *group }

func (*deafGroup) Propose(ctx context.Context, _ fsm.Op, _ string) (fsm.Result, error) {
	if _, ok := ctx.Deadline(); !ok {
		return fsm.Result{}, errors.New("a call without an end")
	}
	<-ctx.Done()
	return fsm.Result{}, ctx.Err()
}

func TestReads(t *testing.T) {
	g := newGroup(t)
	f := serve(t, nbi.Config{Group: g})
	g.facts(t, derive.Change{Kind: derive.Subscribe, SubID: 7, Endpoint: "a:1"}, derive.Change{Kind: derive.Associate, E2T: "e:1", RANs: []string{"g/1"}})
	a := f.want(200, "GET", "/routes", "")
	var got struct {
		Version uint64
		Routes  []struct {
			MType, SubID int32
			Groups       [][]string
		}
		MEIDs   int
		Omitted []string
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != 2 || len(got.Routes) != 3 || got.MEIDs != 1 || len(got.Omitted) != 4 || got.Routes[0].MType != 12041 || got.Routes[0].Groups[0][0] != "a:1" {
		t.Errorf("%+v", got)
	}
	if a.header.Get("ETag") != `"2"` {
		t.Errorf("ETag %s", a.header.Get("ETag"))
	}
	if a := f.do("GET", "/routes", "", "If-None-Match", `"1", W/"2"`); a.code != 304 || a.body != "" {
		t.Errorf("%d %s", a.code, a.body)
	}
	if a := f.do("GET", "/routes", "", "If-None-Match", `"1"`); a.code != 200 {
		t.Errorf("%d", a.code)
	}
	if a := f.want(200, "GET", "/meids/g%2F1", ""); a.body != `{"meid":"g/1","owner":"e:1"}`+"\n" {
		t.Error(a.body)
	}
	f.want(404, "GET", "/meids/other", "")
	if a := f.want(200, "GET", "/clients", ""); a.body != "[]\n" {
		t.Error(a.body)
	}
	g.must(t, fsm.RegisterApp{Name: "x:1", Control: []string{"x:2"}, Node: "n1", Time: 1e9})
	app, _ := g.View().App("x:1")
	if a := f.want(200, "GET", "/clients", ""); a.body != `[{"name":"x:1","control":["x:2"],"node":"n1","version_acked":0,"current":false,"asked":"1970-01-01T00:00:01Z"}]`+"\n" {
		t.Error(a.body)
	}
	g.must(t, fsm.AckApps{Acks: []fsm.AppAck{{Name: "x:1", Serial: app.Serial, Version: 2}}})
	if a := f.want(200, "GET", "/clients", ""); !strings.Contains(a.body, `"version_acked":2,"current":true`) {
		t.Error(a.body)
	}
}

func TestWaitUntilApplied(t *testing.T) {
	g := newGroup(t)
	f := serve(t, nbi.Config{Group: g})
	wait := "/handles/e2t?wait=applied"
	type result struct {
		Version uint64
		Applied bool
		Missing []string
	}
	read := func(a answer) (r result) {
		t.Helper()
		if err := json.Unmarshal([]byte(a.body), &r); err != nil {
			t.Fatalf("%s: %v", a.body, err)
		}
		return r
	}
	// Nobody to wait for.
	if r := read(f.want(201, "POST", wait, `{"E2TAddress":"e1:1","ranNamelist":["a"]}`)); !r.Applied || r.Version != 2 {
		t.Errorf("%+v", r)
	}
	g.must(t, fsm.RegisterApp{Name: "x:1", Node: "n1"}, fsm.RegisterApp{Name: "y:1", Node: "n1"})
	// One of two has not said so when the time is over.
	ack := func(name string) {
		v := g.View()
		app, _ := v.App(name)
		g.must(t, fsm.AckApps{Acks: []fsm.AppAck{{Name: name, Serial: app.Serial, Version: v.TableVersion()}}})
	}
	ack("x:1")
	done := make(chan answer, 1)
	go func() { done <- f.do("POST", wait+"&timeout=30s", `{"E2TAddress":"e2:1","ranNamelist":["a"]}`) }()
	eventually(t, "the change", func() bool { return g.View().TableVersion() > 2 })
	ack("x:1")
	select {
	case a := <-done:
		t.Fatalf("answered %s while an app was missing", a.body)
	case <-time.After(50 * time.Millisecond):
	}
	ack("y:1")
	if a := <-done; a.code != 201 || !read(a).Applied {
		t.Errorf("%d %s", a.code, a.body)
	}
	a := f.want(202, "POST", wait+"&timeout=50ms", `{"E2TAddress":"e3:1","ranNamelist":["a"]}`)
	if r := read(a); r.Applied || !slices.Equal(r.Missing, []string{"x:1", "y:1"}) {
		t.Errorf("%+v", r)
	}
}

func TestShutdownEndsWaits(t *testing.T) {
	g := newGroup(t)
	f := serve(t, nbi.Config{Group: g})
	g.must(t, fsm.RegisterApp{Name: "x:1", Node: "n1"})
	done := make(chan answer, 1)
	go func() {
		done <- f.do("POST", "/handles/e2t?wait=applied&timeout=60s", `{"E2TAddress":"e:1","ranNamelist":["a"]}`)
	}()
	eventually(t, "the change", func() bool { return g.View().TableVersion() > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := f.server.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if a := <-done; a.code != http.StatusAccepted {
		t.Errorf("%d %s", a.code, a.body)
	}
}
