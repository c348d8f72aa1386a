package http

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"floe/transport/http/api"
)

// heartbeat is how often a quiet event stream sends an empty line, so that
// both ends notice when the other is gone.
const heartbeat = 2 * time.Second

// streamGrace is how long event streams have to write what waits for them
// once the server ends.
const streamGrace = time.Second

func (s *Server) publish(ctx context.Context, r *http.Request) (any, error) {
	var ask api.Publish
	if err := decode(r, bulkLimit, &ask, "topic"); err != nil {
		return nil, err
	}
	if s.config.Events == nil {
		return nil, refuse(api.NotBuilt, "this node carries no events")
	}
	if err := s.config.Events.Publish(ctx, ask); err != nil {
		return nil, err
	}
	return api.Done{Message: "published"}, nil
}

// subscribe answers with a stream of lines, each an api.Event.
func (s *Server) subscribe(w http.ResponseWriter, r *http.Request) {
	names := r.URL.Query()["topic"]
	if len(names) == 0 {
		s.fail(w, r, refuse(api.BadRequest, `the parameter "topic" is missing`))
		return
	}
	if s.config.Events == nil {
		s.fail(w, r, refuse(api.NotBuilt, "this node carries no events"))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience(r))
	stream, err := s.config.Events.Subscribe(ctx, names)
	cancel()
	if err != nil {
		s.fail(w, r, s.hinted(err))
		return
	}
	defer stream.Close()
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := &lineWriter{enc: json.NewEncoder(w), control: http.NewResponseController(w)}
	s.copyLines(r.Context(), lines, stream)
}

// copyLines writes lines until the client, the stream or the server ends. At
// the server's end what is queued is still written, by a reader that takes it.
func (s *Server) copyLines(ctx context.Context, lines *lineWriter, stream Stream) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.streams, func() {
		lines.hurry()
		cancel()
	})()
	if lines.write(api.Event{Subscribed: true}) != nil {
		return
	}
	for {
		ev, err := nextLine(ctx, stream)
		if s.streams.Err() != nil && (err != nil || lines.late()) {
			err = refuse(api.NotReady, "this node stops")
		}
		if err != nil {
			_ = lines.write(api.Event{Error: wireError(err)}) // the last line; the client may be gone
			return
		}
		if lines.write(ev) != nil {
			return
		}
	}
}

// nextLine returns the next line of the stream, or an empty one after a
// quiet while.
func nextLine(ctx context.Context, stream Stream) (api.Event, error) {
	quiet, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	ev, err := stream.Next(quiet)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return api.Event{}, nil
	}
	return ev, err
}

type lineWriter struct {
	enc     *json.Encoder
	control *http.ResponseController

	mu  sync.Mutex
	end time.Time // of all writing, zero while the server goes on
}

// write sends one line at once; a client that takes nothing for bodyTimeout
// loses its connection.
func (l *lineWriter) write(ev api.Event) error {
	l.setDeadline()
	if err := l.enc.Encode(ev); err != nil {
		return err
	}
	return l.control.Flush()
}

func (l *lineWriter) setDeadline() {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := l.end
	if until.IsZero() {
		until = time.Now().Add(bodyTimeout)
	}
	_ = l.control.SetWriteDeadline(until) // httptest's recorder has none
}

// hurry ends all writing soon, the one under way too.
func (l *lineWriter) hurry() {
	l.mu.Lock()
	l.end = time.Now().Add(streamGrace)
	l.mu.Unlock()
	l.setDeadline()
}

// late tells whether only the last line still has time.
func (l *lineWriter) late() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.end.IsZero() && time.Until(l.end) < streamGrace/2
}
