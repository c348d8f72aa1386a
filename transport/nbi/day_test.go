package nbi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/transport/nbi"
)

// manager is a program that is asked for its list.
type manager struct {
	mu     sync.Mutex
	code   int
	body   string
	asked  int
	posted []string
	stall  chan struct{} // nil: answers at once
}

func newManager(t testing.TB, body string) (*manager, string) {
	m := &manager{code: http.StatusOK, body: body}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return m, s.URL
}

func (m *manager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.asked++
	code, body, stall := m.code, m.body, m.stall
	if r.Method == http.MethodPost {
		var hook struct{ Data json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&hook); err == nil {
			m.posted = append(m.posted, string(hook.Data))
		}
		code = http.StatusCreated
	}
	m.mu.Unlock()
	if stall != nil {
		select {
		case <-stall:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

// says makes it answer something else from now on.
func (m *manager) says(code int, body string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.code, m.body = code, body
}

func (m *manager) questions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

func (m *manager) hooks() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string{}, m.posted...)
}

// Two xApps as appmgr lists them. hw sends a message of its own that kpimon takes.
const (
	hw = `{"name":"hw","status":"deployed","version":"1.0","instances":[{"name":"hw-1","status":"running","ip":"hw","port":4560,` +
		`"txMessages":["RIC_SUB_REQ","MY_REPORT"],"rxMessages":["RIC_SUB_RESP","RIC_INDICATION"],"policies":[1]}]}`
	kpimon = `{"name":"kpimon","status":"deployed","version":"1.0","instances":[{"name":"kpimon-1","status":"running","ip":"kpimon","port":4560,` +
		`"txMessages":["RIC_SUB_REQ"],"rxMessages":["RIC_INDICATION","MY_REPORT"],"policies":null}]}`
)

// The records below are those of the rules, written out by hand.
const (
	platformRecords = `
mse|12010,submgr:4560|-1|%meid
mse|12011|-1|submgr:4560
mse|12001|-1|e2mgr:3801
mse|12007|-1|e2mgr:3801
`
	hwRecords = `
mse|12010,hw:4560|-1|submgr:4560
mse|12020,hw:4560|-1|submgr:4560
mse|12040,hw:4560|-1|%meid
mse|20010|1|hw:4560
`
	kpimonRecords = `
mse|12010,kpimon:4560|-1|submgr:4560
mse|12020,kpimon:4560|-1|submgr:4560
mse|12040,kpimon:4560|-1|%meid
`
	toHW = `
mse|12041|-1|hw:4560
mse|12042|-1|hw:4560
`
	toKpimon = `
mse|12041|-1|kpimon:4560
mse|12042|-1|kpimon:4560
mse|30500,hw:4560|-1|kpimon:4560
`
)

func e2tRecords(groups string) string {
	text := "mse|12004|-1|e2mgr:3801\n"
	for _, m := range []string{"1090", "1101", "12002", "12003", "12005", "12031", "12032", "12071", "12072"} {
		text += "mse|" + m + ",e2mgr:3801|-1|" + groups + "\n"
	}
	return text
}

func subscriptionRecords(id, groups string) string {
	text := ""
	for _, m := range []string{"12011", "12012", "12021", "12022"} {
		text += "mse|" + m + ",submgr:4560|" + id + "|" + groups + "\n"
	}
	for _, m := range []string{"12050", "12041", "12042"} {
		text += "mse|" + m + "|" + id + "|" + groups + "\n"
	}
	return text
}

func table(parts ...string) string {
	return "newrt|start\n" + strings.ReplaceAll(strings.Join(parts, ""), "\n\n", "\n") + "newrt|end\n"
}

func meids(records ...string) string {
	return "meid_map|start\n" + strings.Join(records, "\n") + "\nmeid_map|end\n"
}

// announce is what appmgr's web hook posts.
func announce(event, xapp string) string {
	b, _ := json.Marshal(map[string]any{"id": "1", "version": 1, "eventType": event, "xApps": "[" + xapp + "]"})
	return string(b)
}

// script is a day of the three managers: their calls as they are documented,
// and what follows. Calls go to any of the faces given, in turn.
func script(t *testing.T, view func() *fsm.View, appmgr *manager, at func() *face, between func(step string)) {
	step := func(name, want string) {
		t.Helper()
		wantTable(t, view(), want)
		between(name)
	}
	appmgr.says(http.StatusOK, "[]")

	// e2mgr: an E2T starts, a RAN connects to it.
	at().want(201, "POST", "/handles/e2t", `{"E2TAddress":"e2t1:38000"}`)
	at().want(201, "POST", "/handles/associate-ran-to-e2t", `[{"E2TAddress":"e2t1:38000","ranNamelist":["gnb1"]}]`)
	step("first RAN", table(platformRecords, e2tRecords("e2t1:38000"))+meids("mme_ar|e2t1:38000|gnb1"))

	// appmgr: an xApp is deployed; it subscribes.
	appmgr.says(http.StatusOK, "["+hw+"]")
	at().want(200, "POST", "/handles/xapp-handle/", announce("deployed", hw))
	at().want(201, "POST", "/handles/xapp-subscription-handle", `{"address":"hw","port":4560,"subscription_id":101}`)
	step("subscribed", table(platformRecords, e2tRecords("e2t1:38000"), hwRecords, toHW, subscriptionRecords("101", "hw:4560"))+meids("mme_ar|e2t1:38000|gnb1"))

	// A second one wants the same: submgr merges the subscriptions.
	appmgr.says(http.StatusOK, "["+kpimon+","+hw+"]")
	at().want(200, "POST", "/handles/xapp-handle/", announce("deployed", kpimon))
	at().want(201, "PUT", "/handles/xapp-subscription-handle/101", `[{"address":"hw","port":4560},{"address":"kpimon","port":4560}]`)
	step("merged", table(platformRecords, e2tRecords("e2t1:38000"), hwRecords, kpimonRecords, toKpimon, subscriptionRecords("101", "hw:4560;kpimon:4560"))+
		meids("mme_ar|e2t1:38000|gnb1"))

	// A second E2T; a RAN moves there, another connects; the first E2T tells late.
	at().want(201, "POST", "/handles/e2t", `{"E2TAddress":"e2t2:38000"}`)
	at().want(201, "POST", "/handles/associate-ran-to-e2t", `[{"E2TAddress":"e2t2:38000","ranNamelist":["gnb1"]}]`)
	at().want(201, "POST", "/handles/dissociate-ran", `[{"E2TAddress":"e2t1:38000","ranNamelist":["gnb1"]}]`)
	at().want(201, "POST", "/handles/associate-ran-to-e2t", `[{"E2TAddress":"e2t1:38000","ranNamelist":["gnb2","gnb3"]}]`)
	step("moved", table(platformRecords, e2tRecords("e2t1:38000;e2t2:38000"), hwRecords, kpimonRecords, toKpimon, subscriptionRecords("101", "hw:4560;kpimon:4560"))+
		meids("mme_ar|e2t1:38000|gnb2 gnb3", "mme_ar|e2t2:38000|gnb1"))

	// The first E2T dies; one of its RANs goes to the other.
	at().want(201, "DELETE", "/handles/e2t", `{"E2TAddress":"e2t1:38000","ranNamelistTobeDissociated":["gnb2","gnb3"],"ranAssocList":[{"E2TAddress":"e2t2:38000","ranNamelist":["gnb3"]}]}`)
	step("E2T dead", table(platformRecords, e2tRecords("e2t2:38000"), hwRecords, kpimonRecords, toKpimon, subscriptionRecords("101", "hw:4560;kpimon:4560"))+
		meids("mme_ar|e2t2:38000|gnb1 gnb3"))

	// The red button: all RANs off.
	at().want(201, "POST", "/handles/dissociate-ran", `[{"E2TAddress":"e2t2:38000"}]`)
	// The xApps leave, one after the other.
	at().want(201, "PUT", "/handles/xapp-subscription-handle/101", `[{"address":"kpimon","port":4560}]`)
	step("red button", table(platformRecords, e2tRecords("e2t2:38000"), hwRecords, kpimonRecords, toKpimon, subscriptionRecords("101", "kpimon:4560")))
	at().want(200, "DELETE", "/handles/xapp-subscription-handle", `{"address":"kpimon","port":4560,"subscription_id":101}`)
	at().want(204, "DELETE", "/handles/xapp-subscription-handle", `{"address":"kpimon","port":4560,"subscription_id":101}`)
	appmgr.says(http.StatusOK, "["+hw+"]")
	at().want(200, "POST", "/handles/xapp-handle/", announce("undeployed", kpimon))
	step("left", table(platformRecords, e2tRecords("e2t2:38000"), hwRecords, toHW))

	// Somebody adds routes by hand, twice, and takes them back, twice.
	byHand := `[{"TargetEndPoint":"x:1,y:1;z:1","MessageType":4000,"SenderEndPoint":"hw:4560","SubscriptionID":0},{"TargetEndPoint":"%meid","MessageType":12011,"SubscriptionID":5}]`
	for range 2 {
		at().want(201, "POST", "/handles/addrmrroute", byHand)
		step("by hand", table(platformRecords, e2tRecords("e2t2:38000"), hwRecords, toHW, "mse|4000,hw:4560|-1|x:1,y:1;z:1\nmse|12011|5|%meid\n"))
	}
	for range 2 {
		at().want(201, "DELETE", "/handles/delrmrroute", byHand)
		step("back", table(platformRecords, e2tRecords("e2t2:38000"), hwRecords, toHW))
	}
}

func TestDayOfTheManagers(t *testing.T) {
	for _, asked := range []bool{true, false} {
		g := newGroup(t)
		g.facts(t, setConfig(t))
		appmgr, url := newManager(t, "[]")
		c := nbi.Config{Group: g}
		if asked {
			c.XApps = nbi.NewSources(nbi.SourcesConfig{Group: g, URLs: nbi.URLs{XApps: url}, Client: client(t)})
		}
		f := serve(t, c)
		script(t, g.View, appmgr, func() *face { return f }, func(string) {})
		if got := f.server.Stats(); got.BadInput+got.Failed != 0 || got.Accepted == 0 {
			t.Errorf("figures %+v", got)
		}
		if asked != (appmgr.questions() > 0) {
			t.Errorf("appmgr was asked %d times", appmgr.questions())
		}
	}
}

func client(t testing.TB) *http.Client {
	c := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func TestDebugInfo(t *testing.T) {
	g := newGroup(t)
	g.facts(t, setConfig(t))
	f := serve(t, nbi.Config{Group: g})
	f.want(201, "POST", "/handles/e2t", `{"E2TAddress":"e2t1:38000","ranNamelist":["gnb1","gnb2"]}`)
	f.want(200, "POST", "/handles/xapp-handle", announce("deployed", kpimon))
	var got struct {
		RouteTable   []string
		RouteConfigs string
	}
	if err := json.Unmarshal([]byte(f.want(200, "GET", "/getdebuginfo", "").body), &got); err != nil {
		t.Fatal(err)
	}
	table := strings.Join(got.RouteTable, "")
	for _, want := range []string{"newrt|start\n", "mse|12010,kpimon:4560|-1|submgr:4560\n", "newrt|end\nmeid_map|start\nmme_ar|e2t1:38000|gnb1\nmme_ar|e2t1:38000|gnb2\nmeid_map|end|2\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	var configs struct {
		XApps []struct{ Name string }
		E2Ts  map[string]struct {
			Name, Fqdn string
			Ranlist    []string
		}
		MeidMap []string
		Pcs     []struct{ Name, Fqdn string }
	}
	if err := json.Unmarshal([]byte(got.RouteConfigs), &configs); err != nil {
		t.Fatal(err)
	}
	e := configs.E2Ts["e2t1:38000"]
	if len(configs.XApps) != 1 || configs.XApps[0].Name != "kpimon" || e.Fqdn != "e2t1:38000" || e.Name != "E2TERMINST" || len(configs.Pcs) != 3 {
		t.Errorf("%+v", configs)
	}
	if d := cmp.Diff([]string{"mme_ar|e2t1:38000|gnb1 gnb2"}, configs.MeidMap); d != "" {
		t.Error(d)
	}
}
