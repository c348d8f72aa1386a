package relay

import (
	"net"
	"sync"
	"sync/atomic"
)

// outbox holds the frames that are to go out on one connection, or on one
// after the other to one endpoint. Whoever puts something in may owe it a
// flush, so that what comes at once goes out in one write.
//
// One at a time writes, with busy set: a goroutine that reads messages, as
// far as the connection takes them without waiting, or drain, which waits.
type outbox struct {
	relay    *Relay
	messages uint64 // how many may be queued
	size     int64  // how many bytes may be queued
	// disconnected is called when the connection of a link is broken,
	// perhaps more than once, and unlinked when something waits and there is
	// no link; both without the lock.
	disconnected func(*link, error)
	unlinked     func()
	// full: a message was dropped, and the queue is still more than half full.
	full atomic.Bool

	to string // the other end, for the log

	mu       sync.Mutex
	link     *link // nil: not connected
	busy     bool
	owed     bool // somebody will flush
	closed   bool
	overflow Reason   // why messages are dropped when the queue is full
	waiting  []*chunk // in the order they came
	flight   []*chunk // being written
	next     int      // flight[:next] is written
	counts   Counts
	bytes    int64 // of what is queued
	used     int64 // when the last message came, by the relay's clock
}

func newOutbox(r *Relay, messages int, size int64) outbox {
	return outbox{relay: r, messages: uint64(messages), size: size, overflow: QueueFull}
}

// verdict is what became of a frame that was put into an outbox.
type verdict int

const (
	taken   verdict = iota // it is in the queue
	owing                  // it is in the queue, and the caller must flush
	refused                // it was counted and dropped
	gone                   // the outbox is closed; nothing was counted
)

// put copies a frame to the end of the queue.
func (o *outbox) put(frame []byte) verdict {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return gone
	}
	o.counts.Offered++
	o.used = o.relay.clock.Load()
	if q := o.counts.Queued; q > 0 && (q >= o.messages || o.bytes+int64(len(frame)) > o.size) {
		o.counts.Dropped[o.overflow]++
		if !o.full.Swap(true) && o.overflow == QueueFull {
			o.relay.log.warn("queue full, messages are dropped", "to", o.to)
		}
		return refused
	}
	o.counts.Queued++
	o.bytes += int64(len(frame))
	o.append(frame)
	if o.owed {
		return taken
	}
	o.owed = true
	return owing
}

func (o *outbox) append(frame []byte) {
	n := len(o.waiting)
	if n == 0 || o.waiting[n-1].room() < len(frame) {
		o.waiting = append(o.waiting, newChunk(len(frame)))
		n++
	}
	o.waiting[n-1].add(frame)
}

// flush writes what the connection takes at once and leaves the rest to a
// goroutine that waits. It never blocks.
func (o *outbox) flush() {
	o.mu.Lock()
	o.owed = false
	l := o.begin()
	lost := l == nil && o.link == nil && len(o.waiting) > 0 && !o.closed
	o.mu.Unlock()
	if lost {
		o.unlinked()
		return
	}
	if l != nil && l.direct != nil {
		l = o.push(l)
	}
	if l != nil {
		o.relay.spawn(func() { o.drain(l) })
	}
}

// push writes what the connection takes at once, and returns what settle does.
func (o *outbox) push(l *link) *link {
	pieces := l.pieces[:0]
	for _, c := range o.flight {
		pieces = append(pieces, c.rest())
	}
	n, err := l.direct.Push(net.Buffers(pieces))
	clear(pieces)
	l.pieces = pieces
	return o.settle(l, n, err)
}

// drain writes until nothing is left.
func (o *outbox) drain(l *link) {
	for l != nil {
		n, err := l.nc.Write(o.flight[o.next].rest())
		l = o.settle(l, n, err)
	}
}

// begin makes the caller the one to write what waits. It returns nil if there
// is nothing to do, or nowhere to write to. The lock is held.
func (o *outbox) begin() *link {
	if o.busy || o.link == nil || len(o.waiting) == 0 {
		return nil
	}
	o.busy = true
	o.flight, o.waiting, o.next = o.waiting, o.flight[:0], 0
	return o.link
}

// settle accounts for n more bytes that are written on l, and perhaps an
// error, which ends it. It returns where the caller goes on to write, nil if
// it does not.
func (o *outbox) settle(l *link, n int, err error) *link {
	o.mu.Lock()
	more := o.advance(n)
	if err == nil && more {
		o.mu.Unlock()
		return l
	}
	o.busy = false
	o.restore()
	// What came meanwhile is written by who owes a flush, if anybody does.
	var next *link
	if err == nil && !o.owed {
		next = o.begin()
	}
	o.mu.Unlock()
	if err != nil {
		o.disconnected(l, err)
		o.flush() // on another connection, if there is one already
	}
	return next
}

// advance counts what is written of flight, and returns whether a part is not.
func (o *outbox) advance(n int) (more bool) {
	for o.next < len(o.flight) {
		c := o.flight[o.next]
		part := min(n, len(c.rest()))
		n -= part
		msgs, bytes := c.wrote(part)
		if !o.closed {
			o.counts.Delivered += uint64(msgs)
			o.leave(msgs, bytes)
		}
		if c.msgs > 0 {
			return true
		}
		o.flight[o.next] = nil
		o.next++
		c.free()
	}
	return false
}

// leave counts messages that leave the queue.
func (o *outbox) leave(msgs, bytes int) {
	o.counts.Queued -= uint64(msgs)
	o.bytes -= int64(bytes)
	if o.counts.Queued <= o.messages/2 && o.bytes <= o.size/2 {
		o.full.Store(false)
	}
}

// restore puts what was not written back to the front.
func (o *outbox) restore() {
	rest := o.flight[o.next:]
	if len(rest) > 0 && !o.closed {
		rest[0].restart()
		o.waiting = append(append([]*chunk(nil), rest...), o.waiting...)
	}
	clear(o.flight)
	o.flight = o.flight[:0]
	o.next = 0
}

// drop drops what waits. The lock is held.
func (o *outbox) drop(reason Reason) {
	for i, c := range o.waiting {
		o.counts.Dropped[reason] += uint64(c.msgs)
		o.leave(c.msgs, len(c.buf)-c.from)
		o.waiting[i] = nil
		c.free()
	}
	o.waiting = o.waiting[:0]
}

// close ends the outbox: nothing more is taken, and all that is queued is
// dropped, also what is just being written. It returns the final counts; a
// second call returns none.
func (o *outbox) close(reason Reason) (final Counts) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return Counts{}
	}
	o.drop(reason)
	o.counts.Dropped[reason] += o.counts.Queued
	o.leave(int(o.counts.Queued), int(o.bytes))
	o.closed = true
	if o.link != nil {
		o.link.close()
		o.link = nil
	}
	return o.counts
}

// look returns the counts and the bytes that are queued.
func (o *outbox) look() (Counts, int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts, o.bytes
}
