package rmrapp

import (
	"context"
	"sync"

	"floe/transport/rmr/proto"
)

// Received is a message that arrived.
type Received struct {
	proto.Message
	conn *conn
}

// Peer is the address at the other end of the connection it came on.
func (r *Received) Peer() string { return r.conn.peer() }

// onData deals with a message to the data port.
func (r *incarnation) onData(_ context.Context, c *conn, m *proto.Message) {
	a := r.app
	if m.Type == proto.TypeTable {
		c.fault(DataPort, "%d bytes of payload", len(m.Payload))
	}
	switch {
	case !m.IsCall() && m.CallID() != 0:
		a.answerArrived(c, m)
	case a.cfg.Handle != nil:
		a.count(func(s *Stats) { s.Received++ })
		a.cfg.Handle(a, &Received{*m, c})
	default:
		kept := a.queue.push(c, m)
		a.count(func(s *Stats) {
			s.Received++
			if !kept {
				s.Dropped++
			}
		})
	}
}

func (a *App) answerArrived(c *conn, m *proto.Message) {
	waiting, ok := a.calls.answered(m)
	if ok {
		waiting.answer <- &Received{m.Clone(), c}
	}
	a.count(func(s *Stats) {
		s.Received++
		if !ok {
			s.Late++
		}
	})
}

// Receive returns the next message that is not the answer to a call, in the
// order of arrival, or the error of ctx. A restart empties the queue.
func (a *App) Receive(ctx context.Context) (*Received, error) { return a.queue.pop(ctx) }

// queue holds messages that wait to be received. What comes when it is full
// is dropped.
type queue struct {
	limit int
	mu    sync.Mutex
	items []*Received
	some  chan struct{} // holds an element when there may be items
}

func newQueue(limit int) *queue { return &queue{limit: limit, some: make(chan struct{}, 1)} }

func (q *queue) push(c *conn, m *proto.Message) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) >= q.limit {
		return false
	}
	q.items = append(q.items, &Received{m.Clone(), c})
	q.signal()
	return true
}

func (q *queue) signal() {
	select {
	case q.some <- struct{}{}:
	default:
	}
}

func (q *queue) pop(ctx context.Context) (*Received, error) {
	for {
		if r := q.first(); r != nil {
			return r, nil
		}
		select {
		case <-q.some:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (q *queue) first() *Received {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return nil
	}
	r := q.items[0]
	q.items[0] = nil
	if q.items = q.items[1:]; len(q.items) > 0 {
		q.signal() // for who else waits
	}
	return r
}

func (q *queue) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = nil
}
