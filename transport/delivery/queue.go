package delivery

// Policy says what happens to a receiver whose queue is full.
type Policy int

const (
	// DropOldest drops the oldest events to make room for the newest.
	DropOldest Policy = iota
	// RemoveSubscriber removes the receiver: a hard failure.
	RemoveSubscriber
)

// Limits bound one receiver's queue.
type Limits struct {
	// Events is the most events that wait.
	Events int
	// Bytes is the most bytes of events that wait; each event counts 64
	// more than its tail.
	Bytes int
	// Policy says what happens at the bound.
	Policy Policy
}

// Counts are a receiver's events since it was opened. At every moment
// Offered = Delivered + the sum of Dropped + Queued.
type Counts struct {
	Offered   uint64
	Delivered uint64
	Dropped   [reasons]uint64
	// Queued counts the events that wait and those under way.
	Queued uint64
}

// Lost returns the sum of Dropped.
func (c Counts) Lost() uint64 {
	sum := uint64(0)
	for _, n := range c.Dropped {
		sum += n
	}
	return sum
}

// add adds the counts of another receiver.
func (c *Counts) add(o Counts) {
	c.Offered += o.Offered
	c.Delivered += o.Delivered
	c.Queued += o.Queued
	for i, n := range o.Dropped {
		c.Dropped[i] += n
	}
}

// Queue holds the events of one receiver: those that wait, and the number of
// those under way (taken and not yet delivered, lost or returned). The bounds
// are on what waits; what is under way the taker bounds. It keeps no lock.
type Queue struct {
	limits Limits
	wait   ring
	bytes  int
	counts Counts
}

// NewQueue returns an empty queue.
func NewQueue(l Limits) *Queue { return &Queue{limits: l} }

// Offer adds an event that came at the given time (nanoseconds, any clock).
// It reports false where the policy is RemoveSubscriber and the queue is
// full; the event is dropped then.
func (q *Queue) Offer(ev *Event, at int64) bool {
	q.counts.Offered++
	q.counts.Queued++
	if q.limits.Policy == RemoveSubscriber && q.full(ev) {
		q.drop(1, QueueFull)
		return false
	}
	q.wait.pushBack(slot{ev, at})
	q.bytes += ev.size()
	q.trim()
	return true
}

// full tells whether one more event would pass a bound.
func (q *Queue) full(ev *Event) bool {
	return q.wait.len() >= q.limits.Events || q.bytes+ev.size() > q.limits.Bytes
}

// trim drops the oldest events until the bounds are kept.
func (q *Queue) trim() {
	for q.wait.len() > q.limits.Events || q.bytes > q.limits.Bytes {
		q.pop()
		q.drop(1, QueueFull)
	}
}

func (q *Queue) pop() *Event {
	ev := q.wait.popFront().ev
	q.bytes -= ev.size()
	return ev
}

// pass adds an event that is under way at once.
func (q *Queue) pass() {
	q.counts.Offered++
	q.counts.Queued++
}

// drop counts n events that left the queue, or what is under way.
func (q *Queue) drop(n int, reason Reason) {
	q.counts.Queued -= uint64(n)
	q.counts.Dropped[reason] += uint64(n)
}

// Take moves the oldest events to dst until there are none, or maxEvents of
// them, or one more would pass maxBytes of tails; the first one is taken
// whatever its size. They are under way then.
func (q *Queue) Take(dst []*Event, maxEvents, maxBytes int) []*Event {
	for taken := 0; q.wait.len() > 0 && taken < maxEvents; taken++ {
		size := len(q.wait.front().ev.Tail)
		if taken > 0 && size > maxBytes {
			break
		}
		maxBytes -= size
		dst = append(dst, q.pop())
	}
	return dst
}

// Done counts n events under way as delivered.
func (q *Queue) Done(n int) {
	q.counts.Queued -= uint64(n)
	q.counts.Delivered += uint64(n)
}

// Lose counts n events under way as dropped.
func (q *Queue) Lose(n int, reason Reason) { q.drop(n, reason) }

// Return puts events under way back, in the order they were taken, before
// all that wait.
func (q *Queue) Return(events []*Event, at int64) {
	for i := len(events) - 1; i >= 0; i-- {
		q.wait.pushFront(slot{events[i], at})
		q.bytes += events[i].size()
	}
	q.trim()
}

// Clear drops all that wait.
func (q *Queue) Clear(reason Reason) {
	q.drop(q.wait.len(), reason)
	q.wait, q.bytes = ring{}, 0
}

// Waiting returns the number of events that wait.
func (q *Queue) Waiting() int { return q.wait.len() }

// Bytes returns what the waiting events count for.
func (q *Queue) Bytes() int { return q.bytes }

// Oldest returns when the oldest waiting event came, false where none waits.
func (q *Queue) Oldest() (at int64, found bool) {
	if q.wait.len() == 0 {
		return 0, false
	}
	return q.wait.front().at, true
}

// Counts returns the counters.
func (q *Queue) Counts() Counts { return q.counts }

// urgeBytes is how much is held back at most to be sent together: more than
// that saves nothing, and only keeps memory busy.
const urgeBytes = 256 << 10

// pressed tells whether what is held back should be sent now: the queue is
// half full, or holds a lot.
func (q *Queue) pressed() bool {
	return 2*q.wait.len() >= q.limits.Events || q.bytes >= min(urgeBytes, q.limits.Bytes/2)
}
