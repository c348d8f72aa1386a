package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"floe/fsm"
	"floe/routing"
	"floe/scripts/rmrapp"
)

// Case T01: the first thing an app gets is a complete table, while routes
// change all the time.
func TestFullTableFirst(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	g.load(t, "mse|100|-1|a:1")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				g.load(t, "updatert|start", fmt.Sprintf("mse|100|-1|a:%d", 2+i%1000))
			}
		}
	}()
	var apps []*rmrapp.App
	for range 5 {
		apps = append(apps, start(t, m.address))
	}
	for _, a := range apps {
		wait(t, a, "has five tables", func(a *rmrapp.App) bool { return len(a.History()) >= 5 })
	}
	close(stop)
	<-stopped
	g.load(t, "updatert|start", "mse|100|-1|last:1")
	for _, a := range apps {
		routed(t, a, 100, "last:1")
		for i, e := range a.History() {
			if !e.Applied || (e.Kind == routing.FullTable) != (i == 0) || !e.Asked {
				t.Errorf("event %d: %v", i, e)
			}
		}
	}
	noFaults(t, apps...)
}

// What is acknowledged becomes known to the state, whole, and once.
func TestChangesAreAcknowledged(t *testing.T) {
	t.Parallel() // it waits for seconds
	g := newGroup(t)
	m := serve(t, g)
	g.load(t, "mse|100|-1|a:1", "mse|101|-1|%meid", "mme_ar|o:1|m1 m2")
	a := start(t, m.address)
	routed(t, a, 100, "a:1")
	acked := func() {
		t.Helper()
		eventually(t, "the acknowledgement is committed", func() bool {
			app, _ := g.View().App(a.ID())
			return app.Acked == g.View().TableVersion() && app.Node == "n1"
		})
	}
	acked()
	g.load(t, "updatert|start", "mme_del|m1")
	if g.View().Routes.Gone.Len() != 1 {
		t.Error("no tombstone")
	}
	wait(t, a, "has forgotten m1", func(a *rmrapp.App) bool { return len(a.MEIDs()) == 1 })
	acked()
	if got := kindOf(a); got != routing.MapUpdate {
		t.Errorf("a change of the map came as %v", got)
	}
	st := m.Apps()
	if len(st) != 1 || st[0].Name != a.ID() || st[0].VersionAcked != g.View().TableVersion() || st[0].VersionSent != st[0].VersionAcked || st[0].Error != "" || !st[0].Connected || st[0].AgeSeconds > 20 {
		t.Errorf("%+v", st)
	}
	noFaults(t, a)
}

// A change that changes nothing for an app is not pushed, and counts as
// acknowledged; what is for senders that are no app we know goes to all.
func TestWhatConcernsOthersIsNotPushed(t *testing.T) {
	t.Parallel() // it waits for seconds
	g := newGroup(t)
	m := serve(t, g)
	a := start(t, m.address, func(c *rmrapp.Config) { c.Name = "localhost" })
	b := start(t, m.address, func(c *rmrapp.Config) { c.Name = "localhost" })
	g.load(t, "mse|100,"+a.ID()+"|-1|a:1", "mse|101|-1|c:1", "mse|102,nobody:1|-1|c:1")
	routed(t, b, 101, "c:1")
	routed(t, a, 100, "a:1")
	both := func(v uint64) func() bool {
		return func() bool {
			for _, id := range []string{a.ID(), b.ID()} {
				if app, _ := g.View().App(id); app.Acked < v {
					return false
				}
			}
			return true
		}
	}
	eventually(t, "both acknowledged", both(g.View().TableVersion()))
	before := len(b.History())
	g.load(t, "updatert|start", "mse|100,"+a.ID()+"|-1|a:2")
	routed(t, a, 100, "a:2")
	eventually(t, "the change counts as acknowledged", both(g.View().TableVersion()))
	if got := len(b.History()); got != before {
		t.Errorf("%d tables after a change for another app, %d before", got, before)
	}
	g.load(t, "updatert|start", "mse|102,nobody:1|-1|c:2")
	wait(t, b, "gets what may be for it", func(b *rmrapp.App) bool { return len(b.History()) == before+1 })
	g.load(t, "updatert|start", "del|100,"+a.ID()+"|-1")
	routed(t, a, 100, "")
	noFaults(t, a, b)
}

// An entry that was left out because its sender was another app must come
// when that app is forgotten.
func TestEntryOfAForgottenAppIsForAll(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	a := start(t, m.address)
	other := "other:4560"
	g.must(t, fsm.RegisterApp{Name: other, Node: "n9"})
	ref, _ := g.View().App(other)
	g.load(t, "mse|100|-1|a:1", "mse|101,"+other+","+strings.Replace(a.ID(), "127.0.0.1", "127.0.0.9", 1)+"|-1|c:1", "mse|102,"+other+"|-1|c:1")
	routed(t, a, 100, "a:1")
	eventually(t, "it is settled", func() bool { st := m.Apps(); return len(st) == 1 && st[0].VersionAcked == g.View().TableVersion() })
	before := len(a.History())
	g.must(t, fsm.ForgetApps{Apps: []fsm.AppRef{{Name: other, Serial: ref.Serial}}})
	wait(t, a, "gets the entry", func(a *rmrapp.App) bool { return len(a.History()) == before+1 })
	noFaults(t, a)
}

// Case T03: a refused table is resent in full, and shown.
func TestRefusedTables(t *testing.T) {
	t.Parallel() // it waits for seconds
	g := newGroup(t)
	m := serve(t, g)
	g.load(t, "mse|100|-1|a:1")
	a := start(t, m.address)
	routed(t, a, 100, "a:1")
	a.SetAnswer(rmrapp.Refusing)
	g.load(t, "updatert|start", "mse|100|-1|a:2", "mme_ar|o:1|m1")
	eventually(t, "the refusal is shown", func() bool {
		st := m.Apps()
		return len(st) == 1 && strings.Contains(st[0].Error, "refused: ") && strings.Contains(st[0].Error, "missing table records") && st[0].VersionAcked < st[0].VersionSent
	})
	var refused []rmrapp.Event
	wait(t, a, "refuses three times", func(a *rmrapp.App) bool {
		refused = slices.DeleteFunc(a.History(), func(e rmrapp.Event) bool { return e.Applied })
		return len(refused) >= 3
	})
	if pause := refused[2].At.Sub(refused[1].At); pause < 500*time.Millisecond {
		t.Errorf("sent again and again, after %v", pause)
	}
	a.SetAnswer(rmrapp.Honest)
	routed(t, a, 100, "a:2")
	eventually(t, "no error is left", func() bool { return m.Apps()[0].Error == "" })
	if got := kindOf(a); got != routing.FullTable {
		t.Errorf("after a refusal came %v", got)
	}
	noFaults(t, a)
}

// Case M08: what is said of a map is told apart from what is said of routes.
func TestRefusedMaps(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	g.load(t, "mse|100|-1|a:1")
	a := start(t, m.address)
	routed(t, a, 100, "a:1")
	eventually(t, "it is settled", func() bool { st := m.Apps(); return len(st) == 1 && st[0].VersionAcked > 0 })
	a.SetAnswer(rmrapp.Refusing)
	g.load(t, "updatert|start", "mme_ar|o:1|m1")
	wait(t, a, "refuses a map", func(a *rmrapp.App) bool {
		return slices.ContainsFunc(a.History(), func(e rmrapp.Event) bool { return e.Kind == routing.MapUpdate && !e.Applied })
	})
	a.SetAnswer(rmrapp.Honest)
	wait(t, a, "has the map", func(a *rmrapp.App) bool { return a.MEIDs()["m1"] == "o:1" })
	for _, test := range []struct {
		text, want string
	}{{"newrt|start|1\n", "table of version 5"}, {"updatert|start|1\n", "update to version 5"}, {"meid_map|start|1\n", "MEID map update to version 5"}} {
		c := content{of: &edition{version: 5}, full: strings.HasPrefix(test.text, "newrt"), texts: [][]byte{[]byte(test.text)}}
		if got := c.what(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	noFaults(t, a)
}

// A program that can't answer any more gets what changes all the same.
func TestSilentApps(t *testing.T) {
	t.Parallel() // it waits for seconds
	g := newGroup(t)
	m := serve(t, g, func(c *Config) { c.AckTimeout = 100 * time.Millisecond })
	g.load(t, "mse|100|-1|a:1", "mme_ar|o:1|m1 m2 m3")
	a := start(t, m.address)
	routed(t, a, 100, "a:1")
	eventually(t, "it is settled", func() bool { st := m.Apps(); return len(st) == 1 && st[0].VersionAcked > 0 })
	a.SetAnswer(rmrapp.Silent)
	for i := range 12 { // more than are kept apart
		g.load(t, "updatert|start", fmt.Sprintf("mse|100|-1|b:%d", i+1), fmt.Sprintf("mme_ar|o:1|x%d", i), fmt.Sprintf("mme_del|x%d", i-1))
		routed(t, a, 100, fmt.Sprintf("b:%d", i+1))
	}
	eventually(t, "the error is shown", func() bool { return strings.Contains(m.Apps()[0].Error, "not acknowledged") })
	g.load(t, "updatert|start", "mme_del|m1 m2 x11")
	wait(t, a, "has forgotten all that went", func(a *rmrapp.App) bool { return len(a.MEIDs()) == 1 })
	for _, e := range a.History() {
		if !e.Asked {
			t.Errorf("it was dialled although it is connected: %v", e)
		}
	}
	a.SetAnswer(rmrapp.Honest)
	g.load(t, "updatert|start", "mse|100|-1|c:1")
	eventually(t, "it answers again", func() bool {
		st := m.Apps()[0]
		return st.Error == "" && st.VersionAcked == g.View().TableVersion()
	})
	noFaults(t, a)
}

// Case T05: large tables are cut at ends of records.
func TestChunkedTables(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g, func(c *Config) { c.Chunk = 4000 })
	var lines []string
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("mse|%d|-1|some-host-with-a-long-name-%d.namespace.cluster.local:4560", 1000+i, i))
	}
	g.load(t, lines...)
	a := start(t, m.address)
	routed(t, a, 5999, "some-host-with-a-long-name-4999.namespace.cluster.local:4560")
	g.load(t, append([]string{"updatert|start"}, lines[:100]...)...) // changes nothing
	g.load(t, "updatert|start", "mse|100|-1|a:1")
	routed(t, a, 100, "a:1")
	want, err := a.TextOf("newrt|start\n" + strings.Join(lines, "\n") + "\nmse|100|-1|a:1\nnewrt|end\n")
	got, err2 := a.Text()
	if err != nil || err2 != nil || got != want {
		t.Errorf("%v, %v: the table is another one", err, err2)
	}
	a.DropConnections() // it is dialled, and gets everything again
	before := len(a.History())
	wait(t, a, "has it again", func(a *rmrapp.App) bool { return len(a.History()) > before })
	if e, _ := a.Last(); e.Asked || e.Kind != routing.FullTable || !e.Applied {
		t.Errorf("%v", e)
	}
	noFaults(t, a)
}

// A table that was cut in two is finished by nobody: the next one makes a
// fresh start that the program can answer.
func TestTableAfterATornOne(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g, func(c *Config) { c.Chunk = 1 << 20 })
	g.load(t, "mse|100|-1|a:1")
	a := start(t, m.address)
	routed(t, a, 100, "a:1")
	eventually(t, "it is settled", func() bool { st := m.Apps(); return len(st) == 1 && st[0].VersionAcked > 0 })
	// Another node serves it, and dies in the middle of a table.
	app, _ := g.View().App(a.ID())
	g.must(t, fsm.SetServing{Assign: []fsm.Assignment{{Name: app.Name, Serial: app.Serial, Node: "n9"}}})
	eventually(t, "it is not served", func() bool { return m.session(a.ID()) == nil })
	c := newConn(m.Manager, dial(t, a.ControlAddress()))
	other := newSession(m.Manager, "")
	other.conn = c
	if err := other.send(&content{id: "1", texts: [][]byte{[]byte("newrt|start|1\nmse|7|-1|x:1\n")}}, true); err != nil {
		t.Fatal(err)
	}
	wait(t, a, "has a table open", (*rmrapp.App).Open)
	a.DropConnections()
	g.must(t, fsm.SetServing{Assign: []fsm.Assignment{{Name: app.Name, Serial: app.Serial, Node: "n1"}}})
	g.load(t, "updatert|start", "mse|100|-1|a:2")
	routed(t, a, 100, "a:2")
	eventually(t, "it acknowledged", func() bool { return m.Apps()[0].VersionAcked == g.View().TableVersion() })
	noFaults(t, a)
}

// What is sent in place of topics and relayed types, and without the dead.
func TestWhatIsSentFollowsTheDistribution(t *testing.T) {
	g := newGroup(t)
	g.must(t, member("n1", map[string][]string{"rmr": {"n1:4560"}, "rmr-topics": {"n1:4563"}}), member("n0", map[string][]string{"rmr": {"n0:4560"}, "rmr-topics": {"n0:4563"}}))
	m := serve(t, g)
	g.load(t, "mse|100|-1|topic:x;topic:y;a:1", "mse|101|-1|a:1,topic:x", "mse|102|-1|a:1,b:1", "mse|103|-1|a:1", "mse|104|-1|%meid")
	a := start(t, m.address)
	routed(t, a, 100, "n1:4563,n0:4563;a:1")
	routed(t, a, 101, "a:1,n1:4563")
	g.must(t, fsm.SetServing{Out: []string{"n0"}})
	routed(t, a, 100, "n1:4563;a:1")
	g.must(t, fsm.SetProbed{Dead: []string{"a:1"}})
	routed(t, a, 102, "b:1")
	routed(t, a, 103, "a:1") // never the last one
	routed(t, a, 101, "n1:4563")
	mtype := int32(104)
	g.must(t, fsm.SetRelay{On: true, MType: &mtype}, fsm.SetServing{In: []string{"n0"}}, fsm.SetProbed{Alive: []string{"a:1"}})
	routed(t, a, 104, "n1:4560,n0:4560")
	routed(t, a, 102, "a:1,b:1")
	g.must(t, fsm.SetRelay{On: true})
	routed(t, a, 103, "n1:4560,n0:4560")
	g.must(t, member("n1", nil), member("n0", nil), fsm.SetRelay{})
	routed(t, a, 100, "a:1")
	routed(t, a, 103, "a:1")
	noFaults(t, a)
}

// Nothing is pushed where nothing an app sees has changed, even if the
// version is another.
func TestVersionsWithoutAChangeForApps(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g)
	g.load(t, "mse|100|-1|a:1")
	a := start(t, m.address)
	routed(t, a, 100, "a:1")
	g.must(t, fsm.SetServing{Out: []string{"n9"}}, fsm.SetProbed{Dead: []string{"x:1"}})
	eventually(t, "it counts as acknowledged", func() bool { st := m.Apps(); return len(st) == 1 && st[0].VersionAcked == g.View().TableVersion() })
	if got := len(a.History()); got != 1 {
		t.Errorf("%d tables", got)
	}
	noFaults(t, a)
}

// An app that was answered without a quorum may hold MEIDs that are deleted,
// and no longer known as such, by the time it is registered.
func TestDeletionsBeforeTheRegistration(t *testing.T) {
	g := newGroup(t)
	m := serve(t, g, func(c *Config) { c.AckTimeout = 100 * time.Millisecond })
	g.load(t, "mse|100|-1|a:1", "mme_ar|o:1|m1 m2")
	g.setCut(true)
	eventually(t, "the lease ran out", func() bool { return !m.lease.valid() })
	a := start(t, m.address)
	a.SetAnswer(rmrapp.Silent)
	wait(t, a, "has both", func(a *rmrapp.App) bool { return len(a.MEIDs()) == 2 })
	g.load(t, "updatert|start", "mme_del|m1")
	g.others(20_000)
	g.must(t, fsm.AckApps{}) // all apps known have been told, long ago
	if g.View().Routes.Gone.Len() != 0 {
		t.Fatal("the tombstone stays")
	}
	g.setCut(false)
	wait(t, a, "has forgotten m1", func(a *rmrapp.App) bool { return len(a.MEIDs()) == 1 })
	noFaults(t, a)
}
