package http

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"floe/fsm"
	"floe/transport/certs"
	"floe/transport/http/api"
)

// caller is who makes a request, and what they may do.
type caller struct {
	// who is empty for somebody who showed nothing.
	who  string
	role fsm.Role
}

type callerKey struct{}

// source says who asked, for the log of changes: where they are, and who they
// showed to be.
func source(r *http.Request) string {
	from := "http " + r.RemoteAddr
	if c, ok := r.Context().Value(callerKey{}).(caller); ok && c.who != "" {
		from += " " + c.who
	}
	return from
}

// guarded lets requests through to the calls they have the rights for. It is
// decided here, by this node's copy, before anything is handed on.
func (s *Server) guarded(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		need := needOf(pattern)
		if need == anybody {
			mux.ServeHTTP(w, r)
			return
		}
		who, err := s.identify(r)
		if err == nil && !who.role.Includes(need) {
			err = lacks(who, need, s.config.TLS != nil)
		}
		if err != nil {
			s.refused.complain(s, r, pattern, err)
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.fail(w, r, err)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
		if !outsideTheLog[pattern] {
			mux.ServeHTTP(w, r)
			return
		}
		noted := &statusNoted{ResponseWriter: w}
		mux.ServeHTTP(noted, r)
		s.config.audit().Info("call", "from", source(r), "call", pattern, "status", noted.status)
	})
}

// identify finds out who makes a request. As long as there are no tokens that
// give rights, and no TLS, everybody who gets this far may do everything.
func (s *Server) identify(r *http.Request) (caller, error) {
	v := s.config.Group.View()
	if s.config.TLS == nil && !v.HasRights() {
		return caller{role: fsm.RoleCluster}, nil
	}
	if secret, shown := bearer(r); shown {
		t, known := v.Token(secret)
		if !known || t.Joins() {
			return caller{}, refuse(api.Unauthorized, "the token is not known here")
		}
		if t.Ended(time.Now()) {
			return caller{}, refuse(api.Unauthorized, fmt.Sprintf("the token %s ended %s", t.Name, time.Unix(0, t.Ends).UTC().Format(time.RFC3339)))
		}
		return caller{"token:" + t.Name, t.Role}, nil
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 { // verified by the handshake
		name, err := certs.NameOf(r.TLS.PeerCertificates[0])
		if err != nil {
			return caller{}, refuse(api.Unauthorized, err.Error())
		}
		return caller{"cert:" + strings.ReplaceAll(cmp.Or(name.Person, name.String()), " ", "-"), name.Rights()}, nil
	}
	return caller{}, nil
}

// bearer returns the token of a request.
func bearer(r *http.Request) (secret string, shown bool) {
	kind, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(secret), true
}

// lacks says what is missing.
func lacks(who caller, need fsm.Role, tls bool) error {
	if who.who != "" {
		return refuse(api.Forbidden, fmt.Sprintf("this needs the role %s, and %s has %s", need, who.who, who.role))
	}
	how := "show a token (--token-file, FLOE_TOKEN)"
	if tls {
		how += " or a certificate (--tls-cert, --tls-key)"
	}
	return refuse(api.Unauthorized, fmt.Sprintf("this needs the role %s: %s", need, how))
}

// refusals logs requests without rights, and no more than one in a while.
type refusals struct {
	count atomic.Uint64
	said  atomic.Int64
}

func (f *refusals) complain(s *Server, r *http.Request, call string, err error) {
	count, now, said := f.count.Add(1), time.Now().UnixNano(), f.said.Load()
	if now-said < int64(complainEvery) || !f.said.CompareAndSwap(said, now) {
		return
	}
	s.config.audit().Warn("request refused for want of rights", "peer", r.RemoteAddr, "call", call, "reason", err, "so_far", count)
}

// statusNoted notes how a call was answered.
type statusNoted struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (w *statusNoted) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController find the connection.
func (w *statusNoted) Unwrap() http.ResponseWriter { return w.ResponseWriter }
