package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// Call makes one twoway call and returns the answer, whatever its status:
// see [proto.Reply.Err]. params is the whole parameter encapsulation, nil for
// no parameters. Endpoints are tried in random order. A call that was surely
// not executed is made once more; an error that wraps [ErrDoubtful] says that
// it may have been. ctx bounds it all; without a deadline it is the send
// timeout.
func (c *Client) Call(ctx context.Context, p *proto.Proxy, operation string, mode byte, requestContext proto.Context, params []byte) (proto.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.SendTimeout)
	defer cancel()
	if params == nil {
		params = proto.AppendEmptyEncapsulation(nil, proto.Encoding11)
	}
	tail := proto.AppendTail(nil, operation, mode, requestContext, params)
	for attempt := 0; ; attempt++ {
		r, err := c.try(ctx, p, tail)
		if err == nil || attempt > 0 || !errors.Is(err, errNotExecuted) {
			return r, err
		}
	}
}

// errNotExecuted marks a request that was surely not executed although a
// connection was there.
var errNotExecuted = errors.New("not executed")

func (c *Client) try(ctx context.Context, p *proto.Proxy, tail []byte) (proto.Reply, error) {
	twoway := *p
	twoway.Mode = proto.Twoway
	r, err := c.route(ctx, &twoway, -1)
	if err != nil {
		return proto.Reply{}, err
	}
	conn, err := c.reach(ctx, r.addresses)
	if err != nil {
		return proto.Reply{}, err
	}
	one := &call{target: r.target, tail: tail, answer: make(chan answer, 1)}
	if !conn.attach(one) || !conn.enqueue(one, nil) {
		conn.detach(one)
		return proto.Reply{}, fmt.Errorf("%s: %w: connection is being closed", conn.address.hostPort(), errNotExecuted)
	}
	defer conn.detach(one)
	select {
	case a := <-one.answer:
		return a.reply, a.err
	case <-ctx.Done():
		one.abandon(conn)
		return proto.Reply{}, fmt.Errorf("%s: %w: %w", conn.address.hostPort(), ErrDoubtful, context.Cause(ctx))
	}
}

// call is one plain call on a connection.
type call struct {
	spot         place
	target, tail []byte
	answer       chan answer

	mu        sync.Mutex
	id        int32
	wrote     bool
	abandoned bool
}

type answer struct {
	reply proto.Reply
	err   error
}

func (c *call) place() *place { return &c.spot }

func (c *call) fill(b *batch) (more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.abandoned || c.id != 0 {
		return false
	}
	c.id = b.conn.expect(c)
	n := len(b.buf)
	b.buf = proto.AppendRequestPrefix(b.buf, c.id, c.target, len(c.tail))
	b.buf = append(b.buf, c.tail...)
	b.grew(n)
	b.entries = append(b.entries, entry{id: c.id, end: b.size})
	return false
}

func (c *call) written([]entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote = true
}

func (c *call) unwritten([]entry) {}

func (c *call) reply(r *proto.Reply, _ *delivery.Burst) {
	own := *r
	own.Encaps = append([]byte(nil), r.Encaps...)
	c.answer <- answer{reply: own}
}

func (c *call) lost(conn *conn, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := ErrDoubtful
	if !c.wrote || errors.Is(cause, errPeerClosed) {
		kind = errNotExecuted
	}
	select {
	case c.answer <- answer{err: fmt.Errorf("%s: %w: %w", conn.address.hostPort(), kind, cause)}:
	default: // answered already
	}
}

// abandon gives up waiting.
func (c *call) abandon(conn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandoned = true
	if c.id != 0 {
		conn.answered(c.id)
	}
}

const probeGrace = 2 * time.Second

// Probe reports whether what a proxy (in encoding 1.1) names can be reached:
// something at one of its endpoints answers, within two seconds more than the
// connect timeout. Datagrams reach everybody.
func (c *Client) Probe(ctx context.Context, proxy []byte) bool {
	d := proto.NewDecoder(proxy, proto.Encoding11)
	p := d.Proxy()
	if d.Err() != nil {
		return false
	}
	if p.Mode == proto.Datagram || p.Mode == proto.BatchDatagram {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.ConnectTimeout+probeGrace)
	defer cancel()
	_, err := c.Call(ctx, &p, "ice_ping", proto.ModeNonmutating, nil, nil)
	return err == nil
}
