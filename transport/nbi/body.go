package nbi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"floe/routing/derive"
)

// body reads the JSON value of a request.
func (s *Server) body(w http.ResponseWriter, r *http.Request, into any) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return refusef(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	from := http.MaxBytesReader(w, r.Body, maxBody)
	text, err := io.ReadAll(io.LimitReader(from, smallBody))
	if err == nil && len(text) == smallBody {
		var free func()
		if free, err = s.place(r.Context()); err != nil {
			return err
		}
		defer free()
		var rest []byte
		rest, err = io.ReadAll(from)
		text = append(text, rest...)
	}
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return err
		}
		return refusef(http.StatusBadRequest, "read the body: %v", err)
	}
	if err := parse(text, into); err != nil {
		return refusef(http.StatusBadRequest, "the body is not the JSON that belongs here: %v", err)
	}
	return nil
}

// place waits for a place among the large bodies.
func (s *Server) place(ctx context.Context) (free func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.CommitWithin)
	defer cancel()
	select {
	case s.large <- struct{}{}:
		return func() { <-s.large }, nil
	case <-ctx.Done():
		return nil, refusef(http.StatusServiceUnavailable, "too many large bodies at a time")
	}
}

// parse reads exactly one JSON value that is not null.
func parse(text []byte, into any) error {
	if string(bytes.TrimSpace(text)) == "null" {
		return errors.New("it is null")
	}
	return json.Unmarshal(text, into)
}

// The bodies of calls. A pointer tells what is missing from what is empty.
type (
	callback struct {
		Event     string          `json:"event"`
		EventType string          `json:"eventType"` // the key that appmgr really uses
		XApps     json.RawMessage `json:"xApps"`
	}
	xappEndpoint struct {
		Address *string `json:"address"`
		Port    *uint16 `json:"port"`
	}
	subscription struct {
		xappEndpoint
		ID *int32 `json:"subscription_id"`
	}
	e2t struct {
		Address *string  `json:"E2TAddress"`
		RANs    []string `json:"ranNamelist"`
	}
	deadE2T struct {
		Address *string `json:"E2TAddress"`
		Others  []e2t   `json:"ranAssocList"`
	}
	route struct {
		Target *string `json:"TargetEndPoint"`
		MType  *int32  `json:"MessageType"`
		Sender string  `json:"SenderEndPoint"`
		SubID  int32   `json:"SubscriptionID"`
	}
)

func missing(field string) error {
	return refusef(http.StatusUnprocessableEntity, "%s is missing", field)
}

func (x xappEndpoint) endpoint() (string, error) {
	if x.Address == nil {
		return "", missing("address")
	}
	if x.Port == nil {
		return "", missing("port")
	}
	return derive.Endpoint(*x.Address, *x.Port), nil
}

func (s subscription) change(kind derive.Kind) (derive.Change, error) {
	endpoint, err := s.endpoint()
	if err == nil && s.ID == nil {
		err = missing("subscription_id")
	}
	if err != nil {
		return derive.Change{}, err
	}
	return derive.Change{Kind: kind, SubID: *s.ID, Endpoint: endpoint}, nil
}

func (e e2t) change(kind derive.Kind) (derive.Change, error) {
	if e.Address == nil {
		return derive.Change{}, missing("E2TAddress")
	}
	return derive.Change{Kind: kind, E2T: *e.Address, RANs: e.RANs}, nil
}

func e2tChanges(kind derive.Kind, list []e2t) ([]derive.Change, error) {
	changes := make([]derive.Change, len(list))
	for i, e := range list {
		var err error
		if changes[i], err = e.change(kind); err != nil {
			return nil, err
		}
	}
	return changes, nil
}
