package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// linger is how long a closing end waits for the other to close too, so
	// that its last bytes are not lost to a reset.
	linger = time.Second
	// textMax bounds an error text on the wire, in bytes.
	textMax = 64 << 10
)

// Handler answers one request; body is the handler's. ctx ends with the
// caller's deadline, when the caller gives up or its connection ends, and when
// Shutdown runs out of time. An error travels as a [RemoteError]; its code is
// what its ErrorCode() string method says, if it has one. Handlers run
// concurrently.
type Handler = func(ctx context.Context, from net.Addr, method string, body []byte) ([]byte, error)

// Serve answers requests with h from now on.
func (p *Port) Serve(h Handler) { p.serving.Store(&h) }

// serverConn is an accepted RPC connection: a reader, a writer, a goroutine
// per running handler, and one that waits for Shutdown.
type serverConn struct {
	port   *Port
	nc     *conn
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	out    chan message // full: handlers wait for the writer

	mu       sync.Mutex
	calls    map[uint64]context.CancelFunc
	draining bool
	handlers sync.WaitGroup
}

// serveCalls serves c until it ends.
func (p *Port) serveCalls(c *conn) {
	s := &serverConn{
		port:  p,
		nc:    c,
		out:   make(chan message, p.cfg.MaxInFlight),
		calls: make(map[uint64]context.CancelFunc),
	}
	s.ctx, s.cancel = context.WithCancel(p.stopping)
	pc := &paced{Conn: c}
	var side sync.WaitGroup
	side.Go(func() { s.write(pc) })
	side.Go(s.drain)
	if err := s.read(pc); isBadInput(err) {
		p.complaints.badInput(c.RemoteAddr(), err)
	}
	_ = c.Close() // the reader's error is the one that matters
	s.cancel()
	s.handlers.Wait()
	side.Wait()
}

// read takes requests until the connection ends.
func (s *serverConn) read(p *paced) error {
	opts := s.port.cfg.Options
	// The client closes first: three times its patience avoids a race.
	frames := newFrameReader(p, opts.MaxFrame, 3*opts.IdleTimeout, opts.StallTimeout)
	for {
		frame, err := frames.fresh()
		if errors.Is(err, os.ErrDeadlineExceeded) && !isBadInput(err) && s.running() > 0 {
			continue // a long call, not an idle connection
		}
		if err != nil {
			return err
		}
		m, err := parseMessage(frame)
		if err != nil {
			return err
		}
		if err := s.receive(m); err != nil {
			return err
		}
	}
}

func (s *serverConn) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

func (s *serverConn) receive(m message) error {
	switch m.typ {
	case msgRequest:
		return s.start(m)
	case msgCancel:
		s.end(m.id)
		return nil
	}
	return fmt.Errorf("%w: rpc frame of type %d from a client", errBadFrame, m.typ)
}

// start runs the handler for m, or refuses m.
func (s *serverConn) start(m message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.calls[m.id]; twice {
		return fmt.Errorf("%w: rpc request id %d twice", errBadFrame, m.id)
	}
	if why := s.refusal(); why != "" {
		return s.sendNow(message{typ: msgRefusal, id: m.id, body: []byte(why)})
	}
	ctx, cancel := m.context(s.ctx)
	s.calls[m.id] = cancel
	s.handlers.Go(func() {
		defer func() { <-s.port.slots }()
		s.handle(ctx, m)
	})
	return nil
}

// context is the one for a request's handler.
func (m message) context(parent context.Context) (context.Context, context.CancelFunc) {
	if m.timeout == 0 {
		return context.WithCancel(parent)
	}
	return context.WithTimeout(parent, time.Duration(m.timeout)*time.Millisecond)
}

// refusal says why no request may start now; otherwise it takes one of the
// port's handler slots.
func (s *serverConn) refusal() string {
	if s.draining {
		return "shutting down"
	}
	if len(s.calls) >= s.port.cfg.MaxInFlight {
		return s.tooMany("too many requests on this connection")
	}
	select {
	case s.port.slots <- struct{}{}:
		return ""
	default:
		return s.tooMany("too many requests on this node")
	}
}

// tooMany counts a call over a limit.
func (s *serverConn) tooMany(refusal string) string {
	s.port.refusedCalls.Add(1)
	s.port.complaints.warn("call refused, there are too many", "peer", s.nc.RemoteAddr(), "reason", refusal)
	return refusal
}

func (s *serverConn) handle(ctx context.Context, m message) {
	body, err := s.answer(ctx, m)
	s.end(m.id)
	s.send(reply(m.id, body, err, s.port.cfg.MaxFrame))
}

// answer has the handler answer. One that panics fails its own call only; it
// may have done half of its work, so the outcome is unknown.
func (s *serverConn) answer(ctx context.Context, m message) (body []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.port.cfg.Log.Error("a call could not be answered, tell the makers", "method", m.name, "panic", p, "stack", string(debug.Stack()))
			body, err = nil, fmt.Errorf("the handler of %s failed: %w", m.name, context.Canceled)
		}
	}()
	if err := s.port.cfg.Options.checkAbroad(s.nc, m.name); err != nil {
		s.port.complaints.warn("call refused", "peer", s.nc.RemoteAddr(), "error", err)
		return nil, err
	}
	return (*s.port.serving.Load())(ctx, s.nc.RemoteAddr(), m.name, m.body)
}

func reply(id uint64, body []byte, err error, limit int) message {
	if err == nil && len(body) > limit {
		err = &RemoteError{CodeTooLarge, fmt.Sprintf("reply of %d bytes is over the limit of %d", len(body), limit)}
	}
	if err != nil {
		r := remote(err)
		return message{typ: msgFailure, id: id, name: r.Code, body: []byte(clip(r.Text, min(textMax, limit)))}
	}
	return message{typ: msgReply, id: id, body: body}
}

// end cancels the handler of a request and frees its id.
func (s *serverConn) end(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel, ok := s.calls[id]; ok {
		cancel()
		delete(s.calls, id)
	}
}

// send queues m for the writer, which takes it or the connection ends.
func (s *serverConn) send(m message) {
	select {
	case s.out <- m:
	case <-s.ctx.Done():
	}
}

// errNotReading: a client sends and sends but takes no replies.
var errNotReading = fmt.Errorf("%w: client reads no replies", errBadFrame)

// sendNow queues m without waiting, for the reader must not wait on the
// writer.
func (s *serverConn) sendNow(m message) error {
	select {
	case s.out <- m:
		return nil
	default:
		return errNotReading
	}
}

// write sends replies, flushing when none waits.
func (s *serverConn) write(p *paced) {
	w := newFrameWriter(p, s.nc.Conn, s.port.cfg.StallTimeout)
	var scratch [messageHead + 1 + codeMax]byte
	for {
		select {
		case m := <-s.out:
			err := w.write(m.head(scratch[:0]), m.body)
			if err == nil && len(s.out) == 0 {
				err = w.flush()
			}
			if err != nil {
				_ = s.nc.Close() // ends the reader, and with it everything
				return
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// drain waits for Shutdown, tells the client to go elsewhere, lets running
// handlers end, and closes when the client has not done so.
func (s *serverConn) drain() {
	select {
	case <-s.ctx.Done():
		return
	case <-s.port.draining.Done():
	}
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	s.send(message{typ: msgGoAway})
	s.handlers.Wait()
	select {
	case <-s.ctx.Done():
	case <-time.After(linger):
		_ = s.nc.Close() // the client had its chance
	}
}
