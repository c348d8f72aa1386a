package nbi

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// maxWait is the longest that a call may wait for the apps.
const maxWait = 60 * time.Second

// waitOf returns how long a call wants to wait until all apps have what it
// changed: ?wait=applied, with &timeout=5s if not the usual time. 0: not at all.
func waitOf(r *http.Request, usual time.Duration) (time.Duration, error) {
	q := r.URL.Query()
	switch q.Get("wait") {
	case "":
		return 0, nil
	case "applied":
	default:
		return 0, refusef(http.StatusBadRequest, "wait=%s: only wait=applied is known", q.Get("wait"))
	}
	if !q.Has("timeout") {
		return usual, nil
	}
	d, err := time.ParseDuration(q.Get("timeout"))
	if err != nil || d <= 0 || d > maxWait {
		return 0, refusef(http.StatusBadRequest, "timeout=%s: a time like 5s is needed, up to %v", q.Get("timeout"), maxWait)
	}
	return d, nil
}

// applied is what a call that waited comes to.
type applied struct {
	Version uint64   `json:"version"`
	Changed *int     `json:"changed,omitempty"` // keys and MEIDs
	Applied *bool    `json:"applied,omitempty"`
	Missing []string `json:"missing,omitempty"` // apps that have not acknowledged the version
}

// done answers a call that was committed: with nothing but the status, as
// old callers know it, unless they asked to wait.
func (s *Server) done(w http.ResponseWriter, r *http.Request, status int, wait time.Duration) {
	if wait > 0 {
		s.answer(w, r, status, wait, nil)
		return
	}
	s.good.Add(1)
	setVersion(w, s.config.Group.View().TableVersion())
	w.WriteHeader(status)
}

// answer answers in words. Where apps are missing after the wait it is 202:
// the change is committed, and they get it once they can be reached.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, status int, wait time.Duration, changed *int) {
	s.good.Add(1)
	a := applied{Version: s.config.Group.View().TableVersion(), Changed: changed}
	if wait > 0 {
		a.Missing = s.wait(r.Context(), a.Version, wait)
		all := len(a.Missing) == 0
		a.Applied = &all
		if !all {
			status = http.StatusAccepted
		}
	}
	setVersion(w, a.Version)
	writeJSON(w, status, a)
}

// wait returns once every app has acknowledged a version, or with those that
// have not when the time is over.
func (s *Server) wait(ctx context.Context, version uint64, within time.Duration) []string {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		changed := s.config.Group.Changed()
		missing := s.behind(version)
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return missing
		case <-s.waits.Done():
			return missing
		}
	}
}

func (s *Server) behind(version uint64) []string {
	var names []string
	for _, a := range s.config.Group.View().Apps {
		if a.Acked < version {
			names = append(names, a.Name)
		}
	}
	return names
}

// setVersion names the version of the table that an answer is about.
func setVersion(w http.ResponseWriter, version uint64) {
	w.Header().Set("ETag", `"`+strconv.FormatUint(version, 10)+`"`)
}
