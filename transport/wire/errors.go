package wire

import (
	"context"
	"errors"
	"fmt"
)

// ErrClosed: the client, port or stream was closed at this end.
var ErrClosed = errors.New("closed")

// NotSentError: the request certainly reached no handler, so that it may be
// sent again, to another node too. Err says why.
type NotSentError struct {
	Addr, Method string
	Err          error
}

// Error names method, address and reason.
func (e *NotSentError) Error() string {
	why := e.Err.Error()
	if errors.Is(e.Err, context.DeadlineExceeded) {
		why = "no connection in time; is it the peer port of a node (7400 unless --peer says otherwise)?"
	}
	return fmt.Sprintf("call %s at %s: not sent: %s", e.Method, e.Addr, why)
}

// Unwrap returns the reason.
func (e *NotSentError) Unwrap() error { return e.Err }

// NotSent is true. It lets a package that does not import this one tell the
// error by a method.
func (e *NotSentError) NotSent() bool { return true }

// UnknownOutcomeError: the request was written, at least in part, and no
// reply came. It may have been carried out. Err says what went wrong.
type UnknownOutcomeError struct {
	Addr, Method string
	Err          error
}

// Error names method, address and reason.
func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("call %s at %s: outcome unknown: %v", e.Method, e.Addr, e.Err)
}

// Unwrap returns the reason.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// OutcomeUnknown is true; see [NotSentError.NotSent].
func (e *UnknownOutcomeError) OutcomeUnknown() bool { return true }

// RemoteError is an error that a handler, or the other end of a stream,
// returned. Code is what the error's ErrorCode() string method gave there, by
// which the caller can build its own typed error again; it may be empty. Text
// is what its Error method gave.
type RemoteError struct {
	Code, Text string
}

// Codes this package gives to errors that have none of their own.
const (
	CodeDeadline = "deadline"  // context.DeadlineExceeded
	CodeCanceled = "canceled"  // context.Canceled
	CodeTooLarge = "too_large" // a reply over the frame limit
)

// Error is the remote text, or the code where that is empty.
func (e *RemoteError) Error() string {
	if e.Text == "" {
		return "remote error " + e.Code
	}
	return e.Text
}

// ErrorCode is Code, so that an error passed on keeps it.
func (e *RemoteError) ErrorCode() string { return e.Code }

// codeMax is the most that the one byte length of a code or name can say.
const codeMax = 255

// remote turns any error into what travels.
func remote(err error) *RemoteError {
	return &RemoteError{Code: clip(errorCode(err), codeMax), Text: err.Error()}
}

func errorCode(err error) string {
	var coded interface{ ErrorCode() string }
	switch {
	case errors.As(err, &coded):
		return coded.ErrorCode()
	case errors.Is(err, context.DeadlineExceeded):
		return CodeDeadline
	case errors.Is(err, context.Canceled):
		return CodeCanceled
	}
	return ""
}

func clip(s string, n int) string { return s[:min(len(s), n)] }
