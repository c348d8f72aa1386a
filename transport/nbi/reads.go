package nbi

import (
	"net/http"
	"strings"
	"time"

	"floe/fsm"
)

// health tells in its body whether the node follows a leader.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	answer := map[string]string{"status": "healthy"}
	if err := s.config.Ready(); err != nil {
		answer = map[string]string{"status": "unhealthy", "reason": err.Error()}
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

func (s *Server) alive(w http.ResponseWriter, _ *http.Request) error {
	w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) error {
	if err := s.config.Ready(); err != nil {
		return refusef(http.StatusServiceUnavailable, "%v", err)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// unchanged answers 304 to who has this version already.
func unchanged(w http.ResponseWriter, r *http.Request, v *fsm.View) bool {
	setVersion(w, v.TableVersion())
	for tag := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == w.Header().Get("ETag") {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// shownRoute is one entry of the table.
type shownRoute struct {
	MType   int32      `json:"mtype"`
	SubID   int32      `json:"subid"`
	Senders []string   `json:"senders,omitempty"`
	Groups  [][]string `json:"groups,omitempty"`
	ByMEID  bool       `json:"by_meid,omitempty"`
	Hidden  bool       `json:"hidden,omitempty"` // these senders have no route here
}

func (s *Server) routes(w http.ResponseWriter, r *http.Request) error {
	v := s.config.Group.View()
	if unchanged(w, r, v) {
		return nil
	}
	state := v.Routes.State()
	answer := struct {
		Version uint64       `json:"version"`
		Routes  []shownRoute `json:"routes"`
		MEIDs   int          `json:"meids"`
		Omitted []string     `json:"omitted,omitempty"` // records left out, and why
	}{Version: v.TableVersion(), Routes: make([]shownRoute, 0, state.Table.Len()), MEIDs: state.MEIDs.Len(), Omitted: v.Routes.Facts.Omitted()}
	for e := range state.Table.All() {
		answer.Routes = append(answer.Routes, shownRoute{e.Key.MType, e.Key.SubID, e.Senders, e.Groups, e.ByMEID, e.Hidden})
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

func (s *Server) meid(w http.ResponseWriter, r *http.Request) error {
	v := s.config.Group.View()
	meid := r.PathValue("meid")
	owner, ok := v.Routes.State().MEIDs.Owner(meid)
	if !ok {
		return refusef(http.StatusNotFound, "MEID %q has no owner", meid)
	}
	if !unchanged(w, r, v) {
		writeJSON(w, http.StatusOK, map[string]string{"meid": meid, "owner": owner})
	}
	return nil
}

// client is a program that asked for a table.
type client struct {
	Name    string     `json:"name"`
	Control []string   `json:"control"`
	Node    string     `json:"node"`
	Version uint64     `json:"version_acked"` // 0: none so far
	Current bool       `json:"current"`       // it has acknowledged the newest
	Asked   *time.Time `json:"asked,omitempty"`
}

// clients has no version of its own: acknowledgements come without a change
// of the table, so it is never "not modified".
func (s *Server) clients(w http.ResponseWriter, _ *http.Request) error {
	v := s.config.Group.View()
	list := make([]client, len(v.Apps))
	for i, a := range v.Apps {
		list[i] = client{Name: a.Name, Control: a.Control, Node: a.Node, Version: a.Acked, Current: a.Acked >= v.TableVersion()}
		if a.Asked != 0 {
			at := time.Unix(0, a.Asked).UTC()
			list[i].Asked = &at
		}
	}
	setVersion(w, v.TableVersion())
	writeJSON(w, http.StatusOK, list)
	return nil
}
