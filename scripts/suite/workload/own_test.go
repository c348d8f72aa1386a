package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/transport/http/api"
)

// service is a topic service of two nodes, of which the second is late by a change
// unless a read asks for an index and the service heeds that.
type service struct {
	mu     sync.Mutex
	index  uint64
	states []map[string]uint64 // by index
	heeds  bool
}

func (s *service) node(behind uint64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		name, at := r.URL.Query().Get("name"), s.index
		switch r.Method {
		case http.MethodPost:
			var ask api.NewTopic
			if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			s.index++
			s.states = append(s.states, map[string]uint64{ask.Name: s.index}) // one topic at a time is enough
			name, at = ask.Name, s.index
		case http.MethodDelete:
			s.index++
			s.states = append(s.states, map[string]uint64{})
			w.Header().Set("Floe-Index", fmt.Sprint(s.index))
			fmt.Fprint(w, `{"removed":1}`)
			return
		default:
			at -= behind
			if index, _ := strconv.ParseUint(r.Header.Get("Floe-Index"), 10, 64); s.heeds {
				at = max(at, index)
			}
		}
		w.Header().Set("Floe-Index", fmt.Sprint(at))
		id := s.states[at][name]
		if id == 0 {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"error":{"kind":"no_such_topic"}}`)
			return
		}
		fmt.Fprintf(w, `{"name":%q,"id":%d}`, name, id)
	})
}

// The workload finds a service that gives less than it was asked for, and none that
// does as it should.
func TestOwnWriter(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		s := &service{states: []map[string]uint64{{}}, heeds: heeds}
		w := OwnWriter{Seed: 3}
		for behind := range uint64(2) {
			server := httptest.NewServer(s.node(behind))
			defer server.Close()
			w.Nodes = append(w.Nodes, Node{Name: fmt.Sprintf("n%d", behind+1), HTTP: strings.TrimPrefix(server.URL, "http://")})
		}
		path := filepath.Join(t.TempDir(), "h")
		log, err := history.Create(path, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		w.Log = log
		c := &ownClient{log: log, nodes: w.Nodes, node: w.Nodes[0], process: "own-n1", random: stream(3, 1), http: &http.Client{Transport: &http.Transport{}}}
		for range 20 {
			c.step()
		}
		c.http.CloseIdleConnections()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		w.Run(ended) // does nothing more
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		events, err := history.Lines[history.Event](path)
		if err != nil {
			t.Fatal(err)
		}
		v := check.OwnWrites(history.Pair(events))
		if v.Kept != heeds || strings.HasPrefix(v.Checked, "0 ") || strings.Contains(v.Checked, " 0 at others") {
			t.Errorf("heeds the index %v: %s", heeds, v)
		}
	}
}
