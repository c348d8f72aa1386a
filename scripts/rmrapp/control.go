package rmrapp

import (
	"context"
	"errors"
	"time"

	"floe/transport/rmr/proto"
)

// ask sends requests until the first table message, of whatever content, is there.
func (r *incarnation) ask() {
	tick := time.NewTicker(r.app.cfg.Every)
	defer tick.Stop()
	for {
		r.request()
		select {
		case <-tick.C:
		case <-r.told:
			return
		case <-r.life.Done():
			return
		}
	}
}

func (r *incarnation) request() {
	if r.app.life.pass(r.life) != nil {
		return
	}
	c, err := r.control.to(r.life, r.app.cfg.RouteManager)
	if err != nil {
		return // the next one may do
	}
	payload := proto.TableRequest{Name: string(r.data.src), Time: time.Now().Unix()}.Append(nil)
	r.app.count(func(s *Stats) { s.Asked++ }) // before the answer may be there
	_ = c.send(r.life, &proto.Message{Type: proto.TypeRequest, Payload: payload}, 0)
}

// onControl deals with a message to the control port, one at a time, as the
// library's one thread for them does.
func (r *incarnation) onControl(ctx context.Context, c *conn, m *proto.Message) {
	if len(m.Payload) == 0 {
		return // nor does the library look at it
	}
	if !m.IsCall() && m.CallID() != 0 {
		c.fault(Unread, "message of type %d with call id %d and without the call flag", m.Type, m.CallID())
		return
	}
	r.ctl.Lock()
	defer r.ctl.Unlock()
	if m.Type != proto.TypeTable {
		c.fault(Jam, "message of type %d to the control port, %d bytes of payload", m.Type, len(m.Payload))
		return
	}
	r.tellOnce.Do(func() { close(r.told) })
	r.tableMessage(ctx, c, m)
}

// Answer is how an App answers tables.
type Answer int32

const (
	// Honest: as the library does.
	Honest Answer = iota
	// Refusing: no table is applied, as if records had got lost.
	Refusing
	// Silent: tables are applied and never acknowledged.
	Silent
)

// SetAnswer changes how tables are answered from the next one on.
func (a *App) SetAnswer(how Answer) { a.answer.Store(int32(how)) }

var errNoWay = errors.New("no source, and the transaction was consumed by the first acknowledgement")

// acknowledge sends the answer to a table that came in m, which is the nth
// of its message, from 1.
func (r *incarnation) acknowledge(ctx context.Context, c *conn, m *proto.Message, answer string, nth int) error {
	ack := m.Reply(proto.TypeAck, []byte(answer), nil, nil)
	ack.SubID = proto.NoSubID
	if nth == 1 {
		return r.control.reply(ctx, c, string(m.Src), ack)
	}
	// The first one took the received message with it.
	ack.XID, ack.MEID, ack.Trace, ack.Data1 = [32]byte{}, nil, nil, nil
	for _, to := range []string{string(m.Src), string(m.SrcIP)} {
		if other, err := r.control.named(ctx, to); err == nil {
			return other.send(ctx, &ack, 0)
		}
	}
	return errNoWay
}

// reply returns a message to the endpoint that src names; if it names none
// that can be reached, on the connection that the request came on.
func (p *port) reply(ctx context.Context, c *conn, src string, m proto.Message) error {
	if to, err := p.named(ctx, src); err == nil {
		c = to
	}
	return c.send(ctx, &m, 0) // the library does not try again here
}

var errUnnamed = errors.New("no source")

func (p *port) named(ctx context.Context, endpoint string) (*conn, error) {
	if endpoint == "" {
		return nil, errUnnamed
	}
	return p.to(ctx, endpoint)
}
