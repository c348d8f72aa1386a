package client

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"floe/transport/ice/proto"
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

// write is the writer: it gathers and writes until the connection is no
// longer open.
func (c *conn) write() {
	for c.stateNow() == connOpen {
		if c.takeBeat() {
			c.writeBeat()
		}
		s := c.next()
		if s != nil {
			c.turn(s)
			continue
		}
		select {
		case <-c.wake:
		case <-c.client.ctx.Done():
			return
		}
	}
}

// turn gathers from all that are ready, s first, and writes once.
func (c *conn) turn(s source) {
	c.writing.Store(true)
	defer c.writing.Store(false)
	b := newBatch(c, c.limit)
	defer b.release()
	for ; s != nil; s = c.next() {
		n := len(b.entries)
		more := s.fill(b)
		b.from(s, n)
		if more {
			c.enqueue(s)
		}
		if b.full() {
			break
		}
	}
	if b.size > 0 {
		c.flush(b)
	}
}

// flush writes a batch and tells the sources what became of it.
func (c *conn) flush(b *batch) {
	var n int
	var err error
	if c.address.datagram() {
		n, err = c.sendDatagrams(b)
	} else {
		n, err = c.writeAll(b.slices())
	}
	now := time.Now().UnixNano()
	c.lastWrite.Store(now)
	c.lastUse.Store(now)
	b.settle(n)
	if err != nil {
		c.fail(err)
	}
}

// writeAll writes everything, as long as the peer takes something within the
// send timeout.
func (c *conn) writeAll(v net.Buffers) (n int, err error) {
	for len(v) > 0 {
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
	if _, err := c.writeAll(net.Buffers{proto.AppendValidate(nil)}); err != nil {
		c.fail(err)
	}
	c.lastWrite.Store(time.Now().UnixNano())
}

// farewellTime is how long we wait for the peer to close.
const farewellTime = 2 * time.Second

// farewell closes gracefully: CloseConnection, then the peer closes.
func (c *conn) farewell(reader *sync.WaitGroup) {
	if c.address.datagram() {
		return
	}
	c.nc.SetDeadline(time.Now().Add(farewellTime))
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
