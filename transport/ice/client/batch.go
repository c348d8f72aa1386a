package client

import (
	"net"
	"sync"

	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// batch is what goes out with one write.
type batch struct {
	conn     *conn
	limit    int // largest message
	buf      []byte
	segments []segment
	size     int // bytes of buf and the large tails
	entries  []entry
	parts    []part
	events   []*delivery.Event // scratch
	vector   net.Buffers       // scratch
	forward  []proto.Event     // scratch
}

// segment is a piece of what is written: a tail of its own, or buf up to to.
type segment struct {
	tail []byte
	to   int
}

// entry is one event, or one call, and where its message ends.
type entry struct {
	event *delivery.Event
	id    int32 // request id, 0: none
	end   int
}

// part is the entries of one source.
type part struct {
	source   source
	from, to int
}

const (
	// maxWrite is how much is gathered for one write.
	maxWrite = 64 << 10
	// shareEvents and shareBytes are what one sender may add in its turn.
	shareEvents = 256
	shareBytes  = 32 << 10
	// largeTail is from where on a tail is not copied.
	largeTail = 1 << 10
	// keepBuffer is the largest buffer kept for the next write.
	keepBuffer = 512 << 10
)

var batches = sync.Pool{New: func() any { return new(batch) }}

// newBatch returns an empty batch for a connection.
func newBatch(c *conn, limit int) *batch {
	b := batches.Get().(*batch)
	b.conn, b.limit = c, limit
	return b
}

// release gives the batch's memory back.
func (b *batch) release() {
	b.reset()
	b.conn = nil
	if cap(b.buf) <= keepBuffer {
		batches.Put(b)
	}
}

func (b *batch) reset() {
	clear(b.segments)
	clear(b.entries)
	clear(b.parts)
	clear(b.events[:cap(b.events)])
	clear(b.forward[:cap(b.forward)])
	b.buf, b.segments, b.entries, b.parts, b.size = b.buf[:0], b.segments[:0], b.entries[:0], b.parts[:0], 0
	b.events, b.forward = b.events[:0], b.forward[:0]
}

// full tells whether it is time to write.
func (b *batch) full() bool { return b.size >= maxWrite }

// grew counts what was appended to buf since it was n long.
func (b *batch) grew(n int) { b.size += len(b.buf) - n }

// tail appends the tail of an event.
func (b *batch) tail(tail []byte) {
	b.size += len(tail)
	if len(tail) < largeTail {
		b.buf = append(b.buf, tail...)
		return
	}
	b.segments = append(b.segments, segment{to: len(b.buf)}, segment{tail: tail})
}

// request appends one event as a request.
func (b *batch) request(id int32, target []byte, ev *delivery.Event) {
	n := len(b.buf)
	b.buf = proto.AppendRequestPrefix(b.buf, id, target, len(ev.Tail))
	b.grew(n)
	b.tail(ev.Tail)
	b.entries = append(b.entries, entry{event: ev, id: id, end: b.size})
}

// requestSize is the size of the message that request appends.
func requestSize(target []byte, ev *delivery.Event) int {
	return proto.HeaderSize + 4 + len(target) + len(ev.Tail)
}

// from notes that the entries since n are those of a source.
func (b *batch) from(s source, n int) {
	if len(b.entries) > n {
		b.parts = append(b.parts, part{source: s, from: n, to: len(b.entries)})
	}
}

// slices returns what is to be written.
func (b *batch) slices() net.Buffers {
	v, at := b.vector[:0], 0
	for _, s := range b.segments {
		if s.tail != nil {
			v = append(v, s.tail)
			continue
		}
		if s.to > at {
			v = append(v, b.buf[at:s.to])
			at = s.to
		}
	}
	if len(b.buf) > at {
		v = append(v, b.buf[at:])
	}
	b.vector = v
	return v
}

// settle tells the sources what became of their entries when n bytes were
// written.
func (b *batch) settle(n int) {
	for _, p := range b.parts {
		at := p.from
		for at < p.to && b.entries[at].end <= n {
			at++
		}
		if at > p.from {
			p.source.written(b.entries[p.from:at])
		}
		if at < p.to {
			p.source.unwritten(b.entries[at:p.to])
		}
	}
}
