package client

import "errors"

var (
	// ErrDoubtful is wrapped where a connection broke, or the time was up,
	// after a request was written: it may have been executed or not.
	ErrDoubtful = errors.New("no answer; the request may have been executed")
	// ErrGone is what a [Clusters] wraps for a topic that no longer exists.
	ErrGone = errors.New("the topic no longer exists")
	// ErrNotRegistered is wrapped where the locator does not know an adapter
	// or object.
	ErrNotRegistered = errors.New("not registered at the locator")
	// ErrNoEndpoint is wrapped where a proxy has no endpoint we can use.
	ErrNoEndpoint = errors.New("no endpoint that can be used")
	// ErrClosed is wrapped once the client was closed.
	ErrClosed = errors.New("client is closed")
)

var (
	// errPeerClosed: the peer sent CloseConnection.
	errPeerClosed = errors.New("closed by the peer")
	// errIdle: we closed the connection, with nothing outstanding.
	errIdle    = errors.New("closed after being idle")
	errTimeout = errors.New("timed out")
	// errUnheard: the peer's host acknowledges nothing any more.
	errUnheard = errors.New("the other host is silent")
)
