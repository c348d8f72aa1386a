package http_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"floe/fsm"
	floehttp "floe/transport/http"
)

// restless is a group in which a topic is created after each look.
type restless struct {
	*group
	looks int
}

func (g *restless) View() *fsm.View {
	v := g.group.View()
	g.looks++
	g.must(fsm.CreateTopic{Name: fmt.Sprintf("t%d", g.looks)})
	return v
}

// A stale answer is the state at exactly the index that its headers name.
func TestStaleAnswerIsOfItsIndex(t *testing.T) {
	var g *restless
	w := newWorld(t, func(c *floehttp.Config) {
		g = &restless{group: c.Group.(*group)}
		c.Group = g
	})
	for range 5 {
		_, body, header := w.do(t, "GET", "/v1/topics?stale=1", nil)
		want := fmt.Sprint(1 + strings.Count(body, `"name"`)) // the first entry names the cluster
		if header.Get("Floe-Index") != want {
			t.Errorf("%s at index %s, want index %s", body, header.Get("Floe-Index"), want)
		}
	}
}

// The answer to a change names an index; a stale read that passes it shows the
// change or fails, and never shows less.
func TestStaleReadThatWaitsForAnIndex(t *testing.T) {
	w := newWorld(t)
	_, _, header := w.do(t, "POST", "/v1/topics", map[string]any{"name": "a"})
	index, err := strconv.ParseUint(header.Get("Floe-Index"), 10, 64)
	if err != nil || index != w.group.View().Index {
		t.Fatalf("a change was answered at index %q, and the copy is at %d", header.Get("Floe-Index"), w.group.View().Index)
	}
	read := func(at string) (int, string, http.Header) {
		request := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/topics?stale=1", nil)
		request.Header.Set("Floe-Index", at)
		request.Header.Set("Floe-Timeout", "300")
		recorder := httptest.NewRecorder()
		w.calls.ServeHTTP(recorder, request)
		return recorder.Code, recorder.Body.String(), recorder.Header()
	}
	for _, at := range []uint64{0, index} {
		if status, body, _ := read(fmt.Sprint(at)); status != 200 || !strings.Contains(body, `"a"`) {
			t.Errorf("at index %d: %d %s", at, status, body)
		}
	}
	if status, body, _ := read(fmt.Sprint(index + 1)); status != 503 || !strings.Contains(body, `"timeout"`) || !strings.Contains(body, fmt.Sprintf("at index %d, asked for was %d", index, index+1)) {
		t.Errorf("at an index to come: %d %s", status, body)
	}
	if status, body, _ := read("soon"); status != 400 || !strings.Contains(body, `"bad_request"`) {
		t.Errorf("at no index: %d %s", status, body)
	}
	done := make(chan string, 1)
	go func() {
		_, body, header := read(fmt.Sprint(index + 1))
		done <- header.Get("Floe-Index") + " " + body
	}()
	w.group.must(fsm.CreateTopic{Name: "b"})
	if got := <-done; !strings.HasPrefix(got, fmt.Sprint(index+1)+" ") || !strings.Contains(got, `"b"`) {
		t.Errorf("an index that came while it was waited for: %s", got)
	}
}
