package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"floe/transport/delivery"
)

// line is what all senders of events have in common: how they come by a
// connection, and leave it. mu guards the sender as a whole.
type line struct {
	client   *Client
	receiver *delivery.Receiver
	self     source
	// resolve works out where to send, when a connection is needed. It may
	// block.
	resolve func(ctx context.Context) (route, error)

	mu         sync.Mutex
	spot       place
	conn       *conn
	target     []byte // identity and facet, encoded
	connecting bool
	closed     bool
	losses     int // connections lost since anything was sent
	// patience is until when connections that can't be made are no failure,
	// as the network and not the peer is at fault; see errUnheard.
	patience time.Time
}

// route is where to send.
type route struct {
	target    []byte
	addresses []address
}

func (l *line) place() *place { return &l.spot }

// wanted sees to it that the sender is filled soon: on its connection, or on
// a new one. mu is held.
func (l *line) wanted(b *delivery.Burst) {
	if l.closed || l.connecting {
		return
	}
	if l.conn != nil {
		if l.conn.enqueue(l.self, b) {
			return
		}
		l.leave()
	}
	l.connecting = l.client.start(l.connect)
}

// leave lets go of the connection. mu is held.
func (l *line) leave() {
	if l.conn != nil {
		l.conn.detach(l.self)
		l.conn = nil
	}
}

// connect finds a connection and joins it; it runs in its own goroutine.
func (l *line) connect() {
	conn, target, err := l.find()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.connecting = false
	if l.closed {
		return
	}
	if err == nil && !conn.attach(l.self) {
		err = fmt.Errorf("connection to %s ended at once", conn.address.hostPort())
	}
	if err != nil {
		l.unconnected(err)
		return
	}
	l.conn, l.target, l.patience = conn, target, time.Time{}
	l.receiver.Address(conn.address.hostPort())
	conn.enqueue(l.self, nil)
}

// knockEvery is how often a connection is tried again during patience.
const knockEvery = time.Second

// unconnected deals with a connection that could not be made. mu is held.
func (l *line) unconnected(err error) {
	if class := classOf(err); class != delivery.Unreachable || !time.Now().Before(l.patience) {
		l.receiver.Fail(delivery.Failure{Class: class, Err: err})
		return
	}
	time.AfterFunc(knockEvery, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.conn == nil {
			l.wanted(nil)
		}
	})
}

// unheard deals with a connection given up because the peer's host is silent.
// A receiver gets as long as a send may take before that counts as a failure.
// mu is held.
func (l *line) unheard() {
	if l.patience.IsZero() {
		l.patience = time.Now().Add(l.client.config.SendTimeout)
	}
	l.wanted(nil)
}

func (l *line) find() (*conn, []byte, error) {
	ctx, cancel := context.WithTimeout(l.client.ctx, l.client.config.SendTimeout)
	defer cancel()
	r, err := l.resolve(ctx)
	if err != nil {
		return nil, nil, err
	}
	conn, err := l.client.reach(ctx, r.addresses)
	return conn, r.target, err
}

// unwilling marks errors that the other side answered.
type unwilling struct{ error }

func (u unwilling) Unwrap() error { return u.error }

// classOf says what an error that kept us from sending means.
func classOf(err error) delivery.Class {
	if errors.Is(err, ErrNotRegistered) || errors.Is(err, ErrGone) {
		return delivery.Hard
	}
	if errors.As(err, new(unwilling)) {
		return delivery.Unwilling
	}
	return delivery.Unreachable
}

// broke deals with a lost connection on which nothing is in doubt: a new one
// is made at once, for the first time. mu is held.
func (l *line) broke(cause error) {
	if errors.Is(cause, errIdle) {
		l.wanted(nil)
		return
	}
	if l.losses++; l.losses > 1 {
		l.receiver.Fail(delivery.Failure{Class: delivery.Unreachable, Err: cause})
		return
	}
	l.wanted(nil)
}

// shut ends the sender. mu is held.
func (l *line) shut() {
	l.closed = true
	l.leave()
}
