package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"floe/fsm"
	"floe/routing"
	"floe/transport/http/api"
)

// text is an answer that is no JSON.
type text struct {
	body    []byte
	headers map[string]string
}

func (t text) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for name, value := range t.headers {
		w.Header().Set(name, value)
	}
	_, _ = w.Write(t.body) // the client is gone if this fails
}

// showRoutes answers with table and map as text that loads as it stands.
func (s *Server) showRoutes(ctx context.Context, r *http.Request) (any, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	version := strconv.FormatUint(v.Routes.Version, 10)
	return text{v.Routes.State().AppendText(nil), map[string]string{"Floe-Routes-Version": version}}, nil
}

// parse reads a request's body as a route text.
func (s *Server) parse(r *http.Request) (*routing.Parsed, error) {
	body, err := readText(r, routesLimit)
	if err != nil {
		return nil, err
	}
	v := s.config.Group.View()
	return routing.Parse(body, routing.Options{
		RefuseReserved: s.config.RefuseReserved, Program: programs(v),
		Topic: func(name string) bool { return v.Graph.Topic(name) != nil },
	}), nil
}

// bodyRoom bounds the room that is made for a body before it comes.
const bodyRoom = 32 << 20

// readText is readBody for a text that may be large: it is not copied again.
func readText(r *http.Request, limit int64) (string, error) {
	var text strings.Builder
	text.Grow(int(min(max(r.ContentLength, 0), limit, bodyRoom)))
	_, err := io.Copy(&text, http.MaxBytesReader(nil, r.Body, limit))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return "", refuse(api.TooLarge, fmt.Sprintf("the request's body is over the limit of %d bytes", limit))
	}
	return text.String(), err
}

// programs tells which app is reached at an endpoint: by its own name, or by
// the port of that at one of the hosts that it takes tables at.
func programs(v *fsm.View) func(endpoint string) string {
	if len(v.Apps) == 0 {
		return nil
	}
	at := map[string]string{}
	for _, a := range v.Apps {
		at[a.Name] = a.Name
		_, port, err := net.SplitHostPort(a.Name)
		for _, c := range a.Control {
			if host, _, bad := net.SplitHostPort(c); err == nil && bad == nil {
				at[net.JoinHostPort(host, port)] = a.Name
			}
		}
	}
	return func(endpoint string) string { return at[endpoint] }
}

// parseGood is parse where a text with errors is refused.
func (s *Server) parseGood(r *http.Request) (*routing.Parsed, error) {
	p, err := s.parse(r)
	if err != nil {
		return nil, err
	}
	return p, p.Err()
}

func (s *Server) loadRoutes(ctx context.Context, r *http.Request) (any, error) {
	c, err := condition(r)
	if err != nil {
		return nil, err
	}
	p, err := s.parseGood(r)
	if err != nil {
		return nil, err
	}
	result, err := s.loader.Load(ctx, p.Update, c, source(r))
	if err != nil {
		return nil, err
	}
	return api.Loaded{
		Version: result.Version, Routes: result.Routes, MEIDs: result.MEIDs,
		Changed: result.Version == result.Index+s.config.Group.View().Shift, Findings: listed(p.Findings),
	}, nil
}

// condition reads the version that a change is limited to.
func condition(r *http.Request) (fsm.Condition, error) {
	q := r.URL.Query()
	if !q.Has("if_version") {
		return fsm.Condition{}, nil
	}
	version, err := strconv.ParseUint(q.Get("if_version"), 10, 64)
	if err != nil {
		return fsm.Condition{}, refuse(api.BadRequest, fmt.Sprintf("if_version is %q, not a version", q.Get("if_version")))
	}
	return fsm.AtVersion(version), nil
}

// listed is never null in JSON.
func listed[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// checkRoutes says what there is to say about a text, and changes nothing.
func (s *Server) checkRoutes(_ context.Context, r *http.Request) (any, error) {
	p, err := s.parse(r)
	if err != nil {
		return nil, err
	}
	checked := api.Checked{Findings: listed(p.Findings)}
	if p.Err() != nil {
		return checked, nil
	}
	made, _, err := routing.State{}.Apply(p.Update)
	if err != nil {
		return nil, &fsm.Refusal{Kind: fsm.ErrRoutes, Detail: err.Error()}
	}
	checked.OK, checked.Routes, checked.MEIDs = true, made.Table.Len(), made.MEIDs.Len()
	return checked, nil
}

// diffRoutes says what a text would change.
func (s *Server) diffRoutes(ctx context.Context, r *http.Request) (any, error) {
	p, err := s.parseGood(r)
	if err != nil {
		return nil, err
	}
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	was := v.Routes.Loaded
	next, changes, err := was.Apply(p.Update)
	if err != nil {
		return nil, &fsm.Refusal{Kind: fsm.ErrRoutes, Detail: err.Error()}
	}
	return api.RoutesDiff{
		Version: v.Routes.Version,
		Removed: records(was, next, changes),
		Added:   records(next, was, changes),
	}, nil
}

// records returns what a state says of what differs in another: all entries
// of each key, as their order counts, and each MEID.
func records(s, other routing.State, c routing.Changes) []string {
	out := []string{}
	for _, key := range c.Routes {
		for _, e := range s.Table.Entries(key) {
			out = append(out, e.String())
		}
	}
	for _, meid := range sorted(c.MEIDs) {
		owner, known := s.MEIDs.Owner(meid)
		if was, _ := other.MEIDs.Owner(meid); known && was != owner {
			out = append(out, "mme_ar|"+owner+"|"+meid)
		}
	}
	return out
}

func (s *Server) lookupRoute(ctx context.Context, r *http.Request) (any, error) {
	ask, err := routeQuery(r)
	if err != nil {
		return nil, err
	}
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	return find(v, ask), nil
}

func routeQuery(r *http.Request) (routing.Query, error) {
	mtype, err := param(r, "mtype")
	if err != nil {
		return routing.Query{}, err
	}
	q := r.URL.Query()
	ask := routing.Query{SubID: routing.AnySubID, MEID: q.Get("meid")}
	if ask.MType, err = number("mtype", mtype); err != nil {
		return ask, err
	}
	if q.Has("subid") {
		if ask.SubID, err = number("subid", q.Get("subid")); err != nil {
			return ask, err
		}
	}
	sender := q.Get("sender")
	ask.Sender = routing.Sender{Source: sender, Address: sender, Name: sender}
	return ask, nil
}

func number(name, text string) (int32, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return 0, refuse(api.BadRequest, fmt.Sprintf("%s is %q, not a whole 32-bit number", name, text))
	}
	return int32(n), nil
}
