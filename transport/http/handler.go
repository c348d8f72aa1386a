package http

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"floe/fsm"
	"floe/transport/http/api"
	"floe/transport/http/web"
)

const (
	// defaultTimeout bounds a call that names no timeout of its own,
	// longestTimeout one that does.
	defaultTimeout = 5 * time.Second
	longestTimeout = 10 * time.Minute
	// margin is how much earlier than its caller the server gives up.
	margin = 100 * time.Millisecond

	// bodyLimit, bulkLimit and routesLimit bound a request's body, in bytes.
	bodyLimit   = 1 << 20
	bulkLimit   = 32 << 20
	routesLimit = 128 << 20
)

// call answers one request with a value to be sent as JSON.
type call func(ctx context.Context, r *http.Request) (any, error)

// Handler returns the whole API as one handler.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.routes(mux)
	guard := http.NewCrossOriginProtection() // a web page elsewhere must not operate this node
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, refuse(api.Forbidden, "refused: the request comes from a web page of another origin"))
	}))
	calls := guard.Handler(s.guarded(mux))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		good(r)
		calls.ServeHTTP(w, r)
	})
}

// routes is the list of all calls.
func (s *Server) routes(mux *http.ServeMux) {
	for pattern, c := range map[string]call{
		"GET /v1/topics":         s.listTopics,
		"POST /v1/topics":        s.createTopic,
		"DELETE /v1/topics":      s.destroyTopic,
		"GET /v1/links":          s.listLinks,
		"POST /v1/links":         s.link,
		"DELETE /v1/links":       s.unlink,
		"GET /v1/subscribers":    s.listSubscribers,
		"DELETE /v1/subscribers": s.unsubscribe,
		"GET /v1/graph":          s.graph,
		"POST /v1/apply":         s.apply,
		"GET /v1/clusters":       s.listClusters,
		"POST /v1/clusters":      s.addCluster,
		"DELETE /v1/clusters":    s.removeCluster,
		"GET /v1/members":        s.members,
		"GET /v1/status":         s.status,
		"POST /v1/join":          s.join,
		"POST /v1/leave":         s.leave,
		"POST /v1/remove":        s.remove,
		"POST /v1/transfer":      s.transfer,
		"POST /v1/drain":         s.drain,
		"POST /v1/events":        s.publish,
		"GET /v1/settings":       s.listSettings,
		"POST /v1/settings":      s.changeSetting,
		"GET /v1/routes":         s.showRoutes,
		"POST /v1/routes":        s.loadRoutes,
		"POST /v1/routes/check":  s.checkRoutes,
		"POST /v1/routes/diff":   s.diffRoutes,
		"GET /v1/routes/lookup":  s.lookupRoute,
		"GET /v1/routes/relay":   s.showRelay,
		"POST /v1/routes/relay":  s.setRelay,
		"GET /v1/apps":           s.listApps,
		"GET /v1/traffic":        s.traffic,
		"GET /v1/top":            s.top,
		"GET /v1/history":        s.history,
		"POST /v1/revert":        s.revert,
		"GET /v1/trace/topic":    s.traceTopic,
		"GET /v1/trace/message":  s.traceMessage,
		"GET /v1/meids":          s.listMEIDs,
		"POST /v1/meids":         s.setMEIDs,
		"DELETE /v1/meids":       s.deleteMEIDs,
		"GET /v1/keys":           s.listKeys,
		"POST /v1/keys":          s.changeKeys,
		"GET /v1/tokens":         s.listTokens,
		"POST /v1/tokens":        s.addToken,
		"DELETE /v1/tokens":      s.removeToken,

		"POST /v1/import/icestorm": s.importIceStorm,
		"POST /v1/import/rtmgr":    s.importRouteManager,
	} {
		mux.Handle(pattern, s.answer(c))
		_, path, _ := strings.Cut(pattern, " ")
		s.paths[path] = true
	}
	mux.Handle("POST /v1/restore", large(s.answer(s.restore)))
	mux.HandleFunc("GET /v1/backup", s.backup)
	s.paths["/v1/restore"], s.paths["/v1/backup"] = true, true
	mux.HandleFunc("GET /v1/events", s.subscribe)
	mux.HandleFunc("GET /v1/watch", s.watch)
	s.paths["/v1/watch"] = true
	mux.HandleFunc("GET /openapi.json", s.describe)
	s.paths["/openapi.json"] = true
	s.health(mux)
	web.Handle(mux.Handle)
	mux.HandleFunc("/", s.nowhere)
}

// health is the list of what monitors ask.
func (s *Server) health(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", s.metrics)
}

// answer makes a call an HTTP handler.
func (s *Server) answer(c call) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience(r))
		defer cancel()
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience(r) + bodyTimeout)) // httptest's recorder has none
		ctx, err := s.withCopy(ctx, w, r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		v, err := c(ctx, r)
		if err != nil {
			s.fail(w, r, s.hinted(err))
			return
		}
		if r.Method != http.MethodGet { // what it changed is in the copy
			w.Header().Set(indexHeader, strconv.FormatUint(s.config.Group.View().Index, 10))
		}
		if t, ok := v.(text); ok {
			t.send(w)
			return
		}
		send(w, http.StatusOK, v)
	})
}

// patience is how long the server works on a request.
func patience(r *http.Request) time.Duration {
	ms, err := strconv.ParseInt(r.Header.Get("Floe-Timeout"), 10, 32)
	if err != nil || ms <= 0 {
		return defaultTimeout
	}
	d := min(time.Duration(ms)*time.Millisecond, longestTimeout)
	return max(d-margin, d/2)
}

func stale(r *http.Request) bool {
	yes, err := strconv.ParseBool(cmp.Or(r.URL.Query().Get("stale"), "0"))
	return err == nil && yes
}

// copyKey is where a stale read's context holds the View that its headers
// describe, so that the answer is the state at exactly that index.
type copyKey struct{}

// indexHeader says in answers how far a copy is, and in stale reads how far it has
// to be: who passes what a change was answered with sees that change.
const indexHeader = "Floe-Index"

// withCopy has a stale read answered from this node's own copy, once that is as far
// as the caller asks.
func (s *Server) withCopy(ctx context.Context, w http.ResponseWriter, r *http.Request) (context.Context, error) {
	if !stale(r) {
		return ctx, nil
	}
	index, err := strconv.ParseUint(cmp.Or(r.Header.Get(indexHeader), "0"), 10, 64)
	if err != nil {
		return nil, refuse(api.BadRequest, fmt.Sprintf("%s is %q, not an index", indexHeader, r.Header.Get(indexHeader)))
	}
	for {
		changed := s.config.Group.Changed()
		v := s.config.Group.View()
		if v.Index >= index {
			s.describeCopy(w, v)
			return context.WithValue(ctx, copyKey{}, v), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, refuse(api.Timeout, fmt.Sprintf("the copy of node %s is at index %d, asked for was %d", s.config.Nodes.ID(), v.Index, index))
		}
	}
}

// describeCopy says in headers how good this node's own copy is.
func (s *Server) describeCopy(w http.ResponseWriter, v *fsm.View) {
	w.Header().Set("Floe-Node", s.config.Nodes.ID())
	w.Header().Set(indexHeader, strconv.FormatUint(v.Index, 10))
	age := -1.0
	if a := s.config.Nodes.ContactAge(); a >= 0 {
		age = a.Seconds()
	}
	w.Header().Set("Floe-Age", strconv.FormatFloat(age, 'f', 3, 64))
}

// view returns the state a read shows.
func (s *Server) view(ctx context.Context, r *http.Request) (*fsm.View, error) {
	if v, ok := ctx.Value(copyKey{}).(*fsm.View); ok {
		return v, nil
	}
	return s.config.Group.Read(ctx)
}

// propose makes one change.
func (s *Server) propose(ctx context.Context, r *http.Request, op fsm.Op) (fsm.Result, error) {
	return s.config.Group.Propose(ctx, op, source(r))
}

// decode reads a request's body, which is one JSON value with known fields.
// The needed ones have to be there: an empty name is a name as well.
func decode(r *http.Request, limit int64, into any, needed ...string) error {
	body, err := readBody(r, limit)
	var refused *api.Error
	if errors.As(err, &refused) {
		return err
	}
	if err == nil && !utf8.Valid(body) { // the decoder would put something else in its place
		err = errors.New("it is not UTF-8")
	}
	if err == nil && halfCharacter(body) {
		err = errors.New(`a \u escape is half a character`)
	}
	if err == nil {
		err = decodeOne(body, into)
	}
	if err == nil {
		err = requireFields(body, needed)
	}
	if err != nil {
		return refuse(api.BadRequest, "the request's body is not the JSON this call takes: "+err.Error())
	}
	return nil
}

func readBody(r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, refuse(api.TooLarge, fmt.Sprintf("the request's body is over the limit of %d bytes", limit))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, refuse(api.Timeout, "the request's body did not come in time")
	}
	return body, err
}

func decodeOne(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("in %q stands a %s where %s is due", wrong.Field, wrong.Value, wrong.Type)
	}
	if wrong != nil {
		return fmt.Errorf("it is %s and should be an object", wrong.Value)
	}
	if err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// param returns a query parameter that has to be there, though it may be empty.
func param(r *http.Request, name string) (string, error) {
	q := r.URL.Query()
	if !q.Has(name) {
		return "", refuse(api.BadRequest, fmt.Sprintf("the parameter %q is missing", name))
	}
	return q.Get(name), nil
}

// flag returns a query parameter that is true or false, false where it is missing.
func flag(r *http.Request, name string) (bool, error) {
	q := r.URL.Query()
	if !q.Has(name) {
		return false, nil
	}
	yes, err := strconv.ParseBool(q.Get(name))
	if err != nil {
		return false, refuse(api.BadRequest, fmt.Sprintf("the parameter %q is true or false, not %q", name, q.Get(name)))
	}
	return yes, nil
}

func send(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":{"kind":"internal","message":"the answer can't be encoded"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client is gone if this fails
}

// fail answers a call with an error, and counts it.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := wireError(err)
	s.failures.note(s.log, r, e)
	send(w, e.Kind.Status(), api.ErrorBody{Error: e})
}

// nowhere answers for paths and methods that are none of the API.
func (s *Server) nowhere(w http.ResponseWriter, r *http.Request) {
	kind := api.NotFound
	if s.paths[r.URL.Path] {
		kind = api.MethodUnknown
	}
	s.fail(w, r, refuse(kind, fmt.Sprintf("no call %s %s", r.Method, r.URL.Path)))
}
