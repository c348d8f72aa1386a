package nbi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"floe/routing/derive"
)

// gone are the events after which an xApp is not there any more.
var gone = map[string]bool{"undeployed": true, "deleted": true}

// xappHandle is appmgr's web hook. It announces the xApps that changed, not
// all there are, so its list is asked for where it can be; if that fails,
// what it announces is taken as it stands.
func (s *Server) xappHandle(w http.ResponseWriter, r *http.Request) error {
	var b callback
	if err := s.body(w, r, &b); err != nil {
		return err
	}
	list, err := announced(b.XApps)
	if err != nil {
		return refusef(http.StatusBadRequest, "xApps: %v", err)
	}
	wait, err := waitOf(r, s.config.AppliedWithin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.CommitWithin)
	defer cancel()
	if !s.pulled(ctx) {
		kind := derive.PutXApps
		if gone[b.Event] || gone[b.EventType] {
			kind = derive.DropXApps
		}
		if _, err := s.commit(r.WithContext(ctx), derive.Change{Kind: kind, XApps: list}); err != nil {
			return err
		}
	}
	s.done(w, r, http.StatusOK, wait)
	return nil
}

// pulled says whether the manager's own list was committed. It leaves half
// of the time for what was announced.
func (s *Server) pulled(ctx context.Context) bool {
	if s.config.XApps == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.CommitWithin/2)
	defer cancel()
	err := s.config.XApps.PullXApps(ctx)
	if err != nil && !errors.Is(err, errNotAsked) {
		s.log.Warn("xApps were announced, but their list can't be had; what was announced is taken", "reason", err)
	}
	return err == nil
}

// announced reads the xApps of a callback: a text that holds JSON, or the
// JSON itself.
func announced(raw json.RawMessage) ([]derive.XApp, error) {
	if len(raw) == 0 {
		return nil, errors.New("there are none")
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		raw = json.RawMessage(text)
	}
	return xappList(raw)
}

// xappList reads an array of xApps.
func xappList(text []byte) ([]derive.XApp, error) {
	var list []derive.XApp
	if err := array(text, &list); err != nil {
		return nil, err
	}
	for i, x := range list {
		if x.Name == "" {
			return nil, fmt.Errorf("xApp %d has no name", i+1)
		}
	}
	return list, nil
}

// array reads a JSON array. Nothing, null and all else is none.
func array(text []byte, into any) error {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '[' {
		return errors.New("it is no JSON array")
	}
	return json.Unmarshal(text, into)
}
