package rmr

import (
	"context"
	"errors"
	"fmt"
)

// ErrClosed is returned by a closed App.
var ErrClosed = errors.New("RMR application closed")

// Unreachable says that nothing could be sent to an endpoint.
type Unreachable struct {
	// Endpoint is what was to be reached; Err why it was not.
	Endpoint string
	Err      error
}

// Error names the endpoint.
func (e *Unreachable) Error() string {
	return fmt.Sprintf("can't reach RMR endpoint %s: %v", e.Endpoint, e.Err)
}

// Unwrap returns the cause.
func (e *Unreachable) Unwrap() error { return e.Err }

// NoAnswer says that a call was sent and not answered in time.
type NoAnswer struct {
	// Endpoint is who was called; Err that of the context.
	Endpoint string
	Err      error
}

// Error names the endpoint.
func (e *NoAnswer) Error() string {
	why := "it was called off"
	if errors.Is(e.Err, context.DeadlineExceeded) {
		why = "the time is up; it may not be there, drop such messages, or answer none"
	}
	return fmt.Sprintf("no answer from RMR endpoint %s: %s", e.Endpoint, why)
}

// Unwrap returns the context's error.
func (e *NoAnswer) Unwrap() error { return e.Err }
