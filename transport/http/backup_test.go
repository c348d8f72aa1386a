package http_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"floe/cluster"
	"floe/fsm"
	"floe/routing"
	"floe/topics"
	floehttp "floe/transport/http"
	"floe/transport/http/api"
	"floe/transport/http/backup"
)

func (w *world) upgrade() { w.group.must(fsm.RaiseVersion{Version: fsm.ProgramVersion}) }

// fill gives a cluster something of everything, more than one part of it.
func (w *world) fill() {
	w.group.must(fsm.CreateTopic{Name: "A"}, fsm.CreateTopic{Name: "B"}, fsm.Link{From: "A", To: "B", Cost: -3},
		fsm.Subscribe{Topic: "A", Subscription: topics.Subscription{Identity: topics.Identity{Name: "s"}, Proxy: []byte{3}}})
	for owner := range 10 {
		r := fsm.RouteRecord{Verb: routing.Assign, Owner: fmt.Sprintf("e%d:1", owner)}
		for meid := range 4000 {
			r.MEIDs = append(r.MEIDs, fmt.Sprintf("gnb_%d_%d", owner, meid))
		}
		w.group.must(fsm.ChangeRoutes{Blocks: []fsm.RouteBlock{{Kind: routing.MapUpdate, Records: []fsm.RouteRecord{r}}}})
	}
}

// backup is do for an answer that is no text.
func (w *world) backup(t *testing.T, query string) (int, string, http.Header) {
	t.Helper()
	recorder := httptest.NewRecorder()
	w.calls.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/backup"+query, nil))
	return recorder.Code, recorder.Body.String(), recorder.Header()
}

func TestBackupIsRestored(t *testing.T) {
	from, to := newWorld(t), newWorld(t)
	from.upgrade()
	to.upgrade()
	from.fill()
	code, file, _ := from.backup(t, "")
	if code != 200 || len(file) < 300<<10 {
		t.Fatalf("%d, %d bytes", code, len(file))
	}
	code, body, _ := to.do(t, "POST", "/v1/restore", file)
	var r api.Restored
	if code != 200 || json.Unmarshal([]byte(body), &r) != nil {
		t.Fatalf("%d %s", code, body)
	}
	if to.group.View().Digest() != from.group.View().Digest() || r.Digest != from.group.View().Digest().String() {
		t.Errorf("digest %v, want %v", to.group.View().Digest(), from.group.View().Digest())
	}
	if r.Topics != 2 || r.Links != 1 || r.Subscribers != 1 || r.MEIDs != 40_000 || r.FromIndex != from.group.View().Index {
		t.Errorf("%+v", r)
	}
	// What is restored is backed up alike.
	_, again, _ := to.backup(t, "?stale=1")
	h, _, err := backup.Content([]byte(again))
	if err != nil || h.Digest != r.Digest || h.Program != "" {
		t.Errorf("%+v, %v", h, err)
	}
	code, body, _ = to.do(t, "POST", "/v1/restore", file)
	if code != 409 || kind(body) != api.InUse {
		t.Errorf("restored twice: %d %s", code, body)
	}
	// The version of the routes is known by what the backup says, and grows.
	_, body, _ = to.do(t, "POST", "/v1/routes", "meid_map|start\nmme_ar|e0:1|other\nmeid_map|end|1\n")
	var l api.Loaded
	if json.Unmarshal([]byte(body), &l) != nil || !l.Changed || l.Version <= from.group.View().Index {
		t.Errorf("loaded: %s", body)
	}
}

func TestBadBackupsAreRefused(t *testing.T) {
	from := newWorld(t)
	from.upgrade()
	from.group.must(fsm.CreateTopic{Name: "A"})
	_, good, _ := from.backup(t, "")
	var wrong bytes.Buffer
	header, content, _ := backup.Content([]byte(good))
	header.Digest = strings.Repeat("0", len(header.Digest))
	_ = backup.Write(&wrong, header, func(w io.Writer) error { _, err := w.Write(content); return err })
	var empty bytes.Buffer
	_ = backup.Write(&empty, header, func(w io.Writer) error { return nil })
	for name, file := range map[string]string{
		"nothing": "", "a script": "create A\n", "torn": good[:len(good)-1], "flipped": good[:80] + "x" + good[81:],
		"another digest": wrong.String(), "without content": empty.String(),
	} {
		w := newWorld(t)
		w.upgrade()
		before := w.group.View().Index
		code, body, _ := w.do(t, "POST", "/v1/restore", file)
		if code != 400 || kind(body) != api.BadRequest || w.group.View().Index != before {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	older := &group{State: fsm.New(fsm.Config{})}
	older.must(fsm.Init{ClusterID: "11111111-0000-0000-0000-000000000002", Instance: "IceStorm", Version: 2})
	w := newWorld(t, func(c *floehttp.Config) { c.Group = older })
	code, body, _ := w.do(t, "POST", "/v1/restore", good)
	if code != 409 || kind(body) != api.Version {
		t.Errorf("into an older cluster: %d %s", code, body)
	}
}

func TestBackupNeedsALeaderOrStale(t *testing.T) {
	w := newWorld(t)
	w.upgrade()
	w.fill()
	w.group.fail = &api.Error{Kind: api.NoQuorum, Message: "no quorum: 1 of 3 voters reachable"}
	if code, body, _ := w.do(t, "GET", "/v1/backup", nil); code != 503 || kind(body) != api.NoQuorum {
		t.Errorf("%d %s", code, body)
	}
	code, file, headers := w.backup(t, "?stale=1")
	if _, _, err := backup.Content([]byte(file)); code != 200 || err != nil || headers.Get("Floe-Node") != "n1" {
		t.Errorf("%d, %v, %v", code, err, headers)
	}
}

// A part that is lost on its way restores nothing, and that is what is said.
func TestRestoreCutInTheMiddle(t *testing.T) {
	from, to := newWorld(t), newWorld(t)
	from.upgrade()
	to.upgrade()
	from.fill()
	_, file, _ := from.backup(t, "")
	to.group.before = func() {
		to.group.before = func() { to.group.fail = &cluster.Unknown{Cause: errors.New("cut off")} }
	}
	code, body, _ := to.do(t, "POST", "/v1/restore", file)
	if kind(body) != api.Timeout || !strings.Contains(body, "nothing was changed") {
		t.Errorf("%d %s", code, body)
	}
	if to.group.View().Graph.Len() != 0 {
		t.Error("half of it was restored")
	}
}
