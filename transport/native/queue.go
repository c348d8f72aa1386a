package native

import (
	"context"
	"sync"

	"floe/topics"
	"floe/transport/delivery"
)

// Limits of one queue; when either is reached, the oldest event goes.
const (
	DefaultQueueEvents = 10_000
	DefaultQueueBytes  = 16 << 20
)

// maxGap bounds the text about gaps that waits, in bytes.
const maxGap = 1024

// item is one event of one topic.
type item struct {
	topic topics.ID
	event *delivery.Event
}

func (i item) size() int { return len(i.event.Tail) + 64 }

// queue is a bounded queue of events. Putting never blocks: what does not
// fit pushes the oldest out, which is counted.
type queue struct {
	mu         sync.Mutex
	items      []item // from head on
	head       int
	bytes      int
	maxEvents  int
	maxBytes   int
	missed     uint64 // since the last take
	gap        string
	wake       chan struct{}
	everMissed *counter
	closed     bool // nothing goes in any more
}

func newQueue(events, bytes int, missed *counter) *queue {
	if events <= 0 {
		events = DefaultQueueEvents
	}
	if bytes <= 0 {
		bytes = DefaultQueueBytes
	}
	return &queue{maxEvents: events, maxBytes: bytes, wake: make(chan struct{}, 1), everMissed: missed}
}

// put adds an event. One that comes after close counts as missed: whoever
// looked up the subscriber just before does not know yet.
func (q *queue) put(i item) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		q.everMissed.add(1)
		return
	}
	q.items = append(q.items, i)
	q.bytes += i.size()
	for len(q.items)-q.head > q.maxEvents || q.bytes > q.maxBytes {
		q.drop()
	}
	q.mu.Unlock()
	q.signal()
}

// close ends the queue; what waits in it counts as missed.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.everMissed.add(uint64(len(q.items) - q.head))
	q.items, q.head, q.bytes = nil, 0, 0
}

// drop forgets the oldest event. The slice moves down once half of it is
// behind the head.
func (q *queue) drop() {
	q.bytes -= q.items[q.head].size()
	q.items[q.head] = item{}
	q.head++
	q.missed++
	q.everMissed.add(1)
	q.shrink()
}

func (q *queue) shrink() {
	if q.head > 64 && q.head > len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
}

// note counts events that were missed elsewhere, or says why some may be.
func (q *queue) note(missed uint64, gap string) {
	q.mu.Lock()
	q.missed += missed
	if gap != "" && q.gap != "" && len(q.gap) < maxGap {
		gap = q.gap + "; " + gap
	}
	if gap != "" {
		q.gap = gap
	}
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// batch is what is to be told at once.
type batch struct {
	items  []item
	missed uint64
	gap    string
}

func (b batch) empty() bool { return len(b.items) == 0 && b.missed == 0 && b.gap == "" }

// take returns up to most events and what was missed before them.
func (q *queue) take(most int) batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(most, len(q.items)-q.head)
	b := batch{missed: q.missed, gap: q.gap}
	b.items = append(b.items, q.items[q.head:q.head+n]...)
	for _, i := range b.items {
		q.bytes -= i.size()
	}
	clear(q.items[q.head : q.head+n])
	q.head += n
	q.missed, q.gap = 0, ""
	q.shrink()
	return b
}

// wait is take, once there is something to take.
func (q *queue) wait(ctx context.Context, most int) (batch, error) {
	for {
		if b := q.take(most); !b.empty() {
			return b, nil
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return batch{}, ctx.Err()
		}
	}
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) - q.head
}
