package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"floe/transport/ice/proto"
)

// flushAt is how many bytes of replies are gathered at most.
const flushAt = 64 << 10

// message acts on one message. An error ends the connection.
func (c *conn) message(ctx context.Context, h proto.Header, body []byte) error {
	switch h.Type {
	case proto.MessageCloseConnection:
		return errClosed
	case proto.MessageRequest, proto.MessageBatchRequest:
	default: // a heartbeat, or a reply to nothing we asked
		return nil
	}
	body, err := plain(h, body, c.config.MessageSizeMax)
	if err != nil {
		return err
	}
	if h.Type == proto.MessageBatchRequest {
		return c.batch(ctx, body)
	}
	return c.single(ctx, body)
}

// plain undoes the compression of a body.
func plain(h proto.Header, body []byte, max int) ([]byte, error) {
	if !h.Compressed() {
		return body, nil
	}
	return proto.Decompress(body, max)
}

// single runs one request, here or in a goroutine.
func (c *conn) single(ctx context.Context, body []byte) error {
	r := &c.request
	if err := proto.ParseRequest(body, &r.Request); err != nil && !errors.Is(err, proto.ErrEncapsulation) {
		return err
	}
	s := c.locate(ctx)
	if s != nil && !s.Inline(r) {
		return c.spawn(ctx, s, body)
	}
	c.dispatch(ctx, s)
	if len(c.replies) > flushAt {
		return c.flush()
	}
	return nil
}

// batch runs the requests of a batch in order. One that fails does not keep
// the next from running. Once their time is over, those that have to wait fail.
func (c *conn) batch(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.BatchTimeout)
	defer cancel()
	b, err := proto.ParseBatch(body)
	if err != nil {
		return err
	}
	for b.Next(&c.request.Request) {
		c.dispatch(ctx, c.locate(ctx))
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.listener.bad.say("a batch of requests is not done in time, the rest fails", c.peer, fmt.Errorf("more than %v", c.config.BatchTimeout))
	}
	return b.Err()
}

// dispatch runs the request at hand; s nil is an object that does not exist.
func (c *conn) dispatch(ctx context.Context, s Servant) {
	c.replies = c.listener.server.answer(ctx, s, &c.request, c.replies)
}

// answer appends the reply to r, if r wants one; to is nil for an object that
// does not exist.
func (s *Server) answer(ctx context.Context, to Servant, r *Request, dst []byte) []byte {
	before := len(dst)
	switch err := s.refusal(to, r); {
	case to == nil:
		dst = proto.AppendNotExist(dst, proto.StatusObjectNotExist, &r.Request)
	case err != nil:
		dst = AppendError(dst, r, err)
	default:
		dst = to.Dispatch(ctx, r, dst)
	}
	if r.Oneway() {
		return dst[:before]
	}
	return dst
}

// refusal says why a request may not be made.
func (s *Server) refusal(to Servant, r *Request) error {
	if to == nil || s.config.Allow == nil {
		return nil
	}
	return s.config.Allow(r, to)
}

// locate finds the servant of the request at hand, nil if there is none.
// All requests read together came before one Refresh, so one will do.
func (c *conn) locate(ctx context.Context) Servant {
	id := c.request.Identity
	if s := c.kept.find(id); s != nil {
		return s
	}
	objects := c.config.Objects
	s := objects.Locate(id)
	if s == nil && !c.fresh {
		c.flush()
		if objects.Refresh(ctx, id) {
			c.fresh = true
			s = objects.Locate(id)
		}
	}
	if lasting, ok := s.(Lasting); ok {
		c.kept.add(id, lasting)
	}
	return s
}

// spawn runs a slow request in a goroutine, on a copy of its bytes. Where too
// many are running already it waits, and so does what the client sends.
func (c *conn) spawn(ctx context.Context, s Servant, body []byte) error {
	if err := c.flush(); err != nil {
		return err
	}
	if err := acquire(ctx, c.slots); err != nil {
		return err
	}
	if err := acquire(ctx, c.listener.server.slots); err != nil {
		<-c.slots
		return err
	}
	body, who := bytes.Clone(body), c.request.client
	c.tasks.Go(func() {
		defer func() { <-c.slots; <-c.listener.server.slots }()
		defer c.recoverPanic()
		r := Request{peer: c.peer, client: who}
		proto.ParseRequest(body, &r.Request) // was parsed before
		if reply := c.listener.server.answer(ctx, s, &r, nil); len(reply) > 0 {
			c.write(reply)
		}
	})
	return nil
}

func acquire(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
