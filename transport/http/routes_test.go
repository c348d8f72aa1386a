package http_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	floehttp "floe/transport/http"
	"floe/transport/http/api"
	"floe/transport/routeload"
)

const (
	emptyText = "newrt|start\nnewrt|end|0\nmeid_map|start\nmeid_map|end|0"
	someText  = "newrt|start\nmse|1000|-1|a:1,b:1;c:1\nmse|1001|7|%meid\nnewrt|end|2\nmeid_map|start\nmme_ar|e1:1|g2 gnb_001_001_0000019b\nmeid_map|end|1"
)

// Every call about routes in turn, on one state.
func TestRouteCalls(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", 32)
	steps := []struct {
		method, path string
		body         any
		status       int
		want         string // the body, or the kind of error
	}{
		{"GET", "/v1/routes", nil, 200, emptyText},
		{"GET", "/v1/meids", nil, 200, `[]`},
		{"POST", "/v1/routes/check", someText, 200, `{"ok":true,"routes":2,"meids":2,"findings":[]}`},
		{"POST", "/v1/routes/check", "newrt|start\nmse|1000|-1|a:1\nnewrt|end|2", 200,
			`{"ok":false,"routes":0,"meids":0,"findings":[{"line":3,"column":11,"severity":"error","code":"count","text":"counted 1, end record says 2"}]}`},
		{"POST", "/v1/routes/diff", someText, 200,
			`{"version":0,"removed":[],"added":["mse|1000|-1|a:1,b:1;c:1","mse|1001|7|%meid","mme_ar|e1:1|g2","mme_ar|e1:1|gnb_001_001_0000019b"]}`},
		{"GET", "/v1/routes", nil, 200, emptyText},

		{"POST", "/v1/routes", "newrt|start\nmse|1000|-1|a:1\nnewrt|end|2", 400, "bad_request"},
		{"POST", "/v1/routes", "", 400, "bad_request"},
		{"POST", "/v1/routes?if_version=x", someText, 400, "bad_request"},
		{"POST", "/v1/routes?if_version=7", someText, 409, "changed_meanwhile"},
		{"POST", "/v1/routes?if_version=0", someText, 200, `{"version":3,"routes":2,"meids":2,"changed":true,"findings":[]}`},
		{"POST", "/v1/routes?if_version=0", someText, 409, "changed_meanwhile"},
		{"POST", "/v1/routes", someText, 200, `{"version":3,"routes":2,"meids":2,"changed":false,"findings":[]}`},
		{"GET", "/v1/routes", nil, 200, someText},
		{"POST", "/v1/routes/diff", "updatert|start\nmse|1000|-1|d:1\ndel|1001|7\nupdatert|end|2", 200,
			`{"version":3,"removed":["mse|1000|-1|a:1,b:1;c:1","mse|1001|7|%meid"],"added":["mse|1000|-1|d:1"]}`},
		{"POST", "/v1/routes/diff", "newrt|", 400, "bad_request"},

		{"GET", "/v1/routes/lookup?mtype=1000&subid=5", nil, 200,
			`{"mtype":1000,"subid":5,"groups":[["a:1","b:1"],["c:1"]],"record":"mse|1000|-1|a:1,b:1;c:1","why":["type 1000, sub id 5: no entry","type 1000 without sub id: entry for every sender","a copy to a:1 or b:1","a copy to c:1"]}`},
		{"GET", "/v1/routes/lookup?mtype=1001&subid=7&meid=g2", nil, 200,
			`{"mtype":1001,"subid":7,"owner":"e1:1","record":"mse|1001|7|%meid","why":["type 1001, sub id 7: entry for every sender","the MEID decides","MEID \"g2\" belongs to e1:1"]}`},
		{"GET", "/v1/routes/lookup?mtype=1001&subid=7&meid=gnb_001_001_00019b", nil, 200,
			`{"mtype":1001,"subid":7,"record":"mse|1001|7|%meid","reason":"unknown_meid","near":["gnb_001_001_0000019b"],"why":["type 1001, sub id 7: entry for every sender","the MEID decides","MEID \"gnb_001_001_00019b\" is unknown","spelled almost like it: gnb_001_001_0000019b"]}`},
		{"GET", "/v1/routes/lookup?mtype=9", nil, 200, `{"mtype":9,"subid":-1,"reason":"no_entry","why":["type 9 without sub id: no entry"]}`},
		{"GET", "/v1/routes/lookup", nil, 400, "bad_request"},
		{"GET", "/v1/routes/lookup?mtype=x", nil, 400, "bad_request"},
		{"GET", "/v1/routes/lookup?mtype=1&subid=2147483648", nil, 400, "bad_request"},

		{"POST", "/v1/meids", api.SetMEIDs{Owner: "e2:1", MEIDs: []string{"g2", "g3"}}, 200, `{"version":6,"changed":2}`},
		{"POST", "/v1/meids?if_version=3", api.SetMEIDs{Owner: "e2:1", MEIDs: []string{"g4"}}, 409, "changed_meanwhile"},
		{"POST", "/v1/meids", api.SetMEIDs{Owner: "e2", MEIDs: []string{"g4"}}, 400, "bad_request"},
		{"POST", "/v1/meids", api.SetMEIDs{Owner: "e2:1"}, 400, "bad_request"},
		{"POST", "/v1/meids", api.SetMEIDs{Owner: "e2:1", MEIDs: []string{long}}, 400, "bad_request"},
		{"POST", "/v1/meids", api.SetMEIDs{Owner: "e2:1", MEIDs: []string{long[1:]}}, 200, `{"version":8,"changed":1}`},
		{"GET", "/v1/meids?meid=g2", nil, 200, `{"meid":"g2","owner":"e2:1"}`},
		{"GET", "/v1/meids?meid=zz", nil, 404, "no_such_meid"},
		{"DELETE", "/v1/meids", api.DeleteMEIDs{MEIDs: []string{long[1:], "g3", "never"}}, 200, `{"version":9,"changed":2}`},
		{"DELETE", "/v1/meids", api.DeleteMEIDs{MEIDs: []string{""}}, 400, "bad_request"},
		{"GET", "/v1/meids", nil, 200, `[{"meid":"g2","owner":"e2:1"},{"meid":"gnb_001_001_0000019b","owner":"e1:1"}]`},
		{"GET", "/v1/meids?owner=e1:1", nil, 200, `[{"meid":"gnb_001_001_0000019b","owner":"e1:1"}]`},
		{"PUT", "/v1/routes", nil, 405, "method_not_allowed"},
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
}

// M10, M11: what is said about an MEID that is not there names those that are
// spelled almost alike, or the limit.
func TestUnknownMEIDs(t *testing.T) {
	w := newWorld(t)
	w.do(t, "POST", "/v1/routes", someText)
	for meid, want := range map[string]string{
		"gnb_001_001_00019b":    "spelled almost like it: gnb_001_001_0000019b",
		strings.Repeat("x", 32): "at most 31",
	} {
		if _, body, _ := w.do(t, "GET", "/v1/meids?meid="+meid, nil); !strings.Contains(body, want) {
			t.Errorf("%s: got %s, want %q", meid, body, want)
		}
	}
}

func TestRoutesSayTheirVersion(t *testing.T) {
	w := newWorld(t)
	w.do(t, "POST", "/v1/routes", someText)
	_, _, h := w.do(t, "GET", "/v1/routes?stale=1", nil)
	if h.Get("Floe-Routes-Version") != "2" || h.Get("Floe-Index") != "2" || h.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("headers: %v", h)
	}
}

// An error names the line, for programs too; warnings come with the answer.
func TestFindingsOfALoad(t *testing.T) {
	w := newWorld(t)
	_, body, _ := w.do(t, "POST", "/v1/routes", "newrt|start\nmse|1000|-1|a:1\nnewrt|end|2")
	want := `{"error":{"kind":"bad_request","message":"line 3, column 11: counted 1, end record says 2","line":3}}`
	if body != want {
		t.Errorf("got %s, want %s", body, want)
	}
	twice := "newrt|start\nmse|7|-1|a:1\nmse|7|-1|b:1\nnewrt|end|2"
	var loaded api.Loaded
	if _, body, _ := w.do(t, "POST", "/v1/routes", twice); json.Unmarshal([]byte(body), &loaded) != nil || loaded.Routes != 1 {
		t.Fatal(body)
	}
	said := ""
	for _, f := range loaded.Findings {
		said += f.String() + "\n"
	}
	if !strings.Contains(said, "line 3") || !strings.Contains(said, "line 2") {
		t.Errorf("T18: findings do not name both lines: %s", said)
	}
	w = newWorld(t, func(c *floehttp.Config) { c.RefuseReserved = true })
	if status, body, _ := w.do(t, "POST", "/v1/routes", twice); status != 400 || kind(body) != api.BadRequest {
		t.Errorf("a reserved type passes: %s", body)
	}
}

// A large load that failed on the way certainly changed nothing.
func TestLoadsAreNeverHalfDone(t *testing.T) {
	w := newWorld(t)
	var b strings.Builder
	b.WriteString("newrt|start\n")
	for i := range 20_000 {
		fmt.Fprintf(&b, "mse|%d|-1|10.0.0.1:4560\n", 1000+i)
	}
	b.WriteString("newrt|end\n")
	if status, body, _ := w.do(t, "POST", "/v1/routes", b.String()); status != 200 {
		t.Fatal(body)
	}
	if d := cmp.Diff(w.group.View().Routes.Loaded.Table.Len(), 20_000); d != "" {
		t.Error(d)
	}
	w.group.fail = &routeload.NotMade{}
	if status, body, _ := w.do(t, "POST", "/v1/routes", someText); status != 500 || kind(body) != api.Internal {
		t.Errorf("%d %s", status, body)
	}
	w.group.fail = &fsm.Refusal{Kind: fsm.ErrNoLoad}
	if status, body, _ := w.do(t, "POST", "/v1/routes", someText); status != 409 || kind(body) != api.Changed {
		t.Errorf("%d %s", status, body)
	}
}
