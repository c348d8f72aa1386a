package docs_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/scripts/floetest"
	"floe/scripts/rmrapp"
	"floe/transport/http/api"
	"floe/transport/ice/client"
	"floe/transport/ice/proto"
	rmr "floe/transport/rmr/proto"
)

// first returns the first group of each match, sorted, each once.
func first(pattern, text string) []string {
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func TestCallsAreTheHandlers(t *testing.T) {
	got := first("(?m)^\\| `((?:GET|POST|PUT|DELETE) /[^`]*)` \\|", read(t, "http.md"))
	want := first(`"((?:GET|POST|PUT|DELETE) /[^"]*)"`, read(t, "../transport/http/handler.go"))
	if diff := cmp.Diff(got, want); diff != "" || len(want) == 0 {
		t.Errorf("calls in http.md (-) and in the handler (+):\n%s", diff)
	}
}

func TestErrorsAreTheAPIs(t *testing.T) {
	page := read(t, "http.md")
	got := first("(?m)^\\| `([a-z_]+)` \\| \\d{3} \\|", page)
	want := first(`\bKind += "([a-z_]+)"`, read(t, "../transport/http/api/errors.go"))
	if diff := cmp.Diff(got, want); diff != "" || len(want) == 0 {
		t.Errorf("kinds in http.md (-) and in the API (+):\n%s", diff)
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\d{3}) \\|.*\\| (\\d) \\|$").FindAllStringSubmatch(page, -1)
	for _, m := range rows {
		kind := api.Kind(m[1])
		if m[2] != strconv.Itoa(kind.Status()) || m[3] != strconv.Itoa(kind.Exit()) {
			t.Errorf("%s: http.md says %s and exit %s, the API %d and %d", kind, m[2], m[3], kind.Status(), kind.Exit())
		}
	}
	if len(rows) != len(want) {
		t.Errorf("%d of %d kinds have a whole row", len(rows), len(want))
	}
}

// TestMetricsAreTheNodes looks at a node that has one of everything that has figures.
func TestMetricsAreTheNodes(t *testing.T) {
	n, far := startReady(t, "n1"), startReady(t, "west")
	far.Must("create", "News")
	n.Must("create", "A", "B")
	n.Must("link", "A", "B")
	n.Must("clusters", "add", "west", far.Peer())
	n.Must("link", "A", "west/News")
	subscribe(t, n, "A")
	n.Must("pub", "A", "hello")
	message(t, n)
	code, text := floetest.Get(n.HTTP(), "/metrics")
	if code != 200 {
		t.Fatalf("/metrics answers %d: %s", code, text)
	}
	page := read(t, "http.md")
	got := first("(?m)^\\| `(floe_\\w+)` \\|", page)
	want := first(`(?m)^# TYPE (floe_\w+) `, text)
	if diff := cmp.Diff(got, want); diff != "" || len(want) == 0 {
		t.Errorf("metrics in http.md (-) and of a node (+):\n%s", diff)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(floe_\\w+)` \\| (\\w+) \\|").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(text, "# TYPE "+m[1]+" "+m[2]+"\n") {
			t.Errorf("%s is no %s", m[1], m[2])
		}
	}
	for _, name := range first("`?(floe_[a-z_]+)", read(t, "limits.md")+read(t, "icestorm.md")) {
		if !slices.Contains(want, name) {
			t.Errorf("a page names %s, which a node does not have", name)
		}
	}
}

// message has an application ask the node for its table, and a message go to it through the node.
func message(t *testing.T, n *floetest.Node) {
	t.Helper()
	app, err := rmrapp.Start(rmrapp.Config{RouteManager: net.JoinHostPort(n.IP, "4561"), Every: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	table := filepath.Join(t.TempDir(), "routes.txt")
	if err := os.WriteFile(table, []byte("newrt|start\nmse|1000|-1|"+app.DataAddress()+"\nnewrt|end|1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Must("routes", "load", table)
	ctx, cancel := context.WithTimeout(t.Context(), floetest.Patience)
	defer cancel()
	if err := app.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if o := floetest.Floe(t, "send", "--mtype", "1000", "--to", net.JoinHostPort(n.IP, "4560"), "hello"); o.Exit != 0 {
		t.Fatal(o)
	}
	if _, err := app.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	alarm := `{"identifyingInfo":"slow","AlarmAction":"RAISE"}`
	if err := app.SendTo(ctx, net.JoinHostPort(n.IP, "4560"), rmr.Message{Type: 110, SubID: rmr.NoSubID, Payload: []byte(alarm)}); err != nil {
		t.Fatal(err)
	}
	floetest.Eventually(t, floetest.Patience, func() error {
		if s, err := n.Status(); err != nil || !strings.Contains(strings.Join(s.Problems, " "), `says: "slow"`) {
			return fmt.Errorf("no alarm among the problems: %v, %v", s.Problems, err)
		}
		if apps, err := n.Client(floetest.Patience).Apps(ctx); err != nil || len(apps) != 1 {
			return fmt.Errorf("apps: %v, %v", apps, err)
		}
		return nil
	})
}

// startReady starts a node, with more in its environment, and waits until it is ready.
func startReady(t *testing.T, id string, env ...string) *floetest.Node {
	t.Helper()
	n := floetest.NewNode(t, id)
	n.Env = env
	n.Start()
	floetest.Eventually(t, floetest.Patience, func() error {
		if code, text := floetest.Get(n.HTTP(), "/readyz"); code != 200 {
			return fmt.Errorf("not ready: %d %s", code, text)
		}
		return nil
	})
	return n
}

// subscribe subscribes a program that is not there, and need not be: it takes datagrams.
func subscribe(t *testing.T, n *floetest.Node, topic string) {
	t.Helper()
	manager, err := proto.ParseProxy("IceStorm/topic." + topic + ":tcp -h " + n.IP + " -p " + floetest.IcePort)
	if err != nil {
		t.Fatal(err)
	}
	subscriber, err := proto.ParseProxy("nobody -d:udp -h " + n.IP + " -p 9")
	if err != nil {
		t.Fatal(err)
	}
	params, start := proto.BeginEncapsulation(nil, proto.Encoding11)
	params = proto.AppendStringDict(params, nil)
	params = proto.EndEncapsulation(proto.AppendProxy(params, &subscriber, proto.Encoding11), start)
	c := client.New(client.Config{})
	defer c.Close(t.Context())
	r, err := c.Call(t.Context(), &manager, "subscribeAndGetPublisher", proto.ModeNormal, nil, params)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}
