package http_test

import (
	"strings"
	"testing"

	"floe/fsm"
	"floe/transport/http/api"
)

// Apps, the relay, and what is said of a message on its way.
func TestAppCalls(t *testing.T) {
	w := newWorld(t)
	w.group.must(fsm.CreateTopic{Name: "alarms"})
	status, _, _ := w.do(t, "POST", "/v1/routes", "newrt|start\nmse|1000|-1|a:1,b:1;topic:alarms;topic:none\nmse|1001|-1|%meid\nnewrt|end|2\nmeid_map|start\nmme_ar|e:1|g\nmeid_map|end|1")
	if status != 200 {
		t.Fatal(status)
	}
	table := w.group.View().TableVersion()
	app := w.group.index + 1
	w.group.must(
		fsm.RegisterApp{Name: "s:1", Control: []string{"s:2", "10.0.0.1:2"}, Node: "n1"},
		fsm.AckApps{Acks: []fsm.AppAck{{Name: "s:1", Serial: app, Version: table}}},
	)
	const direct = `"programs send it straight to the endpoint, by the table they were given"`
	for _, s := range []struct {
		method, path string
		body         any
		status       int
		want         string
	}{
		{"GET", "/v1/apps", nil, 200, `[{"name":"s:1","address":"s:2","node":"n1","version_sent":0,"version_acked":3,"age_seconds":0,"error":""}]`},
		{"GET", "/v1/routes/relay", nil, 200, `{"all":false,"except":[],"version":3}`},
		{"GET", "/v1/trace/message?mtype=1001&meid=g&sender=s:1", nil, 200,
			`{"mtype":1001,"subid":-1,"owner":"e:1","record":"mse|1001|-1|%meid","why":["type 1001 without sub id: entry for every sender","the MEID decides","MEID \"g\" belongs to e:1","s:1 has this table, version 3",` + direct + `]}`},
		{"POST", "/v1/routes/relay", api.SetRelay{On: true}, 200, `{"all":true,"except":[],"version":6}`},
		{"POST", "/v1/routes/relay", map[string]any{"on": false, "mtype": 1001}, 200, `{"all":true,"except":[1001],"version":7}`},
		{"POST", "/v1/routes/relay", "on", 400, "bad_request"},
		{"GET", "/v1/trace/message?mtype=1000&sender=x:1", nil, 200,
			`{"mtype":1000,"subid":-1,"groups":[["a:1","b:1"],["topic:alarms"],["topic:none"]],"record":"mse|1000|-1|a:1,b:1;topic:alarms;topic:none","why":[` +
				`"type 1000 without sub id: entry for every sender","a copy to a:1 or b:1","a copy to topic:alarms","a copy to topic:none",` +
				`"no program named x:1 asked for a table: floe routes apps lists those that did; did you mean \"s:1\"?","the relay is on for type 1000: programs send it to floe, which sends it on",` +
				`"topic \"alarms\" has 0 subscribers in this cluster; a message crosses none of its links","there is no topic \"none\": what is meant for it is dropped"]}`},
		{"GET", "/v1/trace/message?mtype=1001&meid=gg&sender=s:1", nil, 200,
			`{"mtype":1001,"subid":-1,"record":"mse|1001|-1|%meid","reason":"unknown_meid","near":["g"],"why":["type 1001 without sub id: entry for every sender","the MEID decides","MEID \"gg\" is unknown","spelled almost like it: g","s:1 acknowledged version 3, the table is at 7: it may go by an older one"]}`},
		{"GET", "/v1/trace/message", nil, 400, "bad_request"},
		{"POST", "/v1/routes/check", "newrt|start\nmse|1000|-1|s:1,10.0.0.1:1;topic:none\nnewrt|end|1", 200,
			`{"ok":true,"routes":1,"meids":0,"findings":[` +
				`{"line":2,"column":13,"severity":"warning","code":"same-program","text":"s:1 and 10.0.0.1:1 are one program, s:1: it gets two turns"},` +
				`{"line":2,"column":28,"severity":"warning","code":"unknown-topic","text":"there is no topic \"none\": what is meant for it is dropped"}]}`},
	} {
		status, body, _ := w.do(t, s.method, s.path, s.body)
		got := body
		if k := kind(body); k != "" {
			got = string(k)
		}
		if status != s.status || got != s.want {
			t.Errorf("%s %s: %d\n%s\nwant %d\n%s", s.method, s.path, status, got, s.status, s.want)
		}
	}
	w.group.must(fsm.SetProbed{Dead: []string{"a:1"}})
	_, body, _ := w.do(t, "GET", "/v1/trace/message?mtype=1000", nil)
	if want := "a:1 found dead and passed over"; !strings.Contains(body, want) {
		t.Errorf("%s\nsays nothing of %q", body, want)
	}
}
