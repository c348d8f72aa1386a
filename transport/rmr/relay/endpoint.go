package relay

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"floe/transport/rmr/proto"
)

// slowConnect is after how long an endpoint to which we are connecting counts
// as dead, for groups that have others.
const slowConnect = 250 * time.Millisecond

// endpoint is where messages go: one connection for each text that a route or map
// names, made when there is a message for it and kept.
//
// What waits while there is no connection waits for the next attempt to make
// one, and is dropped if that fails.
type endpoint struct {
	outbox
	id   uint64
	name string
	dead atomic.Bool // groups pass it over

	// What follows is under the outbox's lock.
	connecting bool
	failures   int
	lastErr    error
	stop       chan struct{} // closed with the outbox
}

func newEndpoint(r *Relay, id uint64, name string) *endpoint {
	e := &endpoint{outbox: newOutbox(r, r.cfg.Queue, r.cfg.QueueBytes), id: id, name: name, stop: make(chan struct{})}
	e.to, e.disconnected, e.unlinked = name, e.broken, e.connect
	return e
}

// connect begins to connect unless that is under way.
func (e *endpoint) connect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.connectLocked()
}

func (e *endpoint) connectLocked() {
	if e.connecting || e.closed || e.link != nil {
		return
	}
	e.connecting = e.relay.spawn(e.dialling)
}

// dialling tries to connect until it works or nobody wants it any more.
func (e *endpoint) dialling() {
	for e.relay.sleep(e.pause(), e.stop) {
		slow := time.AfterFunc(slowConnect, func() { e.dead.Store(true) })
		nc, err := e.dial()
		slow.Stop()
		if err == nil {
			e.linked(newLink(e.relay, nc))
			return
		}
		if !e.failed(err) {
			return
		}
	}
}

// pause is how long to wait before the next attempt.
func (e *endpoint) pause() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failures == 0 {
		return 0
	}
	cfg := &e.relay.cfg
	return min(cfg.Backoff<<min(e.failures-1, 16), cfg.MaxBackoff)
}

func (e *endpoint) dial() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(e.relay.ctx, e.relay.cfg.ConnectTimeout)
	defer cancel()
	return (&net.Dialer{KeepAlive: -1}).DialContext(ctx, "tcp", e.name)
}

// linked begins to use a connection.
func (e *endpoint) linked(l *link) {
	e.mu.Lock()
	e.connecting = false
	ok := !e.closed && e.relay.spawn(func() { e.read(l) })
	if ok {
		e.link = l
		e.overflow = QueueFull
		e.dead.Store(false)
	}
	e.mu.Unlock()
	if !ok {
		l.close()
		return
	}
	e.flush()
}

// failed drops what waited for the attempt, and tells whether to go on trying.
func (e *endpoint) failed(err error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failures++; e.failures == 1 {
		e.relay.cfg.Log.Info("RMR endpoint can't be reached", "endpoint", e.name, "error", err)
	}
	e.lastErr = err
	e.overflow = DeadEndpoint
	e.dead.Store(true)
	e.drop(DeadEndpoint)
	if e.closed || e.idle() {
		e.forget()
		return false
	}
	return true
}

// idle tells whether no message came for long.
func (e *endpoint) idle() bool {
	return e.relay.clock.Load()-e.used > int64(e.relay.cfg.IdleTimeout)
}

// forget makes the endpoint as if it had never been tried.
func (e *endpoint) forget() {
	e.connecting = false
	e.failures = 0
	e.dead.Store(false)
}

// broken ends a connection, and makes another if the endpoint is in use. One
// that did not last is followed by a pause, as something in between may
// take connections for nobody.
func (e *endpoint) broken(l *link, err error) {
	l.close()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.link != l {
		return
	}
	e.link = nil
	e.lastErr = err
	if e.relay.clock.Load()-l.since >= int64(e.relay.cfg.Backoff) {
		e.failures = 0
	} else {
		e.failures++
		e.dead.Store(true)
	}
	if e.counts.Queued > 0 || !e.idle() {
		e.connectLocked()
	} else {
		e.forget()
	}
}

// read takes answers for who sent messages to the endpoint.
func (e *endpoint) read(l *link) {
	err := l.each(func(frame []byte, m *proto.Message) { e.answer(l, frame, m) })
	if errors.Is(err, proto.ErrFrame) {
		e.relay.badAnswers.Add(1)
		e.relay.log.warn("connection to an endpoint closed for what came on it", "endpoint", e.name, "error", err)
	}
	e.broken(l, err)
}

// answer passes a message on to who asked for it. One that answers nothing is dropped: by
// the library's rules nothing else comes on a connection that others opened,
// and routing it would bring one sender's answers to another.
func (e *endpoint) answer(l *link, frame []byte, m *proto.Message) {
	c := e.relay.asked(e.id, m)
	if c == nil {
		e.relay.dropped[NoSender].Add(1)
		return
	}
	switch c.put(frame) {
	case owing:
		l.debts.add(&c.outbox)
	case gone:
		e.relay.dropped[NoSender].Add(1)
	}
}

// retire closes the endpoint for good, and returns its final counts.
func (e *endpoint) retire(reason Reason) Counts {
	close(e.stop)
	return e.close(reason)
}

// connected tells whether there is a connection.
func (e *endpoint) connected() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.link != nil
}
