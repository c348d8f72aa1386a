package server

import (
	"context"
	"time"

	"floe/transport/ice/proto"
)

// closeGracefully ends a connection by Ice's rules: everything begun is
// finished and answered, then CloseConnection, then the client closes.
func (c *conn) closeGracefully(ctx context.Context) {
	c.tasks.Wait()
	if c.write(proto.AppendClose(nil)) != nil {
		return
	}
	c.stream.SetReadDeadline(time.Now().Add(c.config.CloseTimeout))
	for c.in.read(c.stream) == nil {
		c.fresh = false
		if c.takeLate(ctx) != nil {
			return
		}
	}
}

// takeLate goes through what the client sent before it read our
// CloseConnection. Requests that want a reply are dropped: the client repeats
// them elsewhere. Oneway ones, once sent, are repeated by no client (Ice 3.7,
// ConnectionI::finish), so those that need not wait are executed: an event
// that reached us is not lost because we stop.
func (c *conn) takeLate(ctx context.Context) error {
	for {
		h, body, err := c.in.next(c.config.MessageSizeMax)
		if err != nil || body == nil {
			return err
		}
		if err := c.late(ctx, h, body); err != nil {
			return err
		}
	}
}

func (c *conn) late(ctx context.Context, h proto.Header, body []byte) error {
	body, err := plain(h, body, c.config.MessageSizeMax)
	if err != nil {
		return err
	}
	r := &c.request.Request
	switch h.Type {
	case proto.MessageRequest:
		if err := proto.ParseRequest(body, r); err != nil {
			return err
		}
		c.dispatchLate(ctx)
	case proto.MessageBatchRequest:
		b, err := proto.ParseBatch(body)
		if err != nil {
			return err
		}
		for b.Next(r) {
			c.dispatchLate(ctx)
		}
		return b.Err()
	}
	return nil
}

func (c *conn) dispatchLate(ctx context.Context) {
	if !c.request.Oneway() {
		return
	}
	if s := c.locate(ctx); s != nil && s.Inline(&c.request) {
		c.listener.server.answer(ctx, s, &c.request, nil)
	}
}
