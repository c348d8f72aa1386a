package ice

import (
	"context"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// publisher is the object that takes a topic's events: every operation, also
// ice_ping, is one.
type publisher struct{ topic Topic }

// Inline is true: publishing never waits.
func (p *publisher) Inline(*server.Request) bool { return true }

// Alive is false once the topic is destroyed.
func (p *publisher) Alive() bool { return p.topic.Alive() }

// Dispatch publishes the request as an event.
func (p *publisher) Dispatch(_ context.Context, r *server.Request, dst []byte) []byte {
	if refused := refuseEvent(r, dst); refused != nil {
		return refused
	}
	ev, err := delivery.NewEvent(r.Tail)
	if err != nil {
		return server.AppendError(dst, r, badEvent(err))
	}
	p.topic.Publish(ev, burst(r))
	return appendTaken(dst, r)
}

// privatePublisher takes events for one subscriber. They cross no link.
type privatePublisher struct {
	topic      Topic
	subscriber topics.Identity
}

// Inline is true: publishing never waits.
func (p *privatePublisher) Inline(*server.Request) bool { return true }

// Dispatch hands the request to the subscriber as an event.
func (p *privatePublisher) Dispatch(_ context.Context, r *server.Request, dst []byte) []byte {
	if refused := refuseEvent(r, dst); refused != nil {
		return refused
	}
	ev, err := delivery.NewEvent(r.Tail)
	if err != nil {
		return server.AppendError(dst, r, badEvent(err))
	}
	if !p.topic.PublishTo(p.subscriber, ev, burst(r)) {
		return proto.AppendNotExist(dst, proto.StatusObjectNotExist, &r.Request)
	}
	return appendTaken(dst, r)
}

// burst returns what the events read together from one connection share, nil
// where there is no such thing.
func burst(r *server.Request) *delivery.Burst {
	b, _ := r.Session().(*delivery.Burst)
	return b
}

// refuseEvent returns the reply to a request that is no event, nil to one that is.
func refuseEvent(r *server.Request, dst []byte) []byte {
	switch {
	case r.Facet != "":
		return proto.AppendNotExist(dst, proto.StatusFacetNotExist, &r.Request)
	case r.Tail == nil:
		return server.AppendError(dst, r, badEvent(proto.ErrEncapsulation))
	}
	return nil
}

func badEvent(err error) error {
	return &proto.UnknownError{Status: proto.StatusUnknownLocalException, Text: err.Error()}
}

// appendTaken appends the reply to an event that was taken. An encoding that
// can't be written in a reply gets an error, as from IceStorm, though its
// event is on its way.
func appendTaken(dst []byte, r *server.Request) []byte {
	if r.Oneway() {
		return dst
	}
	encoding := r.Encoding()
	if encoding != proto.Encoding10 && encoding != proto.Encoding11 {
		return server.AppendError(dst, r, &proto.UnsupportedEncodingError{Version: encoding})
	}
	return proto.AppendEmptyReply(dst, r.ID, encoding)
}
