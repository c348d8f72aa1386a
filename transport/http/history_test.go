package http_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
	floehttp "floe/transport/http"
	"floe/transport/http/api"
	"floe/transport/http/client"
)

// answer makes a call that has to be good, and decodes its answer.
func answer[T any](t *testing.T, w *world, method, path string, body any) T {
	t.Helper()
	var out T
	status, text, _ := w.do(t, method, path, body)
	if status != 200 || json.Unmarshal([]byte(text), &out) != nil {
		t.Fatalf("%s %s: got %d %s", method, path, status, text)
	}
	return out
}

func routeBlocks(t *testing.T, w *world, text string) {
	t.Helper()
	if status, body, _ := w.do(t, "POST", "/v1/routes", text); status != 200 {
		t.Fatalf("got %d %s", status, body)
	}
}

func TestHistory(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"A", "B", "C D"} {
		w.do(t, "POST", "/v1/topics", api.NewTopic{Name: name})
	}
	w.do(t, "POST", "/v1/links", api.NewLink{From: "A", To: "B", Cost: 5})
	w.do(t, "POST", "/v1/links", api.NewLink{From: "A", To: "B", Cost: 3, Replace: true})
	w.do(t, "POST", "/v1/links", api.NewLink{From: "A", To: "7/1", Messages: true})
	routeBlocks(t, w, "newrt|start\nmse|100|-1|x:1\nnewrt|end|1\nmeid_map|start\nmme_ar|o:1|m1\nmeid_map|end|1\n")
	w.do(t, "DELETE", "/v1/topics?name=A", nil)
	w.group.must(fsm.SetMember{Member: fsm.Member{ID: "n1", Incarnation: 1}})

	got := []string{}
	all := answer[api.History](t, w, "GET", "/v1/history", nil)
	for _, r := range all.Changes {
		got = append(got, fmt.Sprintf("%d %s: %s", r.Index, r.Op, r.Text))
	}
	want := []string{
		"2 create: create A", "3 create: create B", `4 create: create "C D"`, "5 link: link A to B with cost 5", "6 link: cost of A to B from 5 to 3",
		"7 link: link A to rmr:7/1 with cost 0", "8 routes: 1 route and 1 MEID changed",
		"9 destroy: unlink A from B, cost 3, unlink A from rmr:7/1, cost 0, destroy A",
	}
	if diff := cmp.Diff(got, want); diff != "" || all.Index != 10 {
		t.Errorf("index %d, changes (-got +want):\n%s", all.Index, diff)
	}
	routes := all.Changes[6]
	if diff := cmp.Diff(routes.Added, []string{"mse|100|-1|x:1", "mme_ar|o:1|m1"}); diff != "" || len(routes.Removed) != 0 {
		t.Errorf("removed %v, added (-got +want):\n%s", routes.Removed, diff)
	}
	for path, want := range map[string]int{"?topic=B": 4, "?topic=C+D": 1, "?limit=2": 2, "?all=true": 10, "?topic=none": 0, "?topic=B&limit=1&stale=1": 1} {
		if got := answer[api.History](t, w, "GET", "/v1/history"+path, nil); len(got.Changes) != want {
			t.Errorf("%s: got %d changes, want %d", path, len(got.Changes), want)
		}
	}
	for _, bad := range []string{"?limit=0", "?limit=x", "?all=maybe"} {
		if status, body, _ := w.do(t, "GET", "/v1/history"+bad, nil); status != 400 {
			t.Errorf("%s: got %d %s", bad, status, body)
		}
	}
}

func TestRevert(t *testing.T) {
	w := newWorld(t)
	w.group.must(fsm.CreateTopic{Name: "A"}, fsm.CreateTopic{Name: "B"}, fsm.Link{From: "A", To: "B", Cost: 5})
	routeBlocks(t, w, "newrt|start\nmse|100|-1|x:1\nnewrt|end|1\n")
	good := w.group.View().Index
	w.group.must(fsm.DestroyTopic{Name: "B"}, fsm.CreateTopic{Name: "C"}, fsm.Link{From: "A", To: "C"})
	routeBlocks(t, w, "newrt|start\nmse|100|-1|y:1\nnewrt|end|1\n")

	diff := answer[api.Reverted](t, w, "POST", "/v1/revert", api.Revert{To: good, Check: true})
	want := api.Reverted{To: good, Seen: w.group.View().Index, Index: w.group.View().Index, Graph: []api.Change{
		{Op: "unlink", From: "A", To: "C"}, {Op: "create", From: "B"}, {Op: "destroy", From: "C"}, {Op: "link", From: "A", To: "B", Cost: 5},
	}, Removed: []string{"mse|100|-1|y:1"}, Added: []string{"mse|100|-1|x:1"}}
	if d := cmp.Diff(diff, want); d != "" {
		t.Errorf("the difference (-got +want):\n%s", d)
	}
	if w.group.View().Graph.Topic("C") == nil {
		t.Error("a check changed something")
	}
	w.group.must(fsm.CreateTopic{Name: "D"})
	if status, body, _ := w.do(t, "POST", "/v1/revert", api.Revert{To: good, Seen: diff.Seen}); kind(body) != api.Changed {
		t.Errorf("after a change: got %d %s", status, body)
	}
	w.group.before = func() { w.group.must(fsm.CreateTopic{Name: "E"}) }
	if status, body, _ := w.do(t, "POST", "/v1/revert", api.Revert{To: good}); kind(body) != api.Changed {
		t.Errorf("with a change in between: got %d %s", status, body)
	}
	done := answer[api.Reverted](t, w, "POST", "/v1/revert", api.Revert{To: good})
	v := w.group.View()
	if !done.Applied || v.Graph.Len() != 2 || v.Graph.Topic("B") == nil || len(v.Graph.Topic("A").Links) != 1 {
		t.Errorf("got %+v and %d topics", done, v.Graph.Len())
	}
	if _, body, _ := w.do(t, "GET", "/v1/routes", nil); !strings.Contains(body, "mse|100|-1|x:1") {
		t.Errorf("the routes are %s", body)
	}
	if status, body, _ := w.do(t, "POST", "/v1/revert", api.Revert{To: 9999}); kind(body) != api.Limit {
		t.Errorf("to the future: got %d %s", status, body)
	}
	if status, body, _ := w.do(t, "POST", "/v1/revert", `{}`); kind(body) != api.BadRequest {
		t.Errorf("to nowhere: got %d %s", status, body)
	}
}

// served is a world behind a real listener.
func served(t *testing.T, w *world) (address string) {
	t.Helper()
	s := httptest.NewServer(w.calls)
	t.Cleanup(func() {
		if err := w.server.Shutdown(context.Background()); err != nil { // ends streams
			t.Error(err)
		}
		s.Close()
	})
	return s.Listener.Addr().String()
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// indexes returns those of the next n changes.
func indexes(t *testing.T, watch *client.Watch, n int) []uint64 {
	t.Helper()
	var got []uint64
	for len(got) < n {
		ev, err := watch.Next()
		if err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		if ev.Gap != nil {
			t.Fatalf("after %v: a gap: %+v", got, ev.Gap)
		}
		if ev.Change != nil {
			got = append(got, ev.Index)
		}
	}
	return got
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := client.New(client.Config{Addresses: []string{served(t, w)}})
	t.Cleanup(c.Close)
	w.group.must(fsm.CreateTopic{Name: "A"}, fsm.CreateTopic{Name: "B"})
	from := uint64(1)
	watch := c.Watch(patient(t), &from)
	t.Cleanup(watch.Close)
	if got := indexes(t, watch, 2); !cmp.Equal(got, []uint64{2, 3}) {
		t.Errorf("from what was: got %v", got)
	}
	w.group.must(fsm.Barrier{}, fsm.Batch{Ops: []fsm.Op{fsm.CreateTopic{Name: "C"}, fsm.Link{From: "A", To: "C"}}})
	ev, err := watch.Next()
	for err == nil && ev.Change == nil {
		ev, err = watch.Next()
	}
	if err != nil || ev.Index != 5 || len(ev.Change.Graph) != 2 {
		t.Errorf("live: got %+v, %v; want both parts of change 5", ev, err)
	}
	w.group.must(fsm.Barrier{})
	for err == nil && (ev.Progress == nil || ev.Progress.Index < 6) { // in quiet times it says how far it is
		ev, err = watch.Next()
	}
	if err != nil || ev.Index != 6 || ev.Progress.Node != "n1" {
		t.Errorf("quiet: got %+v, %v", ev, err)
	}
}

// A quiet stream shows that it lives also where entries come that change
// nothing to be told.
func TestWatchShowsProgressBetweenEntriesOfNoChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := client.New(client.Config{Addresses: []string{served(t, w)}})
	t.Cleanup(c.Close)
	watch := c.Watch(patient(t), nil)
	t.Cleanup(watch.Close)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				w.group.must(fsm.Barrier{})
			}
		}
	}()
	defer func() { close(stop); <-done }()
	ev, err := watch.Next()
	for advances := 0; err == nil && advances < 2; {
		last := ev.Index
		if ev, err = watch.Next(); ev.Index > last {
			advances++
		}
	}
	if err != nil {
		t.Error(err)
	}
}

func TestWatchSaysWhereItHasGaps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := client.New(client.Config{Addresses: []string{served(t, w)}})
	t.Cleanup(c.Close)
	for i := range fsm.MaxChanges + 5 {
		w.group.must(fsm.SetRelay{On: i%2 == 0})
	}
	from := uint64(1)
	watch := c.Watch(patient(t), &from)
	t.Cleanup(watch.Close)
	for {
		ev, err := watch.Next()
		if err != nil || ev.Change != nil {
			t.Fatalf("got %+v, %v, want a gap", ev, err)
		}
		if ev.Gap != nil {
			if ev.Gap.From != 1 || ev.Gap.Index != w.group.View().Index || ev.Index != ev.Gap.Index {
				t.Errorf("got %+v", ev.Gap)
			}
			break
		}
	}
	w.group.must(fsm.CreateTopic{Name: "A"})
	if got := indexes(t, watch, 1); got[0] != w.group.View().Index {
		t.Errorf("it goes on with %v", got)
	}
}

func TestWatchIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/v1/watch?from=x", "/v1/watch?from=99"} {
		if status, body, _ := w.do(t, "GET", path, nil); status != 400 || kind(body) != api.BadRequest {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
}

// The stream is one that browsers read.
func TestWatchIsAStreamOfServerSentEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.group.must(fsm.CreateTopic{Name: "A"}, fsm.CreateTopic{Name: "B"})
	ctx, cancel := context.WithCancel(patient(t))
	r := httptest.NewRequestWithContext(ctx, "GET", "/v1/watch?from=1", nil)
	r.Header.Set("Last-Event-ID", "2") // what a browser saw counts more than its first address
	recorder := httptest.NewRecorder()
	time.AfterFunc(time.Second, cancel) // both events are there at once
	w.calls.ServeHTTP(recorder, r)
	lines := []string{}
	for s := bufio.NewScanner(recorder.Body); s.Scan(); {
		lines = append(lines, s.Text())
	}
	text := strings.Join(lines, "\n")
	if got := recorder.Header().Get("Content-Type"); got != "text/event-stream" || !strings.Contains(text, "event: change\nid: 3\ndata: {\"index\":3,") || strings.Contains(text, `"index":2,"op"`) {
		t.Errorf("got %s and\n%s", got, text)
	}
}

type natives struct{}

func (natives) Interest(topics.ID) (int, []string) { return 2, []string{"n2"} }

// someFigures are those of one subscriber that had losses.
type someFigures struct{ topic topics.ID }

func (f someFigures) Stats() delivery.Stats {
	counts := delivery.Counts{Offered: 5, Delivered: 1, Queued: 1}
	counts.Dropped[delivery.QueueFull] = 3
	return delivery.Stats{Topics: []delivery.TopicStats{{ID: f.topic, Name: "A", Receivers: []delivery.ReceiverStats{
		{Serial: 6, Counts: counts, State: "retrying", LastError: "connection refused"}}}}}
}

func TestTraceTopic(t *testing.T) {
	w := newWorld(t, func(c *floehttp.Config) { c.Natives, c.Figures = natives{}, someFigures{1} })
	w.group.must(fsm.CreateTopic{Name: "A"}, fsm.CreateTopic{Name: "B"}, fsm.CreateTopic{Name: "C"},
		fsm.Link{From: "A", To: "B", Cost: 5}, fsm.Link{From: "A", To: "C", Cost: 3},
		fsm.Subscribe{Topic: "A", Subscription: topics.Subscription{Identity: topics.Identity{Name: "s"}}},
		fsm.Link{From: "B", To: "C"},
		fsm.Subscribe{Topic: "B", Subscription: topics.Subscription{Identity: topics.Identity{Name: "t"}}})
	got := answer[api.TopicTrace](t, w, "GET", "/v1/trace/topic?topic=A&context=cost=5", nil)
	want := []string{
		"the event costs 5",
		"subscriber s of A gets it once it can be reached: it is retrying, and connection refused; 1 queued before it; 3 dropped so far: queue_full",
		"A has 2 native subscribers on this node",
		"A has native subscribers on node n2, which gets one copy",
		"the link to B lets it pass: its cost 5 is not lower",
		"  subscriber t of B gets it",
		"  B has 2 native subscribers on this node",
		"  B has native subscribers on node n2, which gets one copy",
		"  it crosses none of the 1 link of B: an event crosses one link at most",
		"the link to C holds it: its cost 3 is lower",
	}
	if diff := cmp.Diff(got.Why, want); diff != "" {
		t.Errorf("why (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(got.Links, []api.TraceLink{{To: "B", Cost: 5, Passes: true}, {To: "C", Cost: 3}}); diff != "" || len(got.Receivers) != 2 || len(got.Native) != 4 {
		t.Errorf("links (-got +want):\n%s%d receivers, %d native", diff, len(got.Receivers), len(got.Native))
	}
	if got := answer[api.TopicTrace](t, w, "GET", "/v1/trace/topic?topic=A&context=cost=7x", nil); got.Cost != 7 || !strings.Contains(got.Why[0], `"7x"`) {
		t.Errorf("an odd cost: %+v", got.Why)
	}
	for path, want := range map[string]int{"topic=none": 404, "topic=A&cost=x": 400, "topic=A&context=x": 400, "": 400} {
		if status, body, _ := w.do(t, "GET", "/v1/trace/topic?"+path, nil); status != want {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
}

type trafficOf map[string]floehttp.NodeTraffic

func (t trafficOf) Traffic(context.Context) (map[string]floehttp.NodeTraffic, []string) {
	return t, []string{"n3"}
}

func TestTop(t *testing.T) {
	w := newWorld(t, func(c *floehttp.Config) {
		c.Cluster = trafficOf{
			"n1": {Events: api.Counts{Offered: 2}, Topics: []api.TopicTraffic{{Name: "A", Published: 2, Links: []api.LinkTraffic{{To: "B", Forwarded: 1}}}},
				Endpoints: []api.EndpointTraffic{{Name: "x:1", Counts: api.Counts{Delivered: 4}}}, Routes: []api.RouteTraffic{{MType: 7, SubID: -1, Messages: 3}}},
			"n2": {Events: api.Counts{Offered: 3, Dropped: 1}, Topics: []api.TopicTraffic{{Name: "A", Published: 5, Links: []api.LinkTraffic{{To: "B", Forwarded: 2}, {To: "C", Forwarded: 9}}}, {Name: "0"}},
				Endpoints: []api.EndpointTraffic{{Name: "x:1", Counts: api.Counts{Delivered: 1}, Dead: true}},
				Routes:    []api.RouteTraffic{{MType: 7, SubID: 2, Messages: 1}, {MType: 7, SubID: -1, Messages: 4}, {MType: 6, SubID: 5, Messages: 9}}},
		}
	})
	got := answer[api.Top](t, w, "GET", "/v1/top", nil)
	want := api.Top{Node: "n1", Nodes: []string{"n1", "n2"}, Missing: []string{"n3"}, Events: api.Counts{Offered: 5, Dropped: 1},
		Topics:    []api.TopicTraffic{{Name: "0"}, {Name: "A", Published: 7, Links: []api.LinkTraffic{{To: "B", Forwarded: 3}, {To: "C", Forwarded: 9}}}},
		Endpoints: []api.EndpointTraffic{{Name: "x:1", Counts: api.Counts{Delivered: 5}, Dead: true}},
		Routes:    []api.RouteTraffic{{MType: 6, SubID: 5, Messages: 9}, {MType: 7, SubID: -1, Messages: 7}, {MType: 7, SubID: 2, Messages: 1}}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}
