package derive_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/routing"
	"floe/routing/derive"
)

var config = derive.Config{
	Components: []derive.Component{
		{Name: "SUBMAN", FQDN: "submgr", Port: 4560}, {Name: "E2MAN", FQDN: "e2mgr", Port: 3801}, {Name: "A1MEDIATOR", FQDN: "a1", Port: 4562},
	},
	Routes: []derive.PlatformRoute{
		{Message: "RIC_SUB_REQ", Sender: "SUBMAN", SubID: -1, ByMEID: true},
		{Message: "RIC_SUB_RESP", SubID: -1, Endpoint: "SUBMAN"},
		{Message: "A1_POLICY_QUERY", SubID: -1, Endpoint: "A1MEDIATOR"},
		{Message: "RAN_CONNECTED", Sender: "E2MAN", SubID: -1, Endpoint: "RSM"},
	},
}

func xapp(name string, in ...derive.Instance) derive.XApp {
	for i := range in {
		in[i].Name, in[i].IP, in[i].Port = name, name, 4560
	}
	return derive.XApp{Name: name, Instances: in}
}

// facts applies changes to nothing.
func facts(t *testing.T, changes ...derive.Change) *derive.Facts {
	t.Helper()
	var f *derive.Facts
	return after(t, f, changes...)
}

func after(t *testing.T, f *derive.Facts, changes ...derive.Change) *derive.Facts {
	t.Helper()
	for _, c := range changes {
		var err error
		if f, err = f.Apply(c); err != nil {
			t.Fatalf("%v: %v", c.Kind, err)
		}
	}
	return f
}

func wantState(t *testing.T, f *derive.Facts, want string) {
	t.Helper()
	parsed := routing.Parse(want, routing.Options{})
	if err := parsed.Err(); err != nil {
		t.Fatal(err)
	}
	state, _, err := routing.State{}.Apply(parsed.Update)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(state.AppendText(nil)), string(f.State().AppendText(nil))); d != "" {
		t.Errorf("other routes than the rules make (-want +got):\n%s", d)
	}
}

func table(records ...string) string {
	return "newrt|start\n" + strings.Join(records, "\n") + "\nnewrt|end\n"
}

func meids(records ...string) string {
	return "meid_map|start\n" + strings.Join(records, "\n") + "\nmeid_map|end\n"
}

func setConfig() derive.Change { return derive.Change{Kind: derive.SetConfig, Config: &config} }

func setXApps(list ...derive.XApp) derive.Change {
	return derive.Change{Kind: derive.SetXApps, XApps: list}
}

func TestPlatformRoutes(t *testing.T) {
	f := facts(t, setConfig())
	wantState(t, f, table("mse|12010,submgr:4560|-1|%meid", "mse|12011|-1|submgr:4560", "mse|20012|-1|a1:4562"))
	want := []string{`RAN_CONNECTED, subscription id -1: component "RSM" is not known`}
	if got := f.Omitted(); !slices.Equal(got, want) {
		t.Errorf("omitted %q, want %q", got, want)
	}
}

func TestPlatformRouteThatCannotStand(t *testing.T) {
	c := derive.Config{Routes: []derive.PlatformRoute{
		{Message: "NO_SUCH_MESSAGE", SubID: -1, ByMEID: true}, {Message: "RIC_SUB_REQ", SubID: -1}, {Message: "RIC_SUB_REQ", Sender: "X", SubID: -1, ByMEID: true},
	}}
	f := facts(t, derive.Change{Kind: derive.SetConfig, Config: &c})
	want := []string{
		"NO_SUCH_MESSAGE, subscription id -1: no message of that name is known",
		"RIC_SUB_REQ, subscription id -1: it has neither an endpoint nor %meid",
		`RIC_SUB_REQ, subscription id -1: component "X" is not known`,
	}
	if got := f.Omitted(); !slices.Equal(got, want) {
		t.Errorf("omitted %q, want %q", got, want)
	}
	if f.State().Table.Len() != 0 {
		t.Error("it made routes")
	}
}

func TestEveryE2TGetsACopy(t *testing.T) {
	c := config
	c.Routes = nil
	f := facts(t, derive.Change{Kind: derive.SetConfig, Config: &c},
		derive.Change{Kind: derive.PutE2T, E2T: "e2t2:38000", RANs: []string{"gnb1"}}, derive.Change{Kind: derive.PutE2T, E2T: "e2t1:38000"})
	var want []string
	for _, m := range []int{1090, 1101, 12002, 12003, 12031, 12032, 12071, 12072, 12005} {
		want = append(want, fmt.Sprintf("mse|%d,e2mgr:3801|-1|e2t1:38000;e2t2:38000", m))
	}
	want = append(want, "mse|12004|-1|e2mgr:3801")
	wantState(t, f, table(want...)+meids("mme_ar|e2t2:38000|gnb1"))

	f = after(t, f, derive.Change{Kind: derive.DropE2T, E2T: "e2t2:38000"}, derive.Change{Kind: derive.DropE2T, E2T: "e2t1:38000"})
	wantState(t, f, table())
}

func TestE2TsWithoutE2Manager(t *testing.T) {
	f := facts(t, derive.Change{Kind: derive.PutE2T, E2T: "e2t1:38000"})
	if n := len(f.Omitted()); f.State().Table.Len() != 0 || n != 10 {
		t.Errorf("%d records, %d left out, want none and 10", f.State().Table.Len(), n)
	}
}

func TestXAppRules(t *testing.T) {
	c := config
	c.Routes = nil
	f := facts(t, derive.Change{Kind: derive.SetConfig, Config: &c}, setXApps(
		xapp("b", derive.Instance{Rx: []string{"RIC_INDICATION"}}),
		xapp("a", derive.Instance{Tx: []string{"RIC_SUB_REQ"}, Policies: []int32{20001, 20002}}),
		xapp("silent", derive.Instance{Policies: []int32{20001}}),
	))
	wantState(t, f, table(
		"mse|12010,a:4560|-1|submgr:4560", "mse|12020,a:4560|-1|submgr:4560", "mse|12040,a:4560|-1|%meid",
		"mse|12010,b:4560|-1|submgr:4560", "mse|12020,b:4560|-1|submgr:4560", "mse|12040,b:4560|-1|%meid",
		"mse|12041|-1|b:4560", "mse|12042|-1|b:4560",
		"mse|20010|20001|a:4560;silent:4560", "mse|20010|20002|a:4560"))
}

func TestMessagesBetweenXApps(t *testing.T) {
	sender := xapp("s", derive.Instance{Tx: []string{"TS_UE_LIST"}})
	sender2 := xapp("t", derive.Instance{Tx: []string{"TS_UE_LIST"}})
	one := xapp("r1", derive.Instance{Rx: []string{"TS_UE_LIST"}})
	other := xapp("r2", derive.Instance{Rx: []string{"TS_UE_LIST"}})
	for _, c := range []struct {
		name string
		apps []derive.XApp
		want []string
	}{
		{"nobody says it sends", []derive.XApp{one}, []string{"mse|30000|-1|r1:4560"}},
		{"one receiver", []derive.XApp{sender, sender2, one}, []string{"mse|30000,s:4560|-1|r1:4560", "mse|30000,t:4560|-1|r1:4560"}},
		{"two receivers", []derive.XApp{sender, one, other}, []string{"mse|30000|-1|r1:4560;r2:4560"}},
		{"nobody takes it", []derive.XApp{sender}, nil},
		{"to itself", []derive.XApp{xapp("x", derive.Instance{Tx: []string{"TS_UE_LIST"}, Rx: []string{"TS_UE_LIST"}})}, []string{"mse|30000|-1|x:4560"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := facts(t, setXApps(c.apps...)).State()
			state, _, err := routing.State{}.Apply(routing.Parse(table(c.want...), routing.Options{}).Update)
			if err != nil {
				t.Fatal(err)
			}
			key := routing.Key{MType: 30000, SubID: -1}
			if d := cmp.Diff(lines(state.Table.Entries(key)), lines(got.Table.Entries(key))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func lines(entries []*routing.Entry) []string {
	var l []string
	for _, e := range entries {
		l = append(l, e.String())
	}
	return l
}

func TestXAppsComeAndGo(t *testing.T) {
	one := func(name string, policy int32) derive.XApp {
		return xapp(name, derive.Instance{Policies: []int32{policy}})
	}
	f := facts(t, setXApps(one("a", 1), one("b", 2)), derive.Change{Kind: derive.PutXApps, XApps: []derive.XApp{one("b", 3), one("c", 4)}},
		derive.Change{Kind: derive.DropXApps, XApps: []derive.XApp{{Name: "a"}, {Name: "x"}}})
	wantState(t, f, table("mse|20010|3|b:4560", "mse|20010|4|c:4560"))
}

func TestXAppsThatCannotBeReached(t *testing.T) {
	f := facts(t, setConfig(), setXApps(derive.XApp{Name: "x", Instances: []derive.Instance{{Name: "x-1", Rx: []string{"TS_UE_LIST"}}}},
		xapp("y", derive.Instance{Rx: []string{"NO_SUCH_MESSAGE"}})))
	got := strings.Join(f.Omitted(), "\n")
	for _, want := range []string{`xApp x, instance "x-1": endpoint ":0" has no port`, "NO_SUCH_MESSAGE, subscription id -1: no message of that name"} {
		if !strings.Contains(got, want) {
			t.Errorf("left out:\n%s\nwant also %s", got, want)
		}
	}
}

// The second receiver of a message was once dropped.
func TestSubscriptionSharedByXApps(t *testing.T) {
	c := config
	c.Routes = nil
	f := facts(t, derive.Change{Kind: derive.SetConfig, Config: &c},
		derive.Change{Kind: derive.Subscribe, SubID: 7, Endpoint: "b:4560"}, derive.Change{Kind: derive.Subscribe, SubID: 8, Endpoint: "b:4560"})
	before := f.State().Table.Lookup(12050, 8, routing.Sender{})
	f = after(t, f, derive.Change{Kind: derive.Subscribe, SubID: 7, Endpoint: "a:4560"})
	want := func(id int, to string) (l []string) {
		for _, m := range []int{12011, 12012, 12021, 12022} {
			l = append(l, fmt.Sprintf("mse|%d,submgr:4560|%d|%s", m, id, to))
		}
		for _, m := range []int{12050, 12041, 12042} {
			l = append(l, fmt.Sprintf("mse|%d|%d|%s", m, id, to))
		}
		return l
	}
	wantState(t, f, table(append(want(7, "a:4560;b:4560"), want(8, "b:4560")...)...))
	if f.State().Table.Lookup(12050, 8, routing.Sender{}) != before {
		t.Error("an entry that had nothing to do with it was made again")
	}
	f = after(t, f, derive.Change{Kind: derive.SetSubscription, SubID: 7, Endpoints: []string{"c:1"}},
		derive.Change{Kind: derive.Unsubscribe, SubID: 8, Endpoint: "b:4560"})
	wantState(t, f, table(want(7, "c:1")...))
	f = after(t, f, derive.Change{Kind: derive.SetSubscription, SubID: 7})
	wantState(t, f, table())
}

func TestSubscriptionWithoutItsManager(t *testing.T) {
	f := facts(t, derive.Change{Kind: derive.Subscribe, SubID: 7, Endpoint: "a:4560"})
	wantState(t, f, table("mse|12050|7|a:4560", "mse|12041|7|a:4560", "mse|12042|7|a:4560"))
	if n := len(f.Omitted()); n != 4 {
		t.Errorf("%d left out, want 4", n)
	}
	f = after(t, f, setConfig())
	if e := f.State().Table.Lookup(12011, 7, routing.Sender{Source: "submgr:4560"}); e == nil || e.Groups[0][0] != "a:4560" {
		t.Errorf("once the manager is known its answer goes by %v", e)
	}
}

// One MEID once had two owners.
func TestRANHasOneOwnerTheLater(t *testing.T) {
	f := facts(t, derive.Change{Kind: derive.PutE2T, E2T: "e1:1", RANs: []string{"g1", "g2"}}, derive.Change{Kind: derive.PutE2T, E2T: "e2:1"},
		derive.Change{Kind: derive.Associate, E2T: "e2:1", RANs: []string{"g1"}})
	wantState(t, f, meids("mme_ar|e1:1|g2", "mme_ar|e2:1|g1"))
	// e1 lets go of what it lost: too late to matter.
	f = after(t, f, derive.Change{Kind: derive.Dissociate, E2T: "e1:1", RANs: []string{"g1"}})
	wantState(t, f, meids("mme_ar|e1:1|g2", "mme_ar|e2:1|g1"))
	f = after(t, f, derive.Change{Kind: derive.Dissociate, E2T: "e2:1"})
	wantState(t, f, meids("mme_ar|e1:1|g2"))
	f = after(t, f, derive.Change{Kind: derive.Associate, E2T: "e1:1", RANs: []string{"g3"}}, derive.Change{Kind: derive.DropE2T, E2T: "e1:1"})
	wantState(t, f, table())
}

func TestAssociationLeavesTheRoutesAlone(t *testing.T) {
	f := facts(t, setConfig(), derive.Change{Kind: derive.PutE2T, E2T: "e1:1"})
	g := after(t, f, derive.Change{Kind: derive.Associate, E2T: "e1:1", RANs: []string{"g1"}})
	if f.State().Table != g.State().Table || f.State().MEIDs == g.State().MEIDs {
		t.Error("an association must change the map alone")
	}
}

func TestRoutesMadeByHand(t *testing.T) {
	route := func(to string) *derive.Route {
		return &derive.Route{MType: 12010, SubID: -1, Senders: []string{"submgr:4560"}, Groups: [][]string{{to}}}
	}
	f := facts(t, setConfig(), derive.Change{Kind: derive.AddRoute, Route: route("x:1")}, derive.Change{Kind: derive.AddRoute, Route: route("y:1")})
	to := func(want string) {
		t.Helper()
		e := f.State().Table.Lookup(12010, -1, routing.Sender{Source: "submgr:4560"})
		if got := e.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	to("mse|12010,submgr:4560|-1|y:1")
	f = after(t, f, derive.Change{Kind: derive.AddRoute, Route: route("x:1")})
	to("mse|12010,submgr:4560|-1|x:1")
	if g := after(t, f, derive.Change{Kind: derive.AddRoute, Route: route("x:1")}); g != f {
		t.Error("adding it again changed something")
	}
	f = after(t, f, derive.Change{Kind: derive.DeleteRoute, Route: route("x:1")})
	to("mse|12010,submgr:4560|-1|y:1")
	f = after(t, f, derive.Change{Kind: derive.DeleteRoute, Route: route("y:1")})
	to("mse|12010,submgr:4560|-1|%meid")
	if g := after(t, f, derive.Change{Kind: derive.DeleteRoute, Route: route("y:1")}); g != f {
		t.Error("deleting it again changed something")
	}
}

func TestOtherNumbers(t *testing.T) {
	c := derive.Config{MessageTypes: []derive.MessageType{{"RIC_INDICATION", 5000}, {"MINE", 6000}, {"RIC_INDICATION", 5001}}}
	f := facts(t, derive.Change{Kind: derive.Subscribe, SubID: 7, Endpoint: "a:1"}, setXApps(xapp("x", derive.Instance{Rx: []string{"MINE"}})),
		derive.Change{Kind: derive.SetConfig, Config: &c})
	if s := f.State().Table; s.Lookup(5001, 7, routing.Sender{}) == nil || s.Lookup(12050, 7, routing.Sender{}) != nil || s.Lookup(6000, 9, routing.Sender{}) == nil {
		t.Errorf("the routes go by other numbers:\n%s", f.State().AppendText(nil))
	}
}

func TestRefusals(t *testing.T) {
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprintf("h%d:1", i)
	}
	for _, c := range []struct {
		change derive.Change
		want   string
	}{
		{derive.Change{}, "kind 0: this program does not know it"},
		{derive.Change{Kind: derive.SetConfig}, "configuration: no configuration given"},
		{derive.Change{Kind: derive.SetConfig, Config: &derive.Config{Components: []derive.Component{{Name: "A", FQDN: "a"}}}}, `configuration: component A: endpoint "a:0" has no port: write host:port`},
		{derive.Change{Kind: derive.Subscribe, SubID: -1, Endpoint: "a:1"}, "subscription: subscription id -1 is negative"},
		{derive.Change{Kind: derive.Subscribe, SubID: 1, Endpoint: "a"}, `subscription: subscription 1: endpoint "a" has no port: write host:port`},
		{derive.Change{Kind: derive.SetSubscription, SubID: 1, Endpoints: many}, "subscription: 65 xApps in subscription 1, at most 64"},
		{derive.Change{Kind: derive.Subscribe, SubID: 1, Endpoint: "topic:1"}, "subscription: subscription 1: a topic is no program"},
		{derive.Change{Kind: derive.PutE2T, E2T: "e2t"}, `E2T: owner "e2t" has no port: write host:port`},
		{derive.Change{Kind: derive.Associate, E2T: "e:1", RANs: []string{"ok", strings.Repeat("x", 32)}}, "association: MEID "},
		{derive.Change{Kind: derive.Dissociate, E2T: "e:1", RANs: []string{""}}, "dissociation: empty MEID"},
		{derive.Change{Kind: derive.AddRoute}, "route: no route given"},
		{derive.Change{Kind: derive.AddRoute, Route: &derive.Route{MType: 1, SubID: -1}}, "route: no endpoint"},
		{derive.Change{Kind: derive.SetE2Ts, Base: "x"}, "E2Ts: changed in the meantime"},
		{derive.Change{Kind: derive.SetSubscriptions, Base: "x"}, "subscriptions: changed in the meantime"},
	} {
		f := facts(t, setConfig())
		got, err := f.Apply(c.change)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || got != nil {
			t.Errorf("%+v: %v, want %s", c.change, err, c.want)
		}
	}
}

func TestMoreE2TsThanARecordHolds(t *testing.T) {
	f := facts(t, setConfig())
	for i := range 65 {
		f = after(t, f, derive.Change{Kind: derive.PutE2T, E2T: fmt.Sprintf("e2t%02d:1", i)})
	}
	if e := f.State().Table.Lookup(1090, -1, routing.Sender{Source: "e2mgr:3801"}); len(e.Groups) != 64 {
		t.Errorf("%d groups, want 64", len(e.Groups))
	}
	if got := strings.Join(f.Omitted(), "\n"); !strings.Contains(got, "RIC_SCTP_CLEAR_ALL, subscription id -1: only the first 64 of 65 receivers get it") {
		t.Error(got)
	}
}

func TestWholeSets(t *testing.T) {
	f := facts(t, setConfig(), derive.Change{Kind: derive.PutE2T, E2T: "e1:1", RANs: []string{"g1", "g2"}},
		derive.Change{Kind: derive.Subscribe, SubID: 7, Endpoint: "a:1"}, derive.Change{Kind: derive.Subscribe, SubID: 8, Endpoint: "a:1"})
	f = after(t, f,
		derive.Change{Kind: derive.SetE2Ts, Base: f.Mark(derive.SetE2Ts), E2Ts: []derive.E2T{{"e2:1", []string{"g2", "g3"}}, {"e3:1", []string{"g3"}}}},
		derive.Change{Kind: derive.SetSubscriptions, Base: f.Mark(derive.SetSubscriptions),
			Subscriptions: []derive.Subscription{{9, []string{"b:1"}}, {7, []string{"a:1"}}, {9, []string{"a:1"}}, {10, nil}}})
	if d := cmp.Diff([]derive.E2T{{"e2:1", []string{"g2"}}, {"e3:1", []string{"g3"}}}, f.E2Ts()); d != "" {
		t.Errorf("E2Ts (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]derive.Subscription{{7, []string{"a:1"}}, {9, []string{"a:1", "b:1"}}}, f.Subscriptions()); d != "" {
		t.Errorf("subscriptions (-want +got):\n%s", d)
	}
	one := facts(t, setConfig(), derive.Change{Kind: derive.Subscribe, SubID: 9, Endpoint: "b:1"}, derive.Change{Kind: derive.Subscribe, SubID: 7, Endpoint: "a:1"},
		derive.Change{Kind: derive.PutE2T, E2T: "e3:1", RANs: []string{"g3"}}, derive.Change{Kind: derive.PutE2T, E2T: "e2:1", RANs: []string{"g2"}},
		derive.Change{Kind: derive.Subscribe, SubID: 9, Endpoint: "a:1"})
	if got, want := string(f.State().AppendText(nil)), string(one.State().AppendText(nil)); got != want {
		t.Errorf("as a whole set:\n%sone by one:\n%s", got, want)
	}
	if g := after(t, f, derive.Change{Kind: derive.SetE2Ts, E2Ts: f.E2Ts()}, derive.Change{Kind: derive.SetSubscriptions, Subscriptions: f.Subscriptions()}); g != f {
		t.Error("the sets that are there changed something")
	}
	if f.Mark(derive.SetE2Ts) != one.Mark(derive.SetE2Ts) || f.Mark(derive.SetSubscriptions) != one.Mark(derive.SetSubscriptions) {
		t.Error("equal sets have different marks")
	}
}

// Whatever the order of changes, the facts say what their export says, and a
// table made change by change is the one made at once.
func TestRandomChanges(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var f *derive.Facts
		for range 40 {
			c := randomChange(r)
			next, touched, err := f.ApplyAll([]derive.Change{c})
			if err != nil {
				t.Fatalf("seed %d: %+v: %v", seed, c, err)
			}
			checkTouched(t, f.State(), next.State(), touched)
			f = next
			if again, _ := f.Apply(c); again != f {
				t.Fatalf("seed %d: %+v changed something twice", seed, c)
			}
		}
		x := f.Export()
		g, err := derive.Import(x)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(x, g.Export()) {
			t.Fatalf("seed %d: exports differ: %s", seed, cmp.Diff(x, g.Export()))
		}
		if got, want := string(f.State().AppendText(nil)), string(g.State().AppendText(nil)); got != want {
			t.Fatalf("seed %d: change by change\n%sat once\n%s", seed, got, want)
		}
		if f.State().Digest() != g.State().Digest() || !slices.Equal(f.Omitted(), g.Omitted()) || f.Empty() != g.Empty() {
			t.Fatalf("seed %d: digest or omissions differ", seed)
		}
	}
}

// checkTouched compares what a change says it touched with what differs.
func checkTouched(t *testing.T, was, now routing.State, got routing.Changes) {
	t.Helper()
	want := routing.Diff(was, now)
	for _, k := range want.Routes {
		if !slices.Contains(got.Routes, k) {
			t.Fatalf("key %v differs and is not named", k)
		}
	}
	for _, m := range want.MEIDs {
		if !slices.Contains(got.MEIDs, m) {
			t.Fatalf("MEID %s differs and is not named", m)
		}
	}
	if (was == now) != got.Empty() {
		t.Fatalf("same state: %v, touched: %v", was == now, got)
	}
}

func TestChangesAllOrNone(t *testing.T) {
	f := facts(t, setConfig())
	put := derive.Change{Kind: derive.PutE2T, E2T: "e1:1", RANs: []string{"g1"}}
	if g, _, err := f.ApplyAll([]derive.Change{put, {Kind: derive.Associate, E2T: "e1"}}); g != nil || err == nil || !strings.HasPrefix(err.Error(), "change 2: association: owner") {
		t.Errorf("%v, %v", g, err)
	}
	g, touched, err := f.ApplyAll([]derive.Change{put, {Kind: derive.DropE2T, E2T: "e1:1"}})
	if err != nil || g.State().MEIDs.Len() != 0 || len(touched.MEIDs) != 2 || len(touched.Routes) != 10 {
		t.Errorf("%v, touched %v", err, touched)
	}
}

func randomChange(r *rand.Rand) derive.Change {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	some := func(list ...string) []string {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list[:r.IntN(len(list)+1)]
	}
	endpoint := func() string { return pick("a:4560", "b:4560", "c:4560") }
	c := derive.Change{Kind: derive.Kind(1 + r.IntN(15)), SubID: int32(r.IntN(4)), Endpoint: endpoint(), E2T: pick("e1:1", "e2:1", "e3:1")}
	switch c.Kind {
	case derive.SetConfig:
		own := config
		own.Components = own.Components[:r.IntN(4)]
		if r.IntN(3) == 0 {
			own.MessageTypes = []derive.MessageType{{"RIC_SUB_RESP", 7000}, {"RIC_CONTROL_REQ", 12041}}
		}
		c.Config = &own
	case derive.SetXApps, derive.PutXApps, derive.DropXApps:
		for _, n := range some("a", "b", "c") {
			in := derive.Instance{Tx: some("TS_UE_LIST", "MINE"), Rx: some("TS_UE_LIST", "RIC_INDICATION", "RIC_SUB_REQ"), Policies: []int32{int32(r.IntN(3))}}
			c.XApps = append(c.XApps, xapp(n, in))
		}
	case derive.SetSubscription:
		c.Endpoints = some("a:4560", "b:4560", "c:4560")
	case derive.SetSubscriptions:
		for i := range r.IntN(4) {
			c.Subscriptions = append(c.Subscriptions, derive.Subscription{SubID: int32(i), Endpoints: some("a:4560", "b:4560")})
		}
	case derive.PutE2T, derive.Associate:
		c.RANs = some("g1", "g2", "g3", "g4")
	case derive.Dissociate:
		c.RANs = some("g1", "g2", "g3", "g4")
	case derive.SetE2Ts:
		c.Owners = []derive.E2T{{Address: "e4:1", RANs: some("g4", "g5")}}
		for _, e := range some("e1:1", "e2:1", "e3:1") {
			c.E2Ts = append(c.E2Ts, derive.E2T{Address: e, RANs: some("g1", "g2", "g3", "g4")})
		}
	case derive.AddRoute, derive.DeleteRoute:
		c.Route = &derive.Route{MType: []int32{12010, 12011, 12050}[r.IntN(3)], SubID: []int32{-1, 1, 2}[r.IntN(3)], Groups: [][]string{{endpoint()}}}
		if r.IntN(2) == 0 {
			c.Route.Senders = []string{"submgr:4560"}
		}
	}
	return c
}

func BenchmarkAssociateAmong100k(b *testing.B) {
	rans := make([]string, 100_000)
	for i := range rans {
		rans[i] = fmt.Sprintf("gnb_%07d", i)
	}
	f, err := (*derive.Facts)(nil).Apply(derive.Change{Kind: derive.PutE2T, E2T: "e1:1", RANs: rans})
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i++
		if f, err = f.Apply(derive.Change{Kind: derive.Associate, E2T: fmt.Sprintf("e%d:1", i%3), RANs: rans[i%len(rans) : i%len(rans)+1]}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSubscribeAmong10k(b *testing.B) {
	var list []derive.Subscription
	for i := range 10_000 {
		list = append(list, derive.Subscription{SubID: int32(i), Endpoints: []string{"a:4560"}})
	}
	f, err := (*derive.Facts)(nil).Apply(derive.Change{Kind: derive.SetSubscriptions, Subscriptions: list})
	if err != nil {
		b.Fatal(err)
	}
	kinds := []derive.Kind{derive.Subscribe, derive.Unsubscribe}
	i := 0
	for b.Loop() {
		i++
		if f, err = f.Apply(derive.Change{Kind: kinds[i%2], SubID: int32(i / 2 % 10_000), Endpoint: "b:4560"}); err != nil {
			b.Fatal(err)
		}
	}
}
