package nbi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"floe/routing/derive"
)

// get returns the body of a 200 answer.
func (s *Sources) get(ctx context.Context, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	answer, err := s.config.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: the answer breaks off: %w", url, err)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answers %s", url, answer.Status)
	case len(text) > maxBody:
		return nil, fmt.Errorf("%s answers with more than %d bytes", url, maxBody)
	}
	return text, nil
}

// PullXApps makes appmgr's list the xApps that are known. Its list is the
// only source for them, so it counts at once; only that there are none at
// all, where there were some, it must say twice in a row.
func (s *Sources) PullXApps(ctx context.Context) error {
	again, err := s.askXApps(ctx, s.propose)
	if err == nil && again {
		return fmt.Errorf("%s has no xApps all of a sudden", s.config.URLs.XApps)
	}
	return err
}

func (s *Sources) askXApps(ctx context.Context, put func(context.Context, string, derive.Change) error) (again bool, err error) {
	url := s.config.URLs.XApps
	if url == "" {
		return false, errNotAsked
	}
	s.xapps.Lock()
	defer s.xapps.Unlock()
	text, err := s.get(ctx, url)
	if err != nil {
		return false, err
	}
	list, err := xappList(text)
	if err != nil {
		return false, fmt.Errorf("%s: %w", url, err)
	}
	if len(list) > 0 {
		s.empty = false
	} else if len(s.config.Group.View().Routes.Facts.XApps()) > 0 && !s.empty {
		s.empty = true
		return true, nil
	}
	return false, put(ctx, "appmgr", derive.Change{Kind: derive.SetXApps, XApps: list})
}

// hook is how a web hook is registered with appmgr. One with the same target
// and events is recognised, so that it may be registered again and again;
// it has to be, as appmgr forgets one that it could not reach.
type hook struct {
	Data hookData `json:"data"`
}

type hookData struct {
	TargetURL  string `json:"targetUrl"`
	EventType  string `json:"eventType"`
	MaxRetries int    `json:"maxRetries"`
	RetryTimer int    `json:"retryTimer"` // seconds
}

func (s *Sources) askHook(ctx context.Context) (bool, error) {
	text, err := json.Marshal(hook{hookData{TargetURL: s.config.URLs.Target, EventType: "all", MaxRetries: 5, RetryTimer: 10}})
	if err != nil {
		return false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.config.URLs.Hooks, bytes.NewReader(text))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.config.Client.Do(r)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return false, fmt.Errorf("%s answers %s", s.config.URLs.Hooks, answer.Status)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody)) // so that the connection can be used again
	return false, nil
}
