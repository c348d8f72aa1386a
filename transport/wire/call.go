package wire

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// A call is queued until a connection's writer takes it, or its caller gives
// it up: whichever comes first decides whether it was sent.
const (
	callQueued int32 = iota
	callWritten
	callAbandoned
)

// call is one request under way.
type call struct {
	id       uint64
	method   string
	body     []byte
	deadline time.Time
	state    atomic.Int32
	conn     *clientConn
	done     chan outcome // one, never blocks
}

// outcome is a reply or an error.
type outcome struct {
	body []byte
	err  error
}

func newCall(ctx context.Context, method string, body []byte) *call {
	deadline, _ := ctx.Deadline()
	return &call{method: method, body: body, deadline: deadline, done: make(chan outcome, 1)}
}

// wait returns the outcome, or ctx's error once that ends.
func (c *call) wait(ctx context.Context) ([]byte, error) {
	select {
	case out := <-c.done:
		return out.body, out.err
	case <-ctx.Done():
	}
	c.conn.giveUp(c)
	select {
	case out := <-c.done: // just in time
		return out.body, out.err
	default:
		return nil, ctx.Err()
	}
}

// explain makes the error that Call returns.
func (c *call) explain(address string, err error) error {
	var fromHandler *RemoteError
	var refused *refusedError
	switch {
	case errors.As(err, &fromHandler):
		return c.fromHandler(address, fromHandler)
	case errors.As(err, &refused), c.state.CompareAndSwap(callQueued, callAbandoned), c.state.Load() == callAbandoned:
		return &NotSentError{address, c.method, err}
	}
	return &UnknownOutcomeError{address, c.method, err}
}

// fromHandler passes a handler's error on, unless all it says is that it was
// interrupted: it may have done half or all of its work.
func (c *call) fromHandler(address string, err *RemoteError) error {
	if err.Code == CodeDeadline || err.Code == CodeCanceled {
		return &UnknownOutcomeError{address, c.method, err}
	}
	return err
}

// request is the frame to write now.
func (c *call) request(now time.Time) message {
	return message{typ: msgRequest, id: c.id, timeout: millis(c.deadline.Sub(now)), name: c.method}
}

// refusedError: the server did not run the request.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return "refused: " + e.text }
