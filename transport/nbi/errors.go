package nbi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"floe/fsm"
	"floe/topics"
)

// refused is an error with its status. No caller reads the body of an error,
// people do.
type refused struct {
	status int
	text   string
}

func (r *refused) Error() string { return r.text }

func refusef(status int, format string, args ...any) error {
	return &refused{status, fmt.Sprintf(format, args...)}
}

// later are the refusals of the state that have nothing to do with what the
// caller said.
var later = map[topics.Kind]bool{fsm.ErrVersion: true, fsm.ErrUnnamed: true, fsm.ErrForgotten: true, fsm.ErrRoutesChanged: true}

// wireError gives an error its status: 503 where the call may succeed later.
func wireError(err error) *refused {
	var ready *refused
	var large *http.MaxBytesError
	var refusal *fsm.Refusal
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &large):
		return &refused{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", maxBody)}
	case errors.As(err, &refusal) && !later[refusal.Kind]:
		return &refused{http.StatusBadRequest, err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return &refused{http.StatusServiceUnavailable, "not committed in time, the outcome is unknown: " + err.Error()}
	}
	return &refused{http.StatusServiceUnavailable, err.Error()}
}

func writeError(w http.ResponseWriter, err error) {
	e := wireError(err)
	if e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, e.status, map[string]string{"error": e.text})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer can't be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client is gone if this fails
}
