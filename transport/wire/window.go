package wire

import (
	"net"
	"sync/atomic"
	"time"
)

// How much of an event stream may be on its way at a time, in bytes.
const (
	windowMin   = 8 << 10
	windowFirst = 32 << 10
	windowMax   = 4 << 20
)

const (
	// queueing is how much longer than on an idle path an acknowledgement may
	// take. It is well below the time-outs of raft, whose packets wait in the
	// same queues of the network.
	queueing = 50 * time.Millisecond
	// unneeded is after how long a window that was not needed shrinks.
	unneeded = time.Second
	// peek and peekMax bound the pause between two looks at what was
	// acknowledged; the kernel can't tell of it.
	peek, peekMax = 50 * time.Microsecond, 2 * time.Millisecond
)

// windowed is a TCP connection that can be told to keep the queues of the
// network short: it lets the kernel have no more unacknowledged bytes than
// come through within about the queueing time, whatever the kernel's own
// congestion control is. One goroutine may write at a time.
type windowed struct {
	*net.TCPConn
	on       atomic.Bool
	deadline atomic.Int64 // of writes, see moment; 0: none

	window window // used by the writing goroutine
}

func newWindowed(tcp *net.TCPConn, on bool) *windowed {
	w := &windowed{TCPConn: tcp}
	w.on.Store(on)
	return w
}

// SetDeadline is that of net.Conn.
func (c *windowed) SetDeadline(t time.Time) error {
	c.note(t)
	return c.TCPConn.SetDeadline(t)
}

// SetWriteDeadline is that of net.Conn.
func (c *windowed) SetWriteDeadline(t time.Time) error {
	c.note(t)
	return c.TCPConn.SetWriteDeadline(t)
}

func (c *windowed) note(t time.Time) {
	if t.IsZero() {
		c.deadline.Store(0)
		return
	}
	c.deadline.Store(max(1, moment(t))) // a deadline of old is over as well
}

// Write writes in pieces, each once there is room for it.
func (c *windowed) Write(b []byte) (int, error) {
	if !c.on.Load() {
		return c.TCPConn.Write(b)
	}
	done := 0
	for {
		room := c.await()
		n, err := c.TCPConn.Write(b[done:min(len(b), done+room)])
		c.window.sent(n, time.Now())
		if done += n; done == len(b) || err != nil {
			return done, err
		}
	}
}

// await waits until something may be written and returns how much. What ends
// the wait otherwise, a deadline or Close, the write will tell.
func (c *windowed) await() int {
	for pause := peek; ; pause = min(2*pause, peekMax) {
		waiting, err := unacknowledged(c.TCPConn)
		if err != nil {
			return windowMax
		}
		room := c.window.room(waiting, time.Now(), func() time.Duration { return idleRTT(c.TCPConn) })
		if room > 0 {
			return room
		}
		if d := c.deadline.Load(); d != 0 && moment(time.Now()) > d {
			return windowMax
		}
		time.Sleep(pause)
	}
}

// window decides how many bytes may be unacknowledged. It times one
// acknowledgement after the other, as those of raft's packets, which wait in
// the same queue, would be. It knows no clock and no socket.
type window struct {
	size  int   // bytes
	total int64 // bytes ever written

	probe   int64 // an acknowledgement of so many bytes is waited for; 0: of none
	since   time.Time
	limited bool      // there was no room since then
	slow    bool      // it has already taken too long
	full    time.Time // when there was last no room
}

// sent notes n written bytes.
func (w *window) sent(n int, now time.Time) {
	w.total += int64(n)
	w.watch(now)
}

// watch starts to wait for the acknowledgement of what was written so far,
// unless one is waited for.
func (w *window) watch(now time.Time) {
	if w.probe == 0 {
		w.probe, w.since, w.limited, w.slow = w.total, now, false, false
	}
}

// room returns how many bytes may be written while so many are not
// acknowledged. idle returns the round trip time without queues.
func (w *window) room(waiting int, now time.Time, idle func() time.Duration) int {
	if w.size == 0 {
		w.size, w.full = windowFirst, now
	}
	w.judge(w.total-int64(waiting), now, idle)
	if now.Sub(w.full) > unneeded {
		w.size, w.full = max(min(w.size, windowFirst), w.size/2), now
	}
	if w.size == windowMax { // the kernel's buffers are the limit
		return windowMax
	}
	if waiting > w.size*3/4 { // not a byte at a time: many tiny packets are worse than a few
		w.watch(now)
		w.limited, w.full = true, now
		return 0
	}
	return w.size - waiting
}

// judge grows a window that was too small while acknowledgements come
// quickly, and halves it each time that one takes too long.
func (w *window) judge(acked int64, now time.Time, idle func() time.Duration) {
	if w.probe == 0 {
		return
	}
	queued := now.Sub(w.since)
	if queued > queueing/2 {
		queued -= idle()
	}
	switch {
	case acked < w.probe && queued > queueing:
		w.size, w.since, w.slow = max(w.size/2, windowMin), now, true
	case acked >= w.probe:
		if w.limited && !w.slow && queued < queueing/2 {
			w.size = min(w.size+w.size/4, windowMax)
		}
		w.probe = 0
	}
}
