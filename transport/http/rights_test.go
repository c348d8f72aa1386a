package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/fsm"
	"floe/transport/http/api"
)

// still is a group that only has a View.
type still struct{ v *fsm.View }

func (s still) View() *fsm.View          { return s.v }
func (s still) Changed() <-chan struct{} { return nil }
func (s still) Propose(context.Context, fsm.Op, string) (fsm.Result, error) {
	return fsm.Result{}, refuse(api.NotReady, "it stands still")
}
func (s still) Read(context.Context) (*fsm.View, error) {
	return nil, refuse(api.NotReady, "it stands still")
}

// lonely is a node that does nothing.
type lonely struct{ Nodes }

func (lonely) ID() string                                   { return "n1" }
func (lonely) Members(context.Context) []api.Member         { return nil }
func (lonely) Status(context.Context) api.Status            { return api.Status{} }
func (lonely) Ready() error                                 { return nil }
func (lonely) ContactAge() time.Duration                    { return 0 }
func (lonely) Join(context.Context, []string, string) error { return nil }
func (lonely) Leave(context.Context) error                  { return nil }
func (lonely) Remove(context.Context, string, bool) error   { return nil }
func (lonely) Transfer(context.Context, string) error       { return nil }
func (lonely) Drain(context.Context, bool) error            { return nil }

func (lonely) Keys(context.Context) api.Keys                   { return api.Keys{} }
func (lonely) ChangeKeys(context.Context, api.KeyChange) error { return nil }

// patterns are all calls, as the source has them.
func patterns(t *testing.T) []string {
	t.Helper()
	src, err := os.ReadFile("handler.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile(`"((?:GET|POST|PUT|DELETE) /[^"]*)"`).FindAllStringSubmatch(string(src), -1) {
		out = append(out, m[1])
	}
	if len(out) < 40 {
		t.Fatalf("only %d calls found", len(out))
	}
	return out
}

func TestEveryCallNeedsSomething(t *testing.T) {
	seen := map[string]bool{"/": true, "GET /{$}": true}
	for _, p := range patterns(t) {
		seen[p] = true
		need, listed := needs[p]
		if !listed {
			t.Errorf("%s: say in roles.go which role it needs", p)
		}
		if method, path, _ := strings.Cut(p, " "); method != "GET" && strings.HasPrefix(path, "/v1/") && need == anybody {
			t.Errorf("%s changes something, and anybody may call it", p)
		}
	}
	for p := range needs {
		if !seen[p] {
			t.Errorf("%s is no call", p)
		}
	}
	for p := range outsideTheLog {
		if !seen[p] {
			t.Errorf("%s is no call", p)
		}
	}
	if needOf("GET /v1/new") != fsm.RoleCluster {
		t.Error("a call that is not listed is open")
	}
}

// secure returns a handler with a token for each role.
func secure(config Config) http.Handler {
	v := fsm.New(fsm.Config{}).View()
	add := func(name string, role fsm.Role, ends int64) {
		v.Tokens = append(v.Tokens, fsm.Token{Name: name, Role: role, Hash: fsm.HashToken("secret of " + name), Ends: ends})
	}
	for _, role := range []fsm.Role{fsm.RoleRead, fsm.RolePublish, fsm.RoleOperate, fsm.RoleCluster} {
		add(string(role), role, 0)
	}
	add("old", fsm.RoleCluster, 1)
	add("join", "", time.Now().Add(time.Hour).UnixNano())
	config.Group, config.Nodes = still{v}, lonely{}
	return New(config).Handler()
}

func answerTo(h http.Handler, pattern, secret string, with ...func(*http.Request)) int {
	method, path, _ := strings.Cut(pattern, " ")
	r := httptest.NewRequest(method, path, strings.NewReader("{}"))
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	for _, f := range with {
		f(r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(ctx))
	return w.Code
}

// Each call with each role, and with nothing good: refused before anything is done.
func TestRolesAndCalls(t *testing.T) {
	h := secure(Config{})
	cells := 0
	for _, p := range patterns(t) {
		need := needs[p]
		for name, have := range map[string]fsm.Role{"read": fsm.RoleRead, "publish": fsm.RolePublish, "operate": fsm.RoleOperate, "cluster": fsm.RoleCluster} {
			code := answerTo(h, p, "secret of "+name)
			if refused := code == http.StatusForbidden; refused == (need == anybody || have.Includes(need)) || code == http.StatusUnauthorized {
				t.Errorf("%s as %s: %d", p, name, code)
			}
			cells++
		}
		for _, secret := range []string{"", "wrong", "secret of old", "secret of join", "secret of cluster2"} {
			if code := answerTo(h, p, secret); (code == http.StatusUnauthorized) != (need != anybody) {
				t.Errorf("%s with %q: %d", p, secret, code)
			}
			cells++
		}
	}
	t.Logf("%d cells", cells)
}

// Until the first token, and without TLS, whoever reaches the port may do everything.
func TestNothingBindsBeforeTheFirstToken(t *testing.T) {
	v := fsm.New(fsm.Config{}).View()
	v.Tokens = []fsm.Token{{Name: "join", Hash: fsm.HashToken("x"), Ends: 1}}
	open := New(Config{Group: still{v}, Nodes: lonely{}}).Handler()
	overTLS := New(Config{Group: still{v}, Nodes: lonely{}, TLS: &tls.Config{}}).Handler()
	for _, p := range patterns(t) {
		if code := answerTo(open, p, ""); code == http.StatusUnauthorized || code == http.StatusForbidden {
			t.Errorf("%s in the clear: %d", p, code)
		}
		if code := answerTo(overTLS, p, ""); (code == http.StatusUnauthorized) != (needs[p] != anybody) {
			t.Errorf("%s over TLS: %d", p, code)
		}
	}
}

// A verified certificate gives the rights of the role in it; a node has all.
func TestRightsOfCertificates(t *testing.T) {
	h := secure(Config{TLS: &tls.Config{}})
	for uri, want := range map[string]int{
		"floe://demo/role/read": http.StatusForbidden, "floe://demo/role/operate": http.StatusForbidden,
		"floe://demo/role/cluster": http.StatusOK, "floe://demo/node/n1": http.StatusOK, "https://demo/": http.StatusUnauthorized,
	} {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		shown := func(r *http.Request) {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{URIs: []*url.URL{u}}}}
		}
		if code := answerTo(h, "POST /v1/leave", "", shown); code != want {
			t.Errorf("%s: %d, want %d", uri, code, want)
		}
		if code := answerTo(h, "POST /v1/leave", "secret of read", shown); code != http.StatusForbidden {
			t.Errorf("%s with a token that has less: %d", uri, code)
		}
	}
}

// Refusals, and what changes the cluster outside of its log, leave a line.
func TestAuditLines(t *testing.T) {
	var log strings.Builder
	h := secure(Config{Audit: hclog.New(&hclog.LoggerOptions{Output: &log})})
	for range 3 {
		answerTo(h, "POST /v1/leave", "secret of operate")
	}
	answerTo(h, "POST /v1/leave", "secret of cluster")
	got := log.String()
	for _, want := range []string{`request refused`, `peer=192.0.2.1:1234`, `call="POST /v1/leave"`, `token:operate has operate`, `from="http 192.0.2.1:1234 token:cluster"`, `status=200`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if strings.Count(got, "request refused") != 1 || strings.Contains(got, "secret") {
		t.Errorf("log %s", got)
	}
}
