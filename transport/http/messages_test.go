package http_test

import (
	"strings"
	"testing"

	"floe/fsm"
	"floe/routing"
	"floe/transport/http/api"
)

// A topic that a route leads to is destroyed by force alone, whoever asks.
func TestTopicsOfRoutes(t *testing.T) {
	w := newWorld(t)
	w.group.must(fsm.CreateTopic{Name: "A"}, fsm.CreateTopic{Name: "B"}, fsm.ChangeRoutes{Blocks: []fsm.RouteBlock{{Kind: routing.FullTable,
		Records: []fsm.RouteRecord{{Verb: routing.Route, MType: 20, SubID: -1, Groups: [][]string{{"topic:A"}}}}}}})
	refused := func(what, body string) {
		t.Helper()
		if kind(body) != api.InUse || !strings.Contains(body, "leads to it; change the route first, or force it") || w.group.View().Graph.Len() != 2 {
			t.Errorf("%s: got %s", what, body)
		}
	}
	_, body, _ := w.do(t, "DELETE", "/v1/topics?name=A", nil)
	refused("destroy", body)
	_, _, body = w.apply(t, api.Apply{Prune: true})
	refused("apply", body)
	if status, body, _ := w.do(t, "DELETE", "/v1/topics?name=A&force=x", nil); status != 400 {
		t.Errorf("force=x: got %d %s", status, body)
	}
	if status, body, _ := w.do(t, "DELETE", "/v1/topics?name=A&force=true", nil); status != 200 || w.group.View().Graph.Len() != 1 {
		t.Errorf("by force: got %d %s", status, body)
	}
}

// A topic may be called like messages are shown: both can be named.
func TestTopicCalledLikeMessages(t *testing.T) {
	w := newWorld(t)
	w.group.must(fsm.CreateTopic{Name: "A"}, fsm.CreateTopic{Name: "rmr:7"})
	links := func(want string) {
		t.Helper()
		if _, body, _ := w.do(t, "GET", "/v1/links", nil); body != want {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	for _, ask := range []api.NewLink{{From: "A", To: "7", Messages: true}, {From: "A", To: "rmr:7"}} {
		if status, body, _ := w.do(t, "POST", "/v1/links", ask); status != 200 {
			t.Fatalf("%+v: %d %s", ask, status, body)
		}
	}
	links(`[{"from":"A","to":"rmr:7","cost":0,"remote":"rmr"},{"from":"A","to":"rmr:7","cost":0}]`)
	if status, body, _ := w.do(t, "DELETE", "/v1/links?from=A&to=rmr:7", nil); status != 200 {
		t.Errorf("unlink: %d %s", status, body)
	}
	links(`[{"from":"A","to":"rmr:7","cost":0,"remote":"rmr"}]`)
}
