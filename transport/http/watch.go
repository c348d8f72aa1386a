package http

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"floe/fsm"
	"floe/transport/http/api"
)

// watch answers with every change after an index, in order, as server-sent
// events: change, progress in quiet times, gap where changes are forgotten.
// Each has the index as its id, so that Last-Event-ID goes on at any node.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience(r))
	from, err := s.watchFrom(ctx, r)
	cancel()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := &eventWriter{lineWriter: lineWriter{control: http.NewResponseController(w)}, to: w}
	ctx, cancel = context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.streams, func() {
		out.hurry()
		cancel()
	})()
	s.follow(ctx, out, from)
}

// watchFrom returns the index after which changes are wanted, that of now
// unless one is named. One that is to come is refused: it is of another
// cluster.
func (s *Server) watchFrom(ctx context.Context, r *http.Request) (uint64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("from")
	}
	v := s.config.Group.View()
	if err := hasHistory(v); err != nil {
		return 0, err
	}
	if text == "" {
		v, err := s.view(ctx, r)
		if err != nil {
			return 0, err
		}
		return v.Index, nil
	}
	from, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, refuse(api.BadRequest, fmt.Sprintf("changes are asked for from %q, which is no index", text))
	}
	if from == 0 {
		return v.History.Floor(), nil // all that is remembered
	}
	if from > v.Index && !stale(r) {
		if v, err = s.config.Group.Read(ctx); err != nil {
			return 0, err
		}
	}
	if from > v.Index {
		return 0, refuse(api.BadRequest, fmt.Sprintf("changes are asked for from index %d, and this is index %d of cluster %s", from, v.Index, v.ClusterID))
	}
	return from, nil
}

// follow sends what comes after an index until the client, the cluster or the
// server ends.
func (s *Server) follow(ctx context.Context, out *eventWriter, at uint64) {
	clusterID := s.config.Group.View().ClusterID
	if out.progress(s.config.Nodes.ID(), at) != nil {
		return
	}
	quiet := time.NewTimer(heartbeat)
	defer quiet.Stop()
	for {
		changed := s.config.Group.Changed()
		v := s.config.Group.View()
		if v.ClusterID != clusterID {
			_ = out.event("error", at, refuse(api.NotReady, "this node went to another cluster")) // the last event
			return
		}
		next, err := out.changes(v, at)
		if err != nil {
			return
		}
		if next != at {
			quiet.Reset(heartbeat)
		}
		at = next
		select {
		case <-changed:
		case <-ctx.Done():
			return
		case <-quiet.C: // what is in v was sent, and what came since waits
			at = max(at, v.Index)
			if out.progress(s.config.Nodes.ID(), at) != nil {
				return
			}
			quiet.Reset(heartbeat)
		}
	}
}

// eventWriter writes server-sent events.
type eventWriter struct {
	lineWriter
	to io.Writer
}

// changes sends those of a view after an index, and returns the index up to
// which everything is sent.
func (w *eventWriter) changes(v *fsm.View, at uint64) (uint64, error) {
	if v.Index <= at {
		return at, nil
	}
	changes, whole := v.History.After(at)
	if !whole {
		gap := api.Gap{From: at, Floor: v.History.Floor(), Index: v.Index,
			Message: fmt.Sprintf("changes after index %d are forgotten, up to %d: read graph and routes anew, as of index %d or later", at, v.History.Floor(), v.Index)}
		return v.Index, w.event("gap", v.Index, gap)
	}
	for _, c := range changes {
		if err := w.event("change", c.Index, record(v, c)); err != nil {
			return at, err
		}
		at = c.Index
	}
	return at, nil
}

func (w *eventWriter) progress(node string, at uint64) error {
	return w.event("progress", at, api.Progress{Index: at, Node: node})
}

// event sends one event at once; a client that takes nothing for bodyTimeout
// loses its connection.
func (w *eventWriter) event(name string, id uint64, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	w.setDeadline()
	if _, err := fmt.Fprintf(w.to, "event: %s\nid: %d\ndata: %s\n\n", name, id, b); err != nil {
		return err
	}
	return w.control.Flush()
}
