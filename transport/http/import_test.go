package http_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/routing/derive"
	"floe/topics"
	floehttp "floe/transport/http"
	"floe/transport/http/api"
	"floe/transport/ice/proto"
)

func proxyBytes(t *testing.T, text string) []byte {
	t.Helper()
	p, err := proto.ParseProxy(text)
	if err != nil {
		t.Fatal(err)
	}
	return proto.AppendProxy(nil, &p, proto.Encoding11)
}

func (w *world) importing(t *testing.T, ask api.ImportIceStorm) (api.Imported, api.Kind, string) {
	t.Helper()
	status, body, _ := w.do(t, "POST", "/v1/import/icestorm", ask)
	var out api.Imported
	if status != 200 {
		return out, kind(body), body
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatal(err)
	}
	return out, "", body
}

// whole is an import with one of everything.
func whole(t *testing.T) api.ImportIceStorm {
	return api.ImportIceStorm{
		Instance: "IceStorm",
		Topics:   []string{"", "a/b", "new\nline", strings.Repeat("x", 255)},
		Receivers: []api.ImportReceiver{
			{Topic: "", Link: true, Cost: -5, Proxy: proxyBytes(t, `"IceStorm/topic.a\/b":tcp -h 10.0.0.1 -p 10000`)},
			{Topic: "", Link: true, Cost: 3, Proxy: proxyBytes(t, "Other/topic.X:tcp -h 10.0.0.2 -p 10000")},
			{Topic: "", Proxy: proxyBytes(t, "cat/s -o:tcp -h 10.0.0.3 -p 1"), QoS: map[string]string{"retryCount": "3", "a": "b"}},
			{Topic: "new\nline", Proxy: proxyBytes(t, "cat/s -D:udp -h 10.0.0.3 -p 1")},
		},
	}
}

func TestImportIceStorm(t *testing.T) {
	w := newWorld(t)
	ask := whole(t)
	ask.Check = true
	checked, _, body := w.importing(t, ask)
	if checked.Applied || len(checked.Changes) != 8 || w.group.View().Graph.Len() != 0 {
		t.Fatalf("check: %s", body)
	}
	ask.Check = false
	done, _, body := w.importing(t, ask)
	if !done.Applied || len(done.Changes) != 8 || done.Parts != 1 || len(done.Kept) != 0 || done.Index == 0 {
		t.Fatalf("import: %s", body)
	}
	g := w.group.View().Graph
	topic := g.Topic("")
	if len(topic.Links) != 2 || topic.Links[0].To != g.Topic("a/b").ID || topic.Links[0].Cost != -5 || topic.Links[1].Remote.Identity != (topics.Identity{Name: "topic.X", Category: "Other"}) {
		t.Errorf("links: %+v", topic.Links)
	}
	want := topics.Subscription{
		Identity: topics.Identity{Name: "s", Category: "cat"}, Proxy: ask.Receivers[2].Proxy,
		QoS: []topics.Setting{{Key: "a", Value: "b"}, {Key: "retryCount", Value: "3"}}, Serial: topic.Subscriptions[0].Serial,
	}
	if diff := cmp.Diff(topic.Subscriptions, []topics.Subscription{want}); diff != "" {
		t.Errorf("subscriptions (-got +want):\n%s", diff)
	}
	again, _, body := w.importing(t, ask)
	if !again.Applied || len(again.Changes)+len(again.Kept) != 0 || w.group.View().Graph.Digest() != g.Digest() {
		t.Errorf("a second time: %s", body)
	}
}

// What is here and differs stays, and is named.
func TestImportKeepsWhatIsHere(t *testing.T) {
	w := newWorld(t)
	ask := whole(t)
	w.importing(t, ask)
	before := w.group.View().Graph.Digest()
	ask.Receivers[0].Cost = 1
	ask.Receivers[2].QoS = nil
	ask.Receivers[3].Proxy = proxyBytes(t, "cat/s:tcp -h 10.0.0.4 -p 1")
	done, _, body := w.importing(t, ask)
	want := []string{"has cost -5 here and 1", "other quality of service", "10.0.0.4"}
	for i, k := range done.Kept {
		if i >= len(want) || !strings.Contains(k, want[i]) {
			t.Errorf("kept: %q", done.Kept)
		}
	}
	if len(done.Kept) != 3 || len(done.Changes) != 0 || w.group.View().Graph.Digest() != before {
		t.Errorf("got %s", body)
	}
}

// A refused import changes nothing.
func TestImportIsWholeOrNothing(t *testing.T) {
	for name, spoil := range map[string]func(*api.ImportIceStorm){
		"another instance": func(a *api.ImportIceStorm) { a.Instance = "Other" },
		"a long name":      func(a *api.ImportIceStorm) { a.Topics = append(a.Topics, strings.Repeat("x", 256)) },
		"no such topic":    func(a *api.ImportIceStorm) { a.Receivers[3].Topic = "missing" },
		"no such target":   func(a *api.ImportIceStorm) { a.Receivers[0].Proxy = proxyBytes(t, "IceStorm/topic.missing") },
		"no proxy":         func(a *api.ImportIceStorm) { a.Receivers[3].Proxy = nil },
		"half a proxy":     func(a *api.ImportIceStorm) { a.Receivers[3].Proxy = a.Receivers[3].Proxy[:9] },
		"twice":            func(a *api.ImportIceStorm) { a.Receivers = append(a.Receivers, a.Receivers[0]) },
	} {
		w := newWorld(t)
		ask := whole(t)
		spoil(&ask)
		if _, kind, body := w.importing(t, ask); kind == "" || w.group.View().Graph.Len() != 0 {
			t.Errorf("%s: %s", name, body)
		}
		if name == "another instance" {
			if _, _, body := w.importing(t, ask); !strings.Contains(body, "--ice-instance Other") {
				t.Errorf("no word of the flag: %s", body)
			}
		}
	}
}

func TestImportMeetsOthersChanges(t *testing.T) {
	w := newWorld(t)
	w.group.before = func() { w.group.must(fsm.CreateTopic{Name: "a/b"}) }
	if done, _, body := w.importing(t, whole(t)); len(done.Changes) != 7 || w.group.View().Graph.Len() != 4 {
		t.Errorf("got %s", body)
	}
}

// What no log entry holds is made in parts where that is asked for.
func TestImportInParts(t *testing.T) {
	w := newWorld(t)
	ask := api.ImportIceStorm{Instance: "IceStorm", Topics: []string{"A"}}
	for i := range 5 {
		ask.Receivers = append(ask.Receivers, api.ImportReceiver{
			Topic: "A", Proxy: proxyBytes(t, fmt.Sprintf("s%d:tcp -h 10.0.0.1 -p 1", i)), QoS: map[string]string{"long": strings.Repeat("x", 1<<20)},
		})
	}
	if _, kind, body := w.importing(t, ask); kind != api.TooLarge || !strings.Contains(body, "--parts") || w.group.View().Graph.Len() != 0 {
		t.Errorf("in one: %.200s", body)
	}
	ask.Parts = true
	if done, _, body := w.importing(t, ask); done.Parts != 2 || len(w.group.View().Graph.Topic("A").Subscriptions) != 5 {
		t.Errorf("in parts: %.200s", body)
	}
}

func TestImportRouteManager(t *testing.T) {
	old := func(now *derive.Facts, texts []string) (floehttp.OldManager, error) {
		if texts[0] == "bad" {
			return floehttp.OldManager{}, errors.New("no such file")
		}
		return floehttp.OldManager{Facts: texts, Changes: []derive.Change{
			{Kind: derive.SetE2Ts, E2Ts: []derive.E2T{{Address: "e2t:38000", RANs: []string{"gnb1"}}}, Base: now.Mark(derive.SetE2Ts)},
			{Kind: derive.AddRoute, Route: &derive.Route{MType: 30000, SubID: -1, Groups: [][]string{{"app:4560"}}}},
		}}, nil
	}
	w := newWorld(t, func(c *floehttp.Config) { c.OldManager = old })
	ask := api.ImportRouteManager{Texts: []string{"good"}, Check: true}
	do := func() (out api.RoutesImported) {
		t.Helper()
		status, body, _ := w.do(t, "POST", "/v1/import/rtmgr", ask)
		if err := json.Unmarshal([]byte(body), &out); status != 200 || err != nil {
			t.Fatalf("%d %s", status, body)
		}
		return out
	}
	checked := do()
	want := []string{"mse|30000|-1|app:4560", "mme_ar|e2t:38000|gnb1"}
	if !slices.Equal(checked.Added, want) || !checked.Changed || checked.Applied || !w.group.View().Routes.Facts.Empty() {
		t.Errorf("check: %+v", checked)
	}
	ask.Check = false
	if done := do(); !done.Changed || !done.Applied || done.Version == 0 || w.group.View().Routes.Facts.Empty() {
		t.Errorf("import: %+v", done)
	}
	if again := do(); again.Changed || len(again.Added)+len(again.Removed) != 0 {
		t.Errorf("again: %+v", again)
	}
	ask.Texts = []string{"bad"}
	if status, body, _ := w.do(t, "POST", "/v1/import/rtmgr", ask); status != 400 || !strings.Contains(body, "no such file") {
		t.Errorf("bad: %d %s", status, body)
	}
	if status, _, _ := newWorld(t).do(t, "POST", "/v1/import/rtmgr", ask); status != 400 {
		t.Errorf("without a reader: %d", status)
	}
}

// An error between the parts says how many were made.
func TestImportEndsBetweenParts(t *testing.T) {
	w := newWorld(t)
	ask := api.ImportIceStorm{Instance: "IceStorm", Topics: []string{"A"}, Parts: true}
	for i := range 5 {
		ask.Receivers = append(ask.Receivers, api.ImportReceiver{
			Topic: "A", Proxy: proxyBytes(t, fmt.Sprintf("s%d:tcp -h 10.0.0.1 -p 1", i)), QoS: map[string]string{"long": strings.Repeat("x", 1<<20)},
		})
	}
	w.group.before = func() {
		w.group.before = func() { w.group.fail = errors.New("the disk is full") }
	}
	if _, kind, body := w.importing(t, ask); kind == "" || !strings.Contains(body, "part 2 of 2") || len(w.group.View().Graph.Topic("A").Subscriptions) != 3 {
		t.Errorf("got %.300s", body)
	}
}
