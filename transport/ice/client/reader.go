package client

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// read is the reader: it hands out replies until the connection ends.
func (c *conn) read() {
	r := bufio.NewReaderSize(c.nc, 2<<10)
	var body []byte
	var burst delivery.Burst
	for {
		if r.Buffered() < proto.HeaderSize { // the next read may wait
			burst.Flush()
		}
		var err error
		if body, err = c.readMessage(r, body, &burst); err != nil {
			c.fail(err)
			return
		}
	}
}

// readMessage reads and handles one message. buf is memory to be used again.
func (c *conn) readMessage(r *bufio.Reader, buf []byte, b *delivery.Burst) ([]byte, error) {
	head, err := r.Peek(proto.HeaderSize)
	if err != nil {
		return nil, err
	}
	h, err := proto.ParseHeader(head, max(c.limit, proto.DefaultMaxSize))
	if err != nil {
		return nil, err
	}
	r.Discard(proto.HeaderSize)
	c.lastRead.Store(moment(time.Now()))
	buf, err = readBody(r, buf, h.Size-proto.HeaderSize)
	if err != nil {
		return nil, err
	}
	return buf, c.handle(h, buf, b)
}

// keepBody is the largest body whose memory is kept for the next one.
const keepBody = 16 << 10

func readBody(r io.Reader, buf []byte, n int) ([]byte, error) {
	if cap(buf) < n || cap(buf) > keepBody {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err := io.ReadFull(r, buf)
	return buf, err
}

func (c *conn) handle(h proto.Header, body []byte, b *delivery.Burst) error {
	switch h.Type {
	case proto.MessageReply:
		return c.handleReply(h, body, b)
	case proto.MessageCloseConnection:
		return errPeerClosed
	}
	return nil // a heartbeat, or a request: nothing is served here
}

func (c *conn) handleReply(h proto.Header, body []byte, b *delivery.Burst) error {
	if h.Compressed() {
		plain, err := proto.Decompress(body, proto.DefaultMaxSize)
		if err != nil {
			return err
		}
		body = plain
	}
	var r proto.Reply
	if err := proto.ParseReply(body, &r); err != nil {
		return fmt.Errorf("from %s: %w", c.address.hostPort(), err)
	}
	c.lastUse.Store(c.lastRead.Load())
	if s := c.answered(r.ID); s != nil {
		s.reply(&r, b)
	}
	return nil
}
