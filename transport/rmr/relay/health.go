package relay

import (
	"context"
	"net"
	"time"

	"floe/transport/rmr/proto"
)

// Messages by which applications ask each other whether they are well
// (RIC_HEALTH_CHECK_REQ and _RESP in src/rmr/common/include/RIC_message_types.h).
const (
	typeHealth   = 100
	typeHealthOK = 101
)

// maxAnswering is how many answers may be under way to addresses that
// messages name; further ones go back on the connection at once.
const maxAnswering = 32

// answerHealth answers a health check that no route is for, as the library
// returns a message to its sender: to its source, else on its own
// connection, else to its source address.
func (c *inlet) answerHealth(m *proto.Message) {
	r := c.relay
	reply := m.Reply(typeHealthOK, []byte("OK\n"), r.source, r.source)
	frame, err := proto.Append(nil, &reply)
	if err != nil {
		return // the source is too long: the wiring checks that
	}
	r.healthChecks.Add(1)
	src, srcIP := string(m.Src), string(m.SrcIP)
	select {
	case r.answering <- struct{}{}:
	default:
		src = ""
	}
	if src == "" {
		c.answer(frame)
		return
	}
	r.spawn(func() {
		defer func() { <-r.answering }()
		if r.sendTo(src, frame) != nil && !c.answer(frame) && srcIP != "" {
			_ = r.sendTo(srcIP, frame)
		}
	})
}

// answer writes a frame on the connection itself, and returns false if that
// is closed.
func (c *inlet) answer(frame []byte) bool {
	switch c.put(frame) {
	case gone:
		return false
	case owing:
		c.flush()
	}
	return true
}

// sendTo sends one frame to an address that a message named: on the
// connection there is if it is an endpoint, else on one of its own.
func (r *Relay) sendTo(address string, frame []byte) error {
	r.mu.RLock()
	e := r.endpoints[address]
	r.mu.RUnlock()
	if e != nil && e.connected() {
		if e.put(frame) == owing {
			e.flush()
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.cfg.ConnectTimeout)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer nc.Close()
	_ = nc.SetWriteDeadline(time.Now().Add(r.cfg.ConnectTimeout))
	_, err = nc.Write(frame)
	return err
}
