package nbi

import (
	"net/http"
	"strings"
)

// base is the path of all calls.
const base = "/ric/v1"

// call answers a request, or returns what goes wrong with it.
type call func(w http.ResponseWriter, r *http.Request) error

// Handler returns the whole face as one handler.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	reads := map[string]call{
		"/health":       s.health,
		"/health/alive": s.alive,
		"/health/ready": s.ready,
		"/getdebuginfo": s.debugInfo,
		"/routes":       s.routes,
		"/meids/{meid}": s.meid,
		"/clients":      s.clients,
	}
	for path, c := range reads {
		mux.Handle("GET "+base+path, s.serve(c))
	}
	writes := map[string]call{
		"POST /handles/xapp-handle":                               s.xappHandle,
		"POST /handles/xapp-subscription-handle":                  s.subscribe,
		"DELETE /handles/xapp-subscription-handle":                s.unsubscribe,
		"PUT /handles/xapp-subscription-handle/{subscription_id}": s.setSubscription,
		"POST /handles/e2t":                                       s.putE2T,
		"DELETE /handles/e2t":                                     s.dropE2T,
		"POST /handles/associate-ran-to-e2t":                      s.associate,
		"POST /handles/dissociate-ran":                            s.dissociate,
		"POST /handles/addrmrroute":                               s.addRoutes,
		"DELETE /handles/delrmrroute":                             s.deleteRoutes,
	}
	for pattern, c := range writes {
		verb, path, _ := strings.Cut(pattern, " ")
		mux.Handle(verb+" "+base+path, s.serve(c))
	}
	return good(withoutSlash(named(mux)))
}

// withoutSlash serves a path with a slash at its end as the one without:
// appmgr is told the address of its web hook with one.
func withoutSlash(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := strings.TrimSuffix(r.URL.Path, "/"); p != "" && p != r.URL.Path {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = p, strings.TrimSuffix(r.URL.RawPath, "/")
		}
		next.ServeHTTP(w, r)
	})
}

// named answers what no call matches as all errors are answered.
func named(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		var e plainError
		mux.ServeHTTP(&e, r)
		if allow := e.Header().Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
			writeError(w, refusef(http.StatusMethodNotAllowed, "%s is not possible here, only %s", r.Method, allow))
			return
		}
		writeError(w, refusef(http.StatusNotFound, "no such call: %s", r.URL.Path))
	})
}

// plainError takes what the standard library says in place of a call.
type plainError struct{ header http.Header }

func (e *plainError) Header() http.Header {
	if e.header == nil {
		e.header = http.Header{}
	}
	return e.header
}
func (e *plainError) Write(b []byte) (int, error) { return len(b), nil }
func (e *plainError) WriteHeader(int)             {}

func (s *Server) serve(c call) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := c(w, r)
		if err == nil {
			return
		}
		wire := wireError(err)
		if wire.status < http.StatusInternalServerError {
			s.bad.Add(1)
			if wire.status == http.StatusRequestEntityTooLarge {
				s.complain("call refused, it is over a limit", "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr, "reason", wire.text)
			}
			s.log.Debug("call refused", "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr, "status", wire.status, "reason", wire.text)
		} else if s.failed.Add(1); wire.status != http.StatusServiceUnavailable || r.Method != http.MethodGet {
			s.log.Warn("call failed", "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr, "reason", wire.text)
		}
		writeError(w, wire)
	})
}
