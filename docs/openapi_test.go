package docs_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"floe/scripts/floetest"
)

// asker makes calls as the page shows them, and holds each to the document
// that the node serves.
type asker struct {
	t    *testing.T
	dir  string // of the files that commands name
	doc  map[string]any
	done map[string]bool // operations that were answered with 2xx
}

// asked is one call: what is sent.
type asked struct {
	method, at string
	body       []byte
	headers    bool // print them, too
	lines      int  // to read of an answer that does not end
}

// secret is that of the gossip of those nodes that have one.
const secret = "FLOE_GOSSIP_KEY=MDEyMzQ1Njc4OWFiY2RlZg=="

// TestHTTPPageAndDocument makes every call of http.md, compares the answers
// with those that stand there, and holds bodies and answers to the document
// that the node serves at /openapi.json.
func TestHTTPPageAndDocument(t *testing.T) {
	n, west := startReady(t, "n1", secret), startReady(t, "west")
	a := newAsker(t, n)
	places := strings.NewReplacer("127.0.0.9:7400", west.Peer(), "127.0.0.1:7480", n.HTTP(), "127.0.0.1:7400", n.Peer(), "127.0.0.1", n.IP)
	page := blocks(places.Replace(read(t, "http.md")))
	for i, b := range page {
		if i == 0 {
			continue // its answer is that after all others
		}
		a.run(b)
	}
	a.run(page[0])
	a.others(n, west)
	for path, methods := range a.doc["paths"].(map[string]any) {
		for method := range methods.(map[string]any) {
			if op := strings.ToUpper(method) + " " + path; !a.done[op] {
				t.Errorf("%s was never answered", op)
			}
		}
	}
}

func newAsker(t *testing.T, n *floetest.Node) *asker {
	t.Helper()
	a := &asker{t: t, dir: t.TempDir(), done: map[string]bool{}}
	code, text := floetest.Get(n.HTTP(), "/openapi.json")
	if err := json.Unmarshal([]byte(text), &a.doc); err != nil || code != 200 {
		t.Fatalf("/openapi.json: %d %v", code, err)
	}
	for name, text := range map[string]string{
		"routes.txt": "newrt|start\nmse|1000|-1|10.0.1.1:4560,10.0.1.2:4560\nmse|1001|-1|%meid\nnewrt|end|2\nmeid_map|start\nmme_ar|10.0.2.1:38000|g2\nmeid_map|end|1\n",
		"other.txt":  "newrt|start\nmse|7|-1|10.0.1.1:4560\nnewrt|end|1\n",
		"bad.txt":    "newrt|start\nmse|1000|-1|10.0.1.1:4560\nnewrt|end|2\n",
	} {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// block is commands of a page with the answers below them.
type block struct{ commands, answers []string }

// blocks are the page's, in order.
func blocks(page string) (all []block) {
	for _, m := range regexp.MustCompile("(?ms)^```sh\n([^`]*)^```\n\n```text\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		all = append(all, block{strings.Split(strings.TrimSpace(m[1]), "\n"), strings.Split(strings.TrimSpace(m[2]), "\n")})
	}
	return all
}

// run makes the calls of a block and compares what comes with what stands
// there.
func (a *asker) run(b block) {
	a.t.Helper()
	var got strings.Builder
	for _, command := range b.commands {
		ask := a.parse(command)
		ask.lines = len(b.answers)
		got.WriteString(a.call(ask))
	}
	lines := strings.Split(strings.TrimSpace(got.String()), "\n")
	for i, want := range b.answers {
		like := likeness(want)
		for len(lines) > len(b.answers)-i && !like.MatchString(lines[0]) {
			lines = lines[1:] // a header that does not stand there
		}
		if len(lines) == 0 || !like.MatchString(lines[0]) {
			a.t.Errorf("%s:\nthe page says %s\nthe node says %s", strings.Join(b.commands, "\n"), want, strings.Join(lines, "\n"))
			return
		}
		lines = lines[1:]
	}
}

// likeness is a line of the page as a pattern: ids, indexes and times differ
// from run to run, and ... stands for more.
func likeness(line string) *regexp.Regexp {
	p := regexp.QuoteMeta(line)
	p = strings.ReplaceAll(p, `\.\.\.`, `.*`)
	p = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).ReplaceAllString(p, `[0-9a-f-]{36}`)
	p = regexp.MustCompile(`"digest":"[0-9a-f]+"`).ReplaceAllString(p, `"digest":"[0-9a-f]+"`)
	p = regexp.MustCompile(`"(id|index|applied_index|version|serial|term)":\d+`).ReplaceAllString(p, `"$1":\d+`)
	p = regexp.MustCompile(`"version":"[^"]*"`).ReplaceAllString(p, `"version":"[^"]*"`)
	p = regexp.MustCompile(`(Floe-\w+: )[\d\\.]+`).ReplaceAllString(p, `$1[\d.]+`)
	p = regexp.MustCompile(`at version \d+, not`).ReplaceAllString(p, `at version \d+, not`)
	return regexp.MustCompile(`^` + p + `$`)
}

// parse reads a command line of curl, as far as the page uses it.
func (a *asker) parse(command string) asked {
	a.t.Helper()
	words, ask := shellWords(command), asked{}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-i":
			ask.headers = true
		case "-N":
		case "-X":
			i++
			ask.method = words[i]
		case "-d", "--data-binary":
			i++
			ask.body = []byte(words[i])
			if name, file := strings.CutPrefix(words[i], "@"); file {
				ask.body = []byte(read(a.t, filepath.Join(a.dir, name)))
			}
			if ask.method == "" {
				ask.method = "POST"
			}
		default:
			ask.at = words[i]
		}
	}
	if ask.method == "" {
		ask.method = "GET"
	}
	if words[0] != "curl" || ask.at == "" {
		a.t.Fatalf("%s is no call", command)
	}
	return ask
}

// shellWords splits a line at blanks outside of single quotes. In quotes \n
// stays what it is: it is JSON's.
func shellWords(line string) (words []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}

// call makes a call, holds it to the document, and returns its answer.
func (a *asker) call(ask asked) string {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), floetest.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, ask.method, "http://"+ask.at, bytes.NewReader(ask.body))
	if err != nil {
		a.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	op := a.operation(ask, req.URL)
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/x-ndjson") || strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return a.stream(op, ask, resp)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	a.answer(op, ask, resp, body)
	text := strings.TrimSuffix(string(body), "\n") + "\n"
	if ask.headers {
		var h bytes.Buffer
		_ = resp.Header.Write(&h) // it is memory
		text = resp.Proto + " " + resp.Status + "\n" + strings.ReplaceAll(h.String(), "\r", "") + "\n" + text
	}
	return text
}

// operation finds a call in the document, and holds its parameters and body to it.
func (a *asker) operation(ask asked, u *url.URL) map[string]any {
	a.t.Helper()
	op, found := dig(a.doc, "paths", u.Path, strings.ToLower(ask.method)).(map[string]any)
	if !found {
		a.t.Fatalf("%s %s is not in the document", ask.method, u.Path)
	}
	known := map[string]bool{}
	all, _ := op["parameters"].([]any)
	for _, p := range all {
		if name, named := dig(p, "name").(string); named {
			known[name] = true
			if dig(p, "required") == true && !u.Query().Has(name) {
				a.t.Errorf("%s %s lacks %s", ask.method, ask.at, name)
			}
		}
	}
	for name := range u.Query() {
		if !known[name] {
			a.t.Errorf("%s %s: the document knows no parameter %s", ask.method, ask.at, name)
		}
	}
	if schema := dig(op, "requestBody", "content", "application/json", "schema"); schema != nil {
		a.valid(schema, ask.body, ask.at)
	}
	return op
}

// answer holds an answer to the document.
func (a *asker) answer(op map[string]any, ask asked, resp *http.Response, body []byte) {
	a.t.Helper()
	content := dig(op, "responses", "200", "content")
	if resp.StatusCode != http.StatusOK {
		content = dig(a.doc, "components", "responses", "refused", "content")
	} else {
		a.done[ask.method+" "+resp.Request.URL.Path] = true
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	media := dig(content, kind)
	if media == nil {
		a.t.Fatalf("%s %s: the document knows no answer of %s: %s", ask.method, ask.at, kind, body)
	}
	if kind == "application/json" {
		a.valid(dig(media, "schema"), body, ask.at)
	}
}

// stream reads the first lines of an answer that does not end. Once it is
// subscribed to events, one is published.
func (a *asker) stream(op map[string]any, ask asked, resp *http.Response) string {
	a.t.Helper()
	kind := resp.Header.Get("Content-Type")
	schema := dig(op, "responses", "200", "content", kind, "schema")
	if schema == nil {
		a.t.Fatalf("%s: the document knows no answer of %s", ask.at, kind)
	}
	a.done[ask.method+" "+resp.Request.URL.Path] = true
	got, lines := "", bufio.NewReader(resp.Body)
	for n := 0; n < ask.lines; {
		line, err := lines.ReadString('\n')
		if err != nil {
			a.t.Errorf("%s ended after %q: %v", ask.at, got, err)
			return got
		}
		data, isData := strings.CutPrefix(line, "data:")
		if !isData && kind == "text/event-stream" {
			continue
		}
		a.valid(schema, []byte(data), ask.at)
		got += data
		if n++; n == 1 && strings.Contains(data, "subscribed") {
			a.call(asked{method: "POST", at: resp.Request.URL.Host + "/v1/events", body: []byte(`{"topic":"A","context":{"cost":"1"},"data":"aGVsbG8="}`)})
		}
	}
	return got
}

func dig(v any, path ...string) any {
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// valid holds JSON to a schema of the document, as far as it uses them.
// Fields of which the schema knows nothing are wrong.
func (a *asker) valid(schema any, body []byte, where string) {
	a.t.Helper()
	if len(body) == 0 {
		return // a body that is left out
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		a.t.Errorf("%s: %v: %s", where, err, body)
		return
	}
	if err := a.matches(schema, v, "answer"); err != nil {
		a.t.Errorf("%s: %v\n%s", where, err, body)
	}
}

func (a *asker) matches(schema, v any, at string) error {
	if ref, ok := dig(schema, "$ref").(string); ok {
		schema = dig(a.doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	if all, ok := dig(schema, "anyOf").([]any); ok {
		var first error
		for _, one := range all {
			err := a.matches(one, v, at)
			if err == nil {
				return nil
			}
			first = fmt.Errorf("%w; %v", err, first)
		}
		return first
	}
	switch v := v.(type) {
	case map[string]any:
		return a.matchesObject(schema, v, at)
	case []any:
		for i, item := range v {
			if err := a.matches(dig(schema, "items"), item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
		return isKind(schema, at, "array")
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); dig(schema, "format") == "date-time" && err != nil {
			return fmt.Errorf("%s: %v", at, err)
		}
		if _, err := base64.StdEncoding.DecodeString(v); dig(schema, "contentEncoding") == "base64" && err != nil {
			return fmt.Errorf("%s: %v", at, err)
		}
		if all, ok := dig(schema, "enum").([]any); ok && !contains(all, v) {
			return fmt.Errorf("%s: %q is none of %v", at, v, all)
		}
		return isKind(schema, at, "string")
	case float64:
		if least, ok := dig(schema, "minimum").(float64); ok && v < least {
			return fmt.Errorf("%s: %v is below %v", at, v, least)
		}
		if v == float64(int64(v)) && dig(schema, "type") == "integer" {
			return nil
		}
		return isKind(schema, at, "number")
	case bool:
		return isKind(schema, at, "boolean")
	}
	return isKind(schema, at, "null")
}

func (a *asker) matchesObject(schema any, v map[string]any, at string) error {
	needed, _ := dig(schema, "required").([]any)
	for _, name := range needed {
		if _, there := v[name.(string)]; !there {
			return fmt.Errorf("%s: %s is missing", at, name)
		}
	}
	for name, value := range v {
		of := dig(schema, "properties", name)
		if of == nil {
			of, _ = dig(schema, "additionalProperties").(map[string]any)
		}
		if fields, _ := of.(map[string]any); fields == nil && dig(schema, "properties") != nil {
			return fmt.Errorf("%s.%s is not in the document", at, name)
		}
		if err := a.matches(of, value, at+"."+name); err != nil {
			return err
		}
	}
	return isKind(schema, at, "object")
}

func isKind(schema any, at, kind string) error {
	if want := dig(schema, "type"); want != nil && want != kind {
		return fmt.Errorf("%s is %s, not %v", at, kind, want)
	}
	return nil
}

func contains(all []any, v string) bool {
	for _, one := range all {
		if one == v {
			return true
		}
	}
	return false
}

// others makes the calls that the page has no example of.
func (a *asker) others(n, west *floetest.Node) {
	a.t.Helper()
	do := func(method, path string, body ...string) string {
		a.t.Helper()
		return a.call(asked{method: method, at: n.HTTP() + path, body: []byte(strings.Join(body, "")), lines: 1})
	}
	subscribe(a.t, n, "A")
	message(a.t, n)
	do("POST", "/v1/events", `{"topic":"A","data":"aGVsbG8="}`)
	do("POST", "/v1/clusters", fmt.Sprintf(`{"name":"west","addresses":[%q]}`, west.Peer()))
	west.Must("create", "News")
	do("POST", "/v1/links", `{"from":"A","to":"west/News","cost":3}`)
	do("POST", "/v1/links", `{"from":"A","to":"1000","messages":true,"cost":0}`)
	do("DELETE", "/v1/links?from=A&to=1000&messages=true")
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/links?topic=A&stale=1", "/v1/subscribers?stale=1", "/v1/apps", "/v1/traffic?topic=A",
		"/v1/top", "/v1/history?limit=10&all=true&topic=A", "/v1/trace/topic?topic=A&cost=1&context=k=v", "/v1/trace/message?mtype=1001&subid=-1&meid=g2&sender=h:1",
		"/v1/meids?meid=none", "/v1/meids?owner=10.0.2.1:38000", "/v1/routes/relay", "/v1/keys", "/v1/watch?from=1", "/v1/topics?name=nothing"} {
		do("GET", path)
	}
	do("DELETE", "/v1/subscribers?topic=A&identity=nobody")
	do("POST", "/v1/routes/diff", read(a.t, filepath.Join(a.dir, "other.txt")))
	do("POST", "/v1/routes/relay", `{"on":true,"mtype":7}`)
	do("POST", "/v1/revert", `{"to":5,"check":true}`)
	do("POST", "/v1/import/icestorm", `{"instance":"IceStorm","topics":["Old"],"receivers":[],"check":true}`)
	do("POST", "/v1/import/rtmgr", `{"texts":["PlatformComponents:\n- {name: SUBMAN, fqdn: submgr, port: 4560}\nPlatformRoutes:\n- {messagetype: RIC_SUB_RESP, subscriptionid: -1, endpoint: SUBMAN}\n"],"check":true}`)
	do("POST", "/v1/keys", `{"do":"add","key":"YWJjZGVmMDEyMzQ1Njc4OQ=="}`)
	a.membership(n)
	do("POST", "/v1/tokens", `{"name":"j","join":true}`)
	do("GET", "/v1/tokens")
	do("DELETE", "/v1/tokens?name=j")
	do("GET", "/v1/backup?stale=1")
	resp, err := http.Get("http://" + n.HTTP() + "/v1/backup?stale=1") // byte by byte: its checksum may end like a line
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	backup, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	fresh := startReady(a.t, "fresh")
	a.call(asked{method: "POST", at: fresh.HTTP() + "/v1/restore", body: backup})
}

// membership has two nodes come, one of which is removed, and one leaves.
func (a *asker) membership(n *floetest.Node) {
	a.t.Helper()
	for _, id := range []string{"n2", "n3"} {
		other := startReady(a.t, id, secret)
		a.call(asked{method: "POST", at: other.HTTP() + "/v1/join", body: fmt.Appendf(nil, `{"addresses":[%q]}`, n.Peer())})
		a.call(asked{method: "GET", at: n.HTTP() + "/v1/status"})
		floetest.Eventually(a.t, floetest.Patience, func() error { // once it has a vote
			answer := a.call(asked{method: "POST", at: n.HTTP() + "/v1/transfer", body: fmt.Appendf(nil, `{"id":%q}`, id)})
			if !a.done["POST /v1/transfer"] || strings.Contains(answer, `"error"`) {
				return errors.New(answer)
			}
			return nil
		})
		if id == "n2" {
			if answer := a.call(asked{method: "POST", at: n.HTTP() + "/v1/remove", body: []byte(`{"id":"n2"}`)}); strings.Contains(answer, `"error"`) {
				a.t.Errorf("remove: %s", answer)
			}
			continue
		}
		a.call(asked{method: "POST", at: other.HTTP() + "/v1/leave"})
	}
}
