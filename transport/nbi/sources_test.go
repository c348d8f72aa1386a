package nbi_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"floe/routing/derive"
	"floe/transport/nbi"
)

// asking runs sources with short times until the test ends.
func asking(t testing.TB, g nbi.Group, c nbi.SourcesConfig) {
	c.Group = g
	c.Client = client(t)
	if c.Every == 0 {
		c.Every = 10 * time.Millisecond
	}
	c.Retry, c.Confirm = 5*time.Millisecond, 5*time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := nbi.NewSources(c)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (g *group) e2ts() []derive.E2T { return g.View().Routes.Facts.E2Ts() }

func names(list []derive.XApp) (l []string) {
	for _, x := range list {
		l = append(l, x.Name)
	}
	return l
}

func TestPullsAtTheStart(t *testing.T) {
	g := newGroup(t)
	g.facts(t, setConfig(t))
	appmgr, apps := newManager(t, "["+hw+","+kpimon+"]")
	_, e2mgr := newManager(t, `[{"e2tAddress":"e2t1:38000","ranNames":["gnb1","gnb2"]},{"e2tAddress":"e2t2:38000","ranNames":[]}]`)
	_, submgr := newManager(t, `[{"SubscriptionId":101,"Meid":"gnb1","ClientEndpoint":["hw:4560","kpimon:4560"]}]`)
	asking(t, g, nbi.SourcesConfig{URLs: nbi.URLs{XApps: apps, E2Ts: e2mgr, Subscriptions: submgr}})
	eventually(t, "all facts", func() bool {
		f := g.View().Routes.Facts
		return len(f.XApps()) == 2 && len(f.E2Ts()) == 2 && len(f.Subscriptions()) == 1
	})
	wantTable(t, g.View(), table(platformRecords, e2tRecords("e2t1:38000;e2t2:38000"), hwRecords, kpimonRecords, toKpimon,
		subscriptionRecords("101", "hw:4560;kpimon:4560"))+meids("mme_ar|e2t1:38000|gnb1 gnb2"))
	// What is known already is not proposed again and again.
	made, asked := g.asked(), appmgr.questions()
	eventually(t, "more questions", func() bool { return appmgr.questions() > asked+3 })
	if now := g.asked(); now != made {
		t.Errorf("%d proposals that change nothing", now-made)
	}
}

// Whatever a manager answers that is no answer, the state stays as it is.
func TestSourcesThatGiveNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		code int
		body string
	}{
		"error":          {500, "[]"},
		"unavailable":    {503, ""},
		"not found":      {404, "[]"},
		"empty":          {200, ""},
		"null":           {200, "null"},
		"object":         {200, "{}"},
		"cut":            {200, `[{"name":"hw","e2tAddress":"e2t1:38000","SubscriptionId":101`},
		"page":           {200, "<html>maintenance</html>"},
		"other list":     {200, `[{"x":1}]`},
		"wrong types":    {200, `[{"name":1,"e2tAddress":1,"SubscriptionId":"a"}]`},
		"bad addresses":  {200, `[{"name":"","e2tAddress":"nowhere","SubscriptionId":-3}]`},
		"more than fits": {200, "[" + strings.Repeat(" ", 16<<20) + "]"},
		"created":        {201, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t)
			apps, url := newManager(t, c.body)
			apps.says(c.code, c.body)
			want := known(t, g)
			asking(t, g, nbi.SourcesConfig{URLs: nbi.URLs{XApps: url + "/x", E2Ts: url + "/e", Subscriptions: url + "/s"}})
			enough := 9
			if len(c.body) > 1<<20 {
				enough = 3
			}
			eventually(t, "questions", func() bool { return apps.questions() > enough })
			if got := g.View().Routes.Facts; got != want {
				t.Errorf("the facts changed to %+v", got.Export())
			}
		})
	}
}

// known fills a group with a bit of everything.
func known(t *testing.T, g *group) *derive.Facts {
	g.facts(t, setConfig(t), derive.Change{Kind: derive.SetXApps, XApps: []derive.XApp{{Name: "hw"}}},
		derive.Change{Kind: derive.PutE2T, E2T: "e2t1:38000", RANs: []string{"gnb1"}}, derive.Change{Kind: derive.Subscribe, SubID: 101, Endpoint: "hw:4560"})
	return g.View().Routes.Facts
}

func TestSourcesThatAreDown(t *testing.T) {
	g := newGroup(t)
	want := known(t, g)
	m, url := newManager(t, "[]")
	stall := make(chan struct{})
	m.stall = stall
	asking(t, g, nbi.SourcesConfig{Timeout: 20 * time.Millisecond,
		URLs: nbi.URLs{XApps: "http://127.0.0.1:1/x", E2Ts: url, Subscriptions: "http://127.0.0.1:1/s", Hooks: "http://127.0.0.1:1/h", Target: "http://x/"}})
	eventually(t, "questions", func() bool { return m.questions() > 5 })
	if got := g.View().Routes.Facts; got != want {
		t.Errorf("the facts changed to %+v", got.Export())
	}
	close(stall)
}

// An empty list from a manager that is well is an answer; where it takes all
// away it must come twice.
func TestEmptyListsAreBelieved(t *testing.T) {
	g := newGroup(t)
	known(t, g)
	_, url := newManager(t, " [ ] ")
	asking(t, g, nbi.SourcesConfig{URLs: nbi.URLs{XApps: url + "/x", E2Ts: url + "/e", Subscriptions: url + "/s"}})
	eventually(t, "nothing left", func() bool {
		f := g.View().Routes.Facts
		return len(f.XApps())+len(f.E2Ts())+len(f.Subscriptions())+g.View().Routes.State().MEIDs.Len() == 0
	})
}

func TestOneEmptyAnswerTakesNothingAway(t *testing.T) {
	g := newGroup(t)
	want := known(t, g)
	m, url := newManager(t, "[]")
	s := nbi.NewSources(nbi.SourcesConfig{Group: g, URLs: nbi.URLs{XApps: url}, Client: client(t)})
	if err := s.PullXApps(t.Context()); err == nil || !strings.Contains(err.Error(), "no xApps all of a sudden") {
		t.Errorf("%v", err)
	}
	m.says(200, "["+hw+"]")
	if err := s.PullXApps(t.Context()); err != nil || len(g.View().Routes.Facts.XApps()) != 1 {
		t.Errorf("%v", err)
	}
	m.says(200, "[]")
	if err := s.PullXApps(t.Context()); err == nil || g.View().Routes.Facts.XApps()[0].Name != "hw" || want == nil {
		t.Errorf("%v", err)
	}
	if err := s.PullXApps(t.Context()); err != nil || len(g.View().Routes.Facts.XApps()) != 0 {
		t.Errorf("said twice: %v", err)
	}
}

// What a call changed is not undone by an answer that is older.
func TestCompareTakesTwoAnswers(t *testing.T) {
	g := newGroup(t)
	g.facts(t, derive.Change{Kind: derive.PutE2T, E2T: "e1:1", RANs: []string{"a"}}, derive.Change{Kind: derive.PutE2T, E2T: "e2:1"})
	m, url := newManager(t, `[{"e2tAddress":"e1:1","ranNames":["b"]},{"e2tAddress":"e2:1","ranNames":["a"]}]`)
	hold := make(chan struct{})
	m.stall = hold
	asking(t, g, nbi.SourcesConfig{URLs: nbi.URLs{E2Ts: url}})
	owner := func(ran string) string { o, _ := g.View().Routes.State().MEIDs.Owner(ran); return o }
	hold <- struct{}{}
	// The new one is taken from the first answer, the move only from the second.
	eventually(t, "b", func() bool { return owner("b") == "e1:1" })
	eventually(t, "the second question", func() bool { return m.questions() == 2 })
	if owner("a") != "e1:1" {
		t.Error("one answer moved a RAN")
	}
	// In between a call says the same as before: the difference is a new one.
	g.facts(t, derive.Change{Kind: derive.Associate, E2T: "e3:1", RANs: []string{"a"}})
	hold <- struct{}{}
	eventually(t, "the third question", func() bool { return m.questions() == 3 })
	if owner("a") != "e3:1" {
		t.Error("an answer undid a call")
	}
	close(hold)
	eventually(t, "the move", func() bool { return owner("a") == "e2:1" })
}

// A call that comes between the comparison and its commit wins.
func TestCallsDuringTheCommit(t *testing.T) {
	g := newGroup(t)
	m, url := newManager(t, `[{"e2tAddress":"e1:1","ranNames":["a"]}]`)
	hold := make(chan struct{})
	m.stall = hold
	g.before = func() { g.facts(t, derive.Change{Kind: derive.Associate, E2T: "e2:1", RANs: []string{"a"}}) }
	asking(t, g, nbi.SourcesConfig{URLs: nbi.URLs{E2Ts: url}})
	hold <- struct{}{}
	eventually(t, "the second question", func() bool { return m.questions() == 2 })
	if owner, _ := g.View().Routes.State().MEIDs.Owner("a"); owner != "e2:1" {
		t.Errorf("a belongs to %q: the call was undone", owner)
	}
	close(hold)
	// The manager insists, so in the end it is believed.
	eventually(t, "e1", func() bool { owner, _ := g.View().Routes.State().MEIDs.Owner("a"); return owner == "e1:1" })
}

func TestOnlyTheLeaderAsks(t *testing.T) {
	g := newGroup(t)
	m, url := newManager(t, "["+hw+"]")
	var leads atomic.Bool
	var looked atomic.Int64
	changed := make(chan struct{}, 1)
	asking(t, g, nbi.SourcesConfig{URLs: nbi.URLs{XApps: url}, Every: time.Hour, LeaderChanged: func() <-chan struct{} { return changed },
		Leads: func() bool { looked.Add(1); return leads.Load() }})
	eventually(t, "a look", func() bool { return looked.Load() > 3 })
	if m.questions() != 0 {
		t.Error("a follower asked")
	}
	leads.Store(true)
	eventually(t, "the xApps", func() bool { return slices.Equal(names(g.View().Routes.Facts.XApps()), []string{"hw"}) })
	// No longer the leader: it stops; leader again: it asks at once.
	asked, before := m.questions(), looked.Load()
	leads.Store(false)
	changed <- struct{}{}
	eventually(t, "more looks", func() bool { return looked.Load() > before+3 })
	if m.questions() != asked {
		t.Error("it asked after it had lost the lead")
	}
	leads.Store(true)
	eventually(t, "another question", func() bool { return m.questions() == asked+1 })
}

func TestTheWebHookIsRenewed(t *testing.T) {
	g := newGroup(t)
	appmgr, url := newManager(t, "[]")
	asking(t, g, nbi.SourcesConfig{URLs: nbi.URLs{Hooks: url, Target: "http://vip:3800/ric/v1/handles/xapp-handle/"}})
	eventually(t, "renewals", func() bool { return len(appmgr.hooks()) > 2 })
	want := `{"targetUrl":"http://vip:3800/ric/v1/handles/xapp-handle/","eventType":"all","maxRetries":5,"retryTimer":10}`
	for _, got := range appmgr.hooks() {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// appmgr announces only what changed: without its list the others stay.
func TestAnnouncementsWithoutAList(t *testing.T) {
	g := newGroup(t)
	appmgr, url := newManager(t, "")
	appmgr.says(http.StatusInternalServerError, "")
	f := serve(t, nbi.Config{Group: g, XApps: nbi.NewSources(nbi.SourcesConfig{Group: g, URLs: nbi.URLs{XApps: url}, Client: client(t)})})
	want := func(want ...string) {
		t.Helper()
		if got := names(g.View().Routes.Facts.XApps()); !slices.Equal(got, want) {
			t.Errorf("xApps %q, want %q", got, want)
		}
	}
	f.want(200, "POST", "/handles/xapp-handle/", announce("deployed", hw))
	f.want(200, "POST", "/handles/xapp-handle/", announce("created", kpimon))
	want("hw", "kpimon")
	f.want(200, "POST", "/handles/xapp-handle/", announce("undeployed", hw))
	want("kpimon")
	f.want(200, "POST", "/handles/xapp-handle/", strings.Replace(announce("deleted", kpimon), "eventType", "event", 1))
	want()
	// One that stalls leaves time for what it announced.
	stall := make(chan struct{})
	appmgr.mu.Lock()
	appmgr.stall = stall
	appmgr.mu.Unlock()
	f.want(200, "POST", "/handles/xapp-handle/", announce("deployed", hw))
	want("hw")
	close(stall)
	appmgr.says(200, "["+kpimon+"]")
	f.want(200, "POST", "/handles/xapp-handle/", announce("deployed", hw))
	want("kpimon")
}

// RANs that no message can name are left out; the rest of the answer counts.
func TestNamesThatNoMessageCarries(t *testing.T) {
	g := newGroup(t)
	_, e2mgr := newManager(t, `[{"e2tAddress":"e1:1","ranNames":["`+strings.Repeat("x", 32)+`","ok"]}]`)
	_, submgr := newManager(t, `[{"SubscriptionId":1,"ClientEndpoint":["topic:x","noport","a:1"]}]`)
	asking(t, g, nbi.SourcesConfig{URLs: nbi.URLs{E2Ts: e2mgr, Subscriptions: submgr}})
	eventually(t, "the rest", func() bool {
		return slices.EqualFunc(g.e2ts(), []derive.E2T{{Address: "e1:1", RANs: []string{"ok"}}}, func(a, b derive.E2T) bool {
			return a.Address == b.Address && slices.Equal(a.RANs, b.RANs)
		}) && len(g.View().Routes.Facts.Subscriptions()) == 1
	})
	if got := g.View().Routes.Facts.Subscriptions()[0].Endpoints; !slices.Equal(got, []string{"a:1"}) {
		t.Errorf("%q", got)
	}
}

// A RAN of an E2T that e2mgr does not list stays until it was said twice.
func TestOwnersThatAreNoE2T(t *testing.T) {
	g := newGroup(t)
	g.facts(t, derive.Change{Kind: derive.Associate, E2T: "e9:1", RANs: []string{"a"}})
	m, url := newManager(t, `[{"e2tAddress":"e1:1","ranNames":["b"]}]`)
	hold := make(chan struct{})
	m.stall = hold
	asking(t, g, nbi.SourcesConfig{URLs: nbi.URLs{E2Ts: url}})
	hold <- struct{}{}
	eventually(t, "b", func() bool { return g.View().Routes.State().MEIDs.Len() == 2 })
	close(hold)
	eventually(t, "a gone", func() bool { return g.View().Routes.State().MEIDs.Len() == 1 })
}
