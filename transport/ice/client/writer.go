package client

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"floe/transport/ice/proto"
	"floe/transport/socket"
)

// run works the connection until it ends.
func (c *conn) run() {
	var reader sync.WaitGroup
	if !c.address.datagram() {
		reader.Go(c.read)
	}
	c.write()
	if c.stateNow() == connClosing {
		c.farewell(&reader)
	}
	c.nc.Close()
	reader.Wait()
	c.end()
}

// write works until the connection is no longer open.
func (c *conn) write() {
	defer c.forsake()
	for c.stateNow() == connOpen {
		c.work()
		select {
		case <-c.wake:
		case <-c.client.ctx.Done():
			return
		}
	}
}

// work gathers and writes until nothing is ready.
func (c *conn) work() {
	c.role.Lock()
	defer c.role.Unlock()
	if b := c.carry; b != nil {
		c.carry = nil
		c.flush(b, c.sent)
	}
	if c.takeBeat() {
		c.writeBeat()
	}
	for s := c.next(); s != nil; s = c.next() {
		if b := c.gather(s); b.size > 0 {
			c.flush(b, 0)
		} else {
			b.release()
		}
	}
}

// flushTurns is how often a flush writes before it leaves what is ready, and
// what comes meanwhile, to the connection's own goroutine.
const flushTurns = 4

// Flush implements [delivery.Flusher].
func (c *conn) Flush() {
	if c.direct == nil || !c.role.TryLock() {
		c.signal()
		return
	}
	defer c.role.Unlock()
	for range flushTurns {
		if c.carry != nil {
			break
		}
		s := c.next()
		if s == nil {
			return
		}
		c.push(c.gather(s))
	}
	c.signal()
}

// push writes what the peer takes at once; the rest is carried.
func (c *conn) push(b *batch) {
	n, err := c.direct.Push(b.slices())
	if err == nil && n < b.size {
		c.carry, c.sent = b, n
		return
	}
	c.done(b, n, err)
}

// forsake settles what is carried when the connection ends.
func (c *conn) forsake() {
	c.role.Lock()
	defer c.role.Unlock()
	if b := c.carry; b != nil {
		c.carry = nil
		b.settle(c.sent)
		b.release()
	}
}

// gather makes a batch of what all that are ready have, s first.
func (c *conn) gather(s source) *batch {
	b := newBatch(c, c.limit)
	for ; s != nil; s = c.next() {
		n := len(b.entries)
		more := s.fill(b)
		b.from(s, n)
		if more {
			c.enqueue(s, nil)
		}
		if b.full() {
			break
		}
	}
	return b
}

// flush writes a batch, of which the first bytes are sent already.
func (c *conn) flush(b *batch, sent int) {
	var n int
	var err error
	if c.address.datagram() {
		n, err = c.sendDatagrams(b)
	} else {
		n, err = c.writeAll(b.slices(), sent)
	}
	c.done(b, sent+n, err)
}

// done tells the sources what became of a batch of which n bytes are sent.
func (c *conn) done(b *batch, n int, err error) {
	now := moment(time.Now())
	c.lastWrite.Store(now)
	c.lastUse.Store(now)
	b.settle(n)
	b.release()
	if err != nil {
		c.fail(err)
	}
}

// writeAll writes everything after the first skip bytes, as long as the peer
// takes something within the send timeout.
func (c *conn) writeAll(v net.Buffers, skip int) (n int, err error) {
	defer c.nc.SetWriteDeadline(time.Time{})
	for v = socket.Rest(v, skip); len(v) > 0; {
		c.nc.SetWriteDeadline(time.Now().Add(c.client.config.SendTimeout))
		var wrote int64
		wrote, err = c.writeOnce(&v)
		n += int(wrote)
		if err != nil && !(errors.Is(err, os.ErrDeadlineExceeded) && wrote > 0) {
			return n, err
		}
	}
	return n, nil
}

func (c *conn) writeOnce(v *net.Buffers) (int64, error) {
	if len(*v) > 1 {
		return v.WriteTo(c.nc)
	}
	n, err := c.nc.Write((*v)[0])
	if (*v)[0] = (*v)[0][n:]; len((*v)[0]) == 0 {
		*v = (*v)[1:]
	}
	return int64(n), err
}

func (c *conn) writeBeat() {
	if _, err := c.writeAll(net.Buffers{proto.AppendValidate(nil)}, 0); err != nil {
		c.fail(err)
	}
	c.lastWrite.Store(moment(time.Now()))
}

// FarewellTime is how long a connection that we close waits for the peer to close it.
const FarewellTime = 2 * time.Second

// farewell closes gracefully: CloseConnection, then the peer closes.
func (c *conn) farewell(reader *sync.WaitGroup) {
	if c.address.datagram() {
		return
	}
	c.nc.SetDeadline(time.Now().Add(FarewellTime))
	if _, err := c.nc.Write(proto.AppendClose(nil)); err == nil {
		reader.Wait()
	}
}

// sendDatagrams sends each message by itself. What the network makes of it
// is nobody's business: an error is not the receiver's.
func (c *conn) sendDatagrams(b *batch) (int, error) {
	whole := b.whole()
	from := 0
	for _, e := range b.entries {
		if e.end == from {
			continue // in the same message as the one before
		}
		if _, err := c.nc.Write(whole[from:e.end]); errors.Is(err, net.ErrClosed) {
			return from, err
		}
		from = e.end
	}
	return b.size, nil
}

// whole returns the batch as one slice.
func (b *batch) whole() []byte {
	if len(b.segments) == 0 {
		return b.buf
	}
	whole := make([]byte, 0, b.size)
	for _, s := range b.slices() {
		whole = append(whole, s...)
	}
	return whole
}
