package http

import (
	"fmt"
	"net/http"
)

// healthHandler answers what monitors ask, and nothing else.
func (s *Server) healthHandler() http.Handler {
	mux := http.NewServeMux()
	s.health(mux)
	mux.HandleFunc("/", s.nowhere)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		good(r)
		mux.ServeHTTP(w, r)
	})
}

// healthz: this process answers.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "ok")
}

// readyz: this node has caught up with a leader, or why not.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := s.config.Nodes.Ready(); err != nil {
		plain(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	plain(w, http.StatusOK, "ready")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // the client is gone if this fails
}
