package rmr

import (
	"context"
	"net"

	"floe/transport/rmr/proto"
)

// Received is a message that arrived. It belongs to who received it.
type Received struct {
	proto.Message
	conn *conn
}

// Peer is the address at the other end of the connection it came on.
func (r *Received) Peer() net.Addr { return r.conn.nc.RemoteAddr() }

// Receive returns the next message that is not the answer to a call, in the order of
// arrival. It blocks until there is one, ctx ends, or the App is closed,
// with [ErrClosed].
func (a *App) Receive(ctx context.Context) (*Received, error) {
	select {
	case r := <-a.queue:
		a.queued.Add(-r.Size())
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-a.closed:
		return nil, ErrClosed
	}
}

// arrived puts a message where it belongs, without waiting: m aliases the
// connection's buffer.
func (a *App) arrived(c *conn, m *proto.Message) {
	if !m.IsCall() && m.CallID() == callID {
		a.answered(c, m)
		return
	}
	if !a.enqueue(c, m) {
		a.dropped.Add(1)
		return
	}
	a.received.Add(1)
}

// enqueue returns false where the queue is full, in messages or bytes.
func (a *App) enqueue(c *conn, m *proto.Message) bool {
	if len(a.queue) == cap(a.queue) {
		return false // before it is copied
	}
	if a.queued.Add(m.Size()) <= a.cfg.QueueBytes {
		select {
		case a.queue <- &Received{m.Clone(), c}:
			return true
		default:
		}
	}
	a.queued.Add(-m.Size())
	return false
}

// answered hands an answer to the call that waits for it. The library, too, drops those
// that come late.
func (a *App) answered(c *conn, m *proto.Message) {
	a.mu.Lock()
	answer := a.calls[m.XID]
	delete(a.calls, m.XID)
	a.mu.Unlock()
	if answer == nil {
		a.late.Add(1)
		return
	}
	answer <- &Received{m.Clone(), c}
}
