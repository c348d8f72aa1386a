package server

import (
	"time"

	"floe/transport/ice/proto"
)

// keepReplies is the most memory kept for gathering replies, in bytes.
const keepReplies = 16 << 10

// flush flushes the session and writes the replies gathered.
func (c *conn) flush() error {
	if s := c.request.session; s != nil {
		s.Flush()
	}
	if len(c.replies) == 0 {
		return nil
	}
	err := c.write(c.replies)
	c.replies = c.replies[:0]
	if cap(c.replies) > keepReplies {
		c.replies = nil
	}
	return err
}

// write writes whole messages. A client that takes nothing for WriteTimeout
// loses its connection.
func (c *conn) write(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeLocked(b)
}

func (c *conn) writeLocked(b []byte) error {
	c.stream.SetWriteDeadline(time.Now().Add(c.config.WriteTimeout))
	_, err := c.stream.Write(b)
	c.wrote.Store(moment(time.Now()))
	if err != nil {
		c.socket.Close()
	}
	return err
}

// silent tells whether a heartbeat is due.
func (c *conn) silent(now time.Time) bool {
	return c.ready.Load() && !c.closing.Load() && moment(now)-c.wrote.Load() >= int64(c.config.Heartbeat)
}

// heartbeat sends ValidateConnection, unless a write is under way: that is
// sign of life enough.
func (c *conn) heartbeat() {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	c.writeLocked(proto.AppendValidate(nil))
}
