package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// errRetired: the connection takes no more calls; another one will.
var errRetired = errors.New("connection retired")

// clientConn is a client's RPC connection to one address. A reader and a
// writer goroutine share it.
type clientConn struct {
	client  *Client
	address string
	ready   chan struct{} // closed when opening ended, dialErr is set then
	dialErr error
	slots   chan struct{} // calls in flight; full: callers wait
	out     chan *call    // to the writer; never more than slots, so never full
	cancels chan uint64   // full: the cancellation is not sent, the deadline ends the handler
	dead    chan struct{} // closed when no more can be sent

	mu      sync.Mutex
	calls   map[uint64]*call
	lastID  uint64
	retired bool
	err     error     // what ended the connection
	used    time.Time // end of the last call
	nc      *conn
}

func newClientConn(c *Client, address string) *clientConn {
	return &clientConn{
		client:  c,
		address: address,
		ready:   make(chan struct{}),
		slots:   make(chan struct{}, c.opts.MaxInFlight),
		out:     make(chan *call, c.opts.MaxInFlight),
		cancels: make(chan uint64, c.opts.MaxInFlight),
		dead:    make(chan struct{}),
		calls:   make(map[uint64]*call),
		used:    time.Now(),
	}
}

// run opens the connection and serves it to its end.
func (cc *clientConn) run() {
	nc, err := cc.client.dialFor(cc.client.ctx, cc.address, kindRPC, 0)
	if err != nil {
		cc.dialErr = err
		cc.client.forget(cc)
		close(cc.ready)
		return
	}
	cc.nc = nc
	close(cc.ready)
	p := &paced{Conn: nc}
	var writer sync.WaitGroup
	writer.Go(func() { cc.write(p) })
	cc.end(cc.read(p))
	writer.Wait()
}

// opened waits until the connection stands.
func (cc *clientConn) opened(ctx context.Context) error {
	select {
	case <-cc.ready:
		return cc.dialErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enqueue hands call to the writer, waiting for a free slot.
func (cc *clientConn) enqueue(ctx context.Context, call *call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := cc.client.opts.checkAbroad(cc.nc, call.method); err != nil {
		return err
	}
	select {
	case cc.slots <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%d calls in flight: %w", cap(cc.slots), ctx.Err())
	case <-cc.dead:
		return errRetired
	}
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.retired {
		<-cc.slots
		return errRetired
	}
	cc.lastID++
	call.id, call.conn = cc.lastID, cc
	cc.calls[call.id] = call
	cc.out <- call
	return nil
}

// giveUp forgets call and tells the server, if it knows of it.
func (cc *clientConn) giveUp(c *call) {
	if c.state.CompareAndSwap(callQueued, callAbandoned) {
		return // the writer drops it, and its slot
	}
	if cc.take(c.id) == nil {
		return // its outcome is there
	}
	<-cc.slots
	select {
	case cc.cancels <- c.id:
	default:
	}
}

// take removes a call from those that wait.
func (cc *clientConn) take(id uint64) *call {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	c := cc.calls[id]
	delete(cc.calls, id)
	cc.used = time.Now()
	return c
}

// write sends queued calls and cancellations, flushing when none waits.
func (cc *clientConn) write(p *paced) {
	w := newFrameWriter(p, cc.nc.Conn, cc.client.opts.StallTimeout)
	idle := time.NewTicker(max(cc.client.opts.IdleTimeout/4, time.Millisecond))
	defer idle.Stop()
	for {
		err := cc.writeNext(w, idle.C)
		if err == nil && len(cc.out) == 0 && len(cc.cancels) == 0 {
			err = w.flush()
		}
		if err != nil {
			cc.end(err)
			return
		}
	}
}

func (cc *clientConn) writeNext(w *frameWriter, idle <-chan time.Time) error {
	var scratch [messageHead + 4 + 1 + codeMax]byte
	select {
	case c := <-cc.out:
		if !c.state.CompareAndSwap(callQueued, callWritten) {
			cc.take(c.id)
			<-cc.slots
			return nil
		}
		return w.write(c.request(time.Now()).head(scratch[:0]), c.body)
	case id := <-cc.cancels:
		return w.write(message{typ: msgCancel, id: id}.head(scratch[:0]))
	case now := <-idle:
		return cc.retireIfIdle(now)
	case <-cc.dead:
		return cc.cause()
	}
}

// errIdle ends a connection that nobody used for a while.
var errIdle = errors.New("idle")

func (cc *clientConn) retireIfIdle(now time.Time) error {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if len(cc.calls) > 0 || now.Sub(cc.used) < cc.client.opts.IdleTimeout {
		return nil
	}
	cc.retired = true
	return errIdle
}

// read delivers replies until the connection ends.
func (cc *clientConn) read(p *paced) error {
	frames := newFrameReader(p, cc.client.opts.MaxFrame, 0, cc.client.opts.StallTimeout)
	for {
		frame, err := frames.fresh()
		if errors.Is(err, io.EOF) {
			err = errors.New("connection closed by the peer")
		}
		if err != nil {
			return err
		}
		m, err := parseMessage(frame)
		if err != nil {
			return err
		}
		if err := cc.receive(m); err != nil {
			return err
		}
	}
}

func (cc *clientConn) receive(m message) error {
	var out outcome
	switch m.typ {
	case msgReply:
		out.body = m.body
	case msgFailure:
		out.err = &RemoteError{Code: m.name, Text: string(m.body)}
	case msgRefusal:
		out.err = &refusedError{string(m.body)}
	case msgGoAway:
		return cc.retire()
	default:
		return fmt.Errorf("%w: rpc frame of type %d from a server", errBadFrame, m.typ)
	}
	if c := cc.take(m.id); c != nil { // else given up
		<-cc.slots
		c.done <- out
	}
	return cc.leave()
}

// retire sends no more calls here; those under way still get their replies.
func (cc *clientConn) retire() error {
	cc.client.forget(cc)
	cc.mu.Lock()
	cc.retired = true
	cc.mu.Unlock()
	return cc.leave()
}

// leave ends a retired connection with its last call.
func (cc *clientConn) leave() error {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.retired && len(cc.calls) == 0 {
		return errRetired
	}
	return nil
}

func (cc *clientConn) cause() error {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	return cc.err
}

// end closes the connection for reason err, once, and tells all callers.
func (cc *clientConn) end(err error) {
	cc.client.forget(cc)
	cc.mu.Lock()
	if cc.err != nil {
		cc.mu.Unlock()
		return
	}
	cc.err = err
	cc.retired = true
	calls := cc.calls
	cc.calls = nil
	cc.mu.Unlock()
	close(cc.dead)
	_ = cc.nc.Close() // err is the one that matters
	for _, c := range calls {
		c.done <- outcome{err: err}
	}
}
