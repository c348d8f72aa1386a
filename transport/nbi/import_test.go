package nbi_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/routing/derive"
	"floe/transport/nbi"
)

// oldAnswer is an answer to getdebuginfo in the old manager's form.
func oldAnswer(t *testing.T, table ...string) string {
	t.Helper()
	const configs = `{"XApps":[{"name":"kpi","status":"deployed","version":"1","instances":[{"name":"kpi-1","status":"running","ip":"10.0.0.3","port":4560,"txMessages":["RIC_SUB_REQ"],"rxMessages":["RIC_INDICATION"],"policies":[]}]}],
"E2Ts":{"10.0.0.5:38000":{"name":"E2TERMINST","fqdn":"10.0.0.5:38000","ranlist":["gnb1","gnb2"]}},
"MeidMap":["mme_ar|10.0.0.5:38000|gnb1 gnb2"],
"Pcs":[{"name":"SUBMAN","fqdn":"submgr","port":4560},{"name":"E2MAN","fqdn":"e2mgr","port":3801}]}`
	b, err := json.Marshal(map[string]any{"RouteTable": table, "RouteConfigs": configs})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var oldTable = []string{
	"newrt|start\n",
	"mse|12011,submgr:4560|7|10.0.0.3:4560\n",
	"mse|12011,submgr:4560|7|10.0.0.4:4560\n",
	"mse|12050|7|10.0.0.3:4560\n",
	"mse|30000|-1|10.0.0.9:4560,10.0.0.10:4560\n",
	"mse|30001,10.0.0.1:1|-1|%meid\n",
	"newrt|end\n",
	"meid_map|start\n",
	"mme_ar|10.0.0.5:38000|gnb1 gnb2\n",
	"mme_ar|10.0.0.6:38000|gnb3\n",
	"meid_map|end|2\n",
}

func mustRead(t *testing.T, now *derive.Facts, texts ...string) (nbi.Found, *derive.Facts) {
	t.Helper()
	found, err := nbi.Read(now, texts)
	if err != nil {
		t.Fatal(err)
	}
	next, _, err := now.ApplyAll(found.Changes)
	if err != nil {
		t.Fatal(err)
	}
	return found, next
}

func TestReadARunningManager(t *testing.T) {
	found, facts := mustRead(t, nil, oldAnswer(t, oldTable...))
	want := []string{"2 components", "1 xApps", "1 E2Ts, 3 RANs", "1 subscriptions", "2 routes that follow from none of these, to be kept as routes by hand"}
	if diff := cmp.Diff(found.Facts, want); diff != "" {
		t.Errorf("facts (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(facts.Subscriptions(), []derive.Subscription{{SubID: 7, Endpoints: []string{"10.0.0.3:4560", "10.0.0.4:4560"}}}); diff != "" {
		t.Errorf("subscriptions (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(facts.E2Ts(), []derive.E2T{{Address: "10.0.0.5:38000", RANs: []string{"gnb1", "gnb2"}}}); diff != "" {
		t.Errorf("E2Ts (-got +want):\n%s", diff)
	}
	if owner, _ := facts.State().MEIDs.Owner("gnb3"); owner != "10.0.0.6:38000" {
		t.Errorf("gnb3 is owned by %q", owner)
	}
	text := string(facts.State().AppendText(nil))
	for _, line := range []string{
		"mse|30000|-1|10.0.0.9:4560,10.0.0.10:4560\n", "mse|30001,10.0.0.1:1|-1|%meid\n", "mse|12050|7|10.0.0.3:4560;10.0.0.4:4560\n",
		"mse|1090,e2mgr:3801|-1|10.0.0.5:38000\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no record %q in\n%s", line, text)
		}
	}
	again, same := mustRead(t, facts, oldAnswer(t, oldTable...))
	if same != facts {
		t.Errorf("a second time changes something: %+v", again.Changes)
	}
}

// What floe itself answers can be read, and says what it knows.
func TestReadFloesOwnAnswer(t *testing.T) {
	file, err := os.ReadFile("testdata/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, facts := mustRead(t, nil, string(file), oldAnswer(t, oldTable...))
	if len(facts.Config().Routes) == 0 || facts.Config().Components[0].Name == "" {
		t.Fatalf("the file is not in it: %+v", facts.Config())
	}
	g := newGroup(t)
	f := serve(t, nbi.Config{Group: g})
	g.facts(t, derive.Change{Kind: derive.SetConfig, Config: ptr(facts.Config())})
	f.want(201, "POST", "/handles/e2t", `{"E2TAddress":"e2t1:38000","ranNamelist":["r1","r2"]}`)
	f.want(201, "POST", "/handles/xapp-subscription-handle", `{"address":"10.0.0.3","port":4560,"subscription_id":3}`)
	answer := f.want(200, "GET", "/getdebuginfo", "").body
	now := g.View().Routes.Facts
	found, same := mustRead(t, now, answer)
	if same != now {
		t.Errorf("it would change: %+v", found.Changes)
	}
	_, fresh := mustRead(t, nil, string(file), answer)
	if got, want := string(fresh.State().AppendText(nil)), string(now.State().AppendText(nil)); got != want {
		t.Errorf("got table\n%s\nwant\n%s", got, want)
	}
}

func ptr[T any](v T) *T { return &v }

func TestReadLeavesOutWhatNoTableHolds(t *testing.T) {
	table := slices.Insert(slices.Clone(oldTable), 3, "mse|12|-1|no port\n", "what|is|this\n")
	found, facts := mustRead(t, nil, oldAnswer(t, table...))
	left := slices.DeleteFunc(slices.Clone(found.Notes), func(n string) bool { return !strings.Contains(n, "left out") })
	if len(left) != 1 || facts.State().Table.Len() == 0 {
		t.Errorf("notes: %q", found.Notes)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, texts := range map[string][]string{
		"neither":  {"hello"},
		"two":      {oldAnswer(t), oldAnswer(t)},
		"bad json": {`{"RouteTable":[],"RouteConfigs":"{"}`},
	} {
		if found, err := nbi.Read(nil, texts); err == nil {
			t.Errorf("%s: got %+v", name, found)
		}
	}
}

// A route that follows, but reached somebody else before, is noted and not pinned.
func TestReadNotesWhomARouteReachesNoMore(t *testing.T) {
	table := slices.Insert(slices.Clone(oldTable), 1, "mse|1090,e2mgr:3801|-1|10.0.0.77:38000\n")
	found, facts := mustRead(t, nil, oldAnswer(t, table...))
	want := "mse|1090,e2mgr:3801|-1|10.0.0.77:38000: from now on mse|1090,e2mgr:3801|-1|10.0.0.5:38000"
	if !slices.Contains(found.Notes, want) || len(facts.Routes()) != 2 {
		t.Errorf("notes %q, routes by hand %+v", found.Notes, facts.Routes())
	}
}
