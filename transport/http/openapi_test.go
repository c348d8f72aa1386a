package http

import (
	"bytes"
	"cmp"
	"encoding/json"
	goflag "flag"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"floe/transport/http/api"
)

var update = goflag.Bool("update", false, "write openapi.json anew")

// described says what the code of a call does not say by itself: the types of
// body and answer. Parameters are found in the handlers, and summaries in
// docs/http.md.
type described struct {
	// body and answer are values of the types that travel as JSON; nil: none.
	body, answer any
	// takes and gives are the content types where that is not JSON.
	takes, gives string
}

const (
	plainText = "text/plain"
	bytesType = "application/octet-stream"
)

// either is an answer of one of two shapes.
type either [2]any

var describedCalls = map[string]described{
	"GET /v1/topics":         {answer: either{[]api.Topic{}, api.Topic{}}},
	"POST /v1/topics":        {body: api.NewTopic{}, answer: api.Topic{}},
	"DELETE /v1/topics":      {answer: api.Removed{}},
	"GET /v1/links":          {answer: []api.Link{}},
	"POST /v1/links":         {body: api.NewLink{}, answer: api.Link{}},
	"DELETE /v1/links":       {answer: api.Removed{}},
	"GET /v1/subscribers":    {answer: []api.Subscriber{}},
	"DELETE /v1/subscribers": {answer: api.Removed{}},
	"GET /v1/graph":          {answer: api.Graph{}},
	"POST /v1/apply":         {body: api.Apply{}, answer: api.Applied{}},
	"GET /v1/clusters":       {answer: []api.Cluster{}},
	"POST /v1/clusters":      {body: api.Cluster{}, answer: api.Cluster{}},
	"DELETE /v1/clusters":    {answer: api.Removed{}},
	"GET /v1/members":        {answer: []api.Member{}},
	"GET /v1/status":         {answer: api.Status{}},
	"POST /v1/join":          {body: api.Join{}, answer: api.Done{}},
	"POST /v1/leave":         {answer: api.Done{}},
	"POST /v1/remove":        {body: api.Remove{}, answer: api.Done{}},
	"POST /v1/transfer":      {body: api.Transfer{}, answer: api.Done{}},
	"POST /v1/drain":         {body: api.Drain{}, answer: api.Done{}},
	"GET /v1/backup":         {gives: bytesType},
	"POST /v1/restore":       {takes: bytesType, answer: api.Restored{}},
	"POST /v1/events":        {body: api.Publish{}, answer: api.Done{}},
	"GET /v1/events":         {answer: api.Event{}, gives: "application/x-ndjson"},
	"GET /v1/settings":       {answer: []api.Setting{}},
	"POST /v1/settings":      {body: api.Setting{}, answer: api.Setting{}},
	"GET /v1/routes":         {gives: plainText},
	"POST /v1/routes":        {takes: plainText, answer: api.Loaded{}},
	"POST /v1/routes/check":  {takes: plainText, answer: api.Checked{}},
	"POST /v1/routes/diff":   {takes: plainText, answer: api.RoutesDiff{}},
	"GET /v1/routes/lookup":  {answer: api.RouteFound{}},
	"GET /v1/routes/relay":   {answer: api.Relay{}},
	"POST /v1/routes/relay":  {body: api.SetRelay{}, answer: api.Relay{}},
	"GET /v1/apps":           {answer: []api.App{}},
	"GET /v1/traffic":        {answer: api.Traffic{}},
	"GET /v1/top":            {answer: api.Top{}},
	"GET /v1/history":        {answer: api.History{}},
	"GET /v1/watch":          {gives: "text/event-stream", answer: either{api.Record{}, either{api.Progress{}, api.Gap{}}}},
	"POST /v1/revert":        {body: api.Revert{}, answer: api.Reverted{}},
	"GET /v1/trace/topic":    {answer: api.TopicTrace{}},
	"GET /v1/trace/message":  {answer: api.RouteFound{}},
	"GET /v1/meids":          {answer: either{[]api.MEID{}, api.MEID{}}},
	"POST /v1/meids":         {body: api.SetMEIDs{}, answer: api.MEIDsChanged{}},
	"DELETE /v1/meids":       {body: api.DeleteMEIDs{}, answer: api.MEIDsChanged{}},
	"GET /v1/keys":           {answer: api.Keys{}},
	"POST /v1/keys":          {body: api.KeyChange{}, answer: api.Keys{}},
	"GET /v1/tokens":         {answer: []api.Token{}},
	"POST /v1/tokens":        {body: api.NewToken{}, answer: api.Token{}},
	"DELETE /v1/tokens":      {answer: api.Removed{}},

	"POST /v1/import/icestorm": {body: api.ImportIceStorm{}, answer: api.Imported{}},
	"POST /v1/import/rtmgr":    {body: api.ImportRouteManager{}, answer: api.RoutesImported{}},

	"GET /healthz":      {gives: plainText},
	"GET /readyz":       {gives: plainText},
	"GET /metrics":      {gives: plainText},
	"GET /openapi.json": {answer: map[string]any{}},
}

// parameter is what is known of one by its name, or by call and name where a
// call means something else; a * means that it may be repeated. The handlers
// say which call has it.
type parameter struct{ kind, about string }

var parameters = map[string]parameter{
	"name":               {"string", "a name, whole"},
	"topic":              {"string", "a topic's name"},
	"topic*":             {"string", "a topic's name; may be repeated"},
	"from":               {"string", "the topic a link comes from"},
	"to":                 {"string", "where it leads to, as lists of links show it"},
	"messages":           {"boolean", "the link leads to messages, and to is MTYPE or MTYPE/SUBID"},
	"force":              {"boolean", "also where a route leads to the topic"},
	"identity":           {"string", "a subscriber's Ice identity"},
	"if_version":         {"integer", "only if the routes are at this version"},
	"mtype":              {"integer", "message type"},
	"subid":              {"integer", "subscription id, -1 for none"},
	"meid":               {"string", "an MEID, whole"},
	"owner":              {"string", "an endpoint, HOST:PORT"},
	"prefix":             {"string", "what they begin with"},
	"sender":             {"string", "the endpoint the message comes from"},
	"limit":              {"integer", "so many at most"},
	"all":                {"boolean", "with changes that nodes made by themselves"},
	"cost":               {"integer", "the event's cost"},
	"context*":           {"string", "KEY=VALUE of the event's context; may be repeated"},
	"GET /v1/watch from": {"integer", "the index after which changes are wanted; those to come unless given"},
	"stale":              {"boolean", "answer from the asked node's own copy, with or without a majority; headers say how good it is, and in the request Floe-Index how far it has to be"},
}

// needed are the parameters without which a call is refused.
var needed = map[string][]string{
	"DELETE /v1/topics": {"name"}, "DELETE /v1/links": {"from", "to"}, "DELETE /v1/subscribers": {"topic", "identity"},
	"DELETE /v1/clusters": {"name"}, "DELETE /v1/tokens": {"name"}, "GET /v1/events": {"topic*"}, "GET /v1/routes/lookup": {"mtype"},
	"GET /v1/trace/message": {"mtype"}, "GET /v1/trace/topic": {"topic"},
}

// summaries are what docs/http.md says of each call.
func summaries(t *testing.T) map[string]string {
	page, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:GET|POST|PUT|DELETE) /[^`]*)` \\| (.*) \\|$").FindAllStringSubmatch(string(page), -1) {
		found[m[1]] = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[2], "$1")
	}
	return found
}

// document makes the whole description.
func document(t *testing.T) []byte {
	src, say, types := readSource(t), summaries(t), newSchemas(t)
	paths := map[string]map[string]any{}
	for _, call := range slices.Sorted(maps.Keys(describedCalls)) {
		method, path, _ := strings.Cut(call, " ")
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(method)] = operation(call, src, say[call], types)
	}
	for _, call := range slices.Sorted(maps.Keys(describedCalls)) { // once all answers have their names
		if d := describedCalls[call]; d.body != nil || d.takes != "" {
			method, path, _ := strings.Cut(call, " ")
			paths[path][strings.ToLower(method)].(map[string]any)["requestBody"] = map[string]any{"required": true,
				"content": content(d.takes, types.body(d.body, src.bodyFields(call)))}
		}
	}
	doc := map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": "floe", "version": "1", "license": map[string]any{"name": "Apache License 2.0", "identifier": "Apache-2.0"},
			"description": "Any node takes any call. Unknown fields of bodies are refused; answers may gain fields. See docs/http.md."},
		"servers":  []any{map[string]any{"url": "/"}},
		"security": []any{map[string]any{"token": []any{}}, map[string]any{"certificate": []any{}}, map[string]any{}},
		"paths":    paths,
		"components": map[string]any{
			"schemas": types.byName,
			"securitySchemes": map[string]any{
				"token":       map[string]any{"type": "http", "scheme": "bearer", "description": "a token of floe token add"},
				"certificate": map[string]any{"type": "mutualTLS", "description": "a certificate of floe cert client"},
			},
			"parameters": map[string]any{"timeout": map[string]any{"name": "Floe-Timeout", "in": "header", "schema": map[string]any{"type": "integer"},
				"description": "how many milliseconds the caller waits; 5000 unless given"}},
			"responses": map[string]any{"refused": map[string]any{"description": "it was refused, or failed", "content": content("", types.of(api.ErrorBody{}))}},
		},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(doc); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func operation(call string, src *code, summary string, types *schemas) map[string]any {
	d := describedCalls[call]
	responses := map[string]any{
		"200":     map[string]any{"description": "done", "content": content(d.gives, types.of(d.answer))},
		"default": map[string]any{"$ref": "#/components/responses/refused"},
	}
	if call == "GET /readyz" {
		responses["503"] = map[string]any{"description": "not ready, and why", "content": content(d.gives, types.of(nil))}
	}
	op := map[string]any{"operationId": src.handlers[call], "summary": summary, "responses": responses}
	if need := needs[call]; need == anybody {
		op["security"] = []any{}
	} else {
		op["x-floe-role"] = need
		op["parameters"] = append(queryParameters(call, src), map[string]any{"$ref": "#/components/parameters/timeout"})
	}
	return op
}

func meaningOf(call, name string) parameter {
	return cmp.Or(parameters[call+" "+name], parameters[name])
}

func queryParameters(call string, src *code) (params []any) {
	for _, name := range src.parameters(call) {
		p := meaningOf(call, name)
		schema := map[string]any{"type": p.kind}
		if strings.HasSuffix(name, "*") {
			schema = map[string]any{"type": "array", "items": schema}
		}
		params = append(params, map[string]any{"name": strings.TrimSuffix(name, "*"), "in": "query", "schema": schema, "description": p.about,
			"required": slices.Contains(needed[call], name)})
	}
	return params
}

// content is a schema under its content type, JSON where that is empty.
func content(contentType string, schema map[string]any) map[string]any {
	if contentType == bytesType {
		schema = map[string]any{}
	}
	return map[string]any{cmp.Or(contentType, "application/json"): map[string]any{"schema": schema}}
}

// The document says what the code does: it is made of it.
func TestOpenAPIIsTheCodes(t *testing.T) {
	want := document(t)
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("openapi.json (-) and the code (+) differ; go test ./transport/http -run TestOpenAPI -update writes it anew:\n%s", diff)
	}
}

// Every call that needs rights, and every one for monitors, is described, and
// nothing else; each has a summary.
func TestOpenAPIHasEveryCall(t *testing.T) {
	calls := maps.Clone(needs)
	for _, own := range []string{"/", "GET /{$}"} { // the web page's
		delete(calls, own)
	}
	src, say := readSource(t), summaries(t)
	for call := range calls {
		if _, found := describedCalls[call]; !found {
			t.Errorf("%s is not described", call)
		}
	}
	for call := range describedCalls {
		if _, found := calls[call]; !found {
			t.Errorf("%s is described, and is no call", call)
		}
		if src.handlers[call] == "" || say[call] == "" {
			t.Errorf("%s: handler %q, summary %q", call, src.handlers[call], say[call])
		}
	}
}

// The parameters that handlers read are those that have a meaning.
func TestOpenAPIHasEveryParameter(t *testing.T) {
	src, used := readSource(t), map[string]bool{}
	for call := range describedCalls {
		names := src.parameters(call)
		for _, name := range names {
			used[name], used[call+" "+name] = true, true
			if meaningOf(call, name).kind == "" {
				t.Errorf("%s reads the parameter %q, of which nothing is said", call, name)
			}
		}
		for _, name := range needed[call] {
			if !slices.Contains(names, name) {
				t.Errorf("%s needs %q, and does not read it", call, name)
			}
		}
	}
	for name := range parameters {
		if !used[name] {
			t.Errorf("no call reads the parameter %q", name)
		}
	}
}

// A node serves it, without rights.
func TestOpenAPIIsServed(t *testing.T) {
	if need := needs["GET /openapi.json"]; need != anybody {
		t.Errorf("it needs the role %s", need)
	}
	recorder := httptest.NewRecorder()
	(&Server{}).describe(recorder, nil)
	var doc struct {
		OpenAPI string         `json:"openapi"`
		Paths   map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &doc); err != nil || doc.OpenAPI != "3.1.0" || len(doc.Paths) < 30 {
		t.Errorf("got %d paths of version %q: %v", len(doc.Paths), doc.OpenAPI, err)
	}
	if got := recorder.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("it is %s", got)
	}
}
