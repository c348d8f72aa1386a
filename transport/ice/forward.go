package ice

import (
	"context"

	"floe/transport/delivery"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// linkObject takes the events that links of other servers lead here.
type linkObject struct {
	face  *Face
	topic Topic
}

// linkType is TopicLink. forward runs inline, so that the batches of one
// connection are delivered in order.
var linkType = &server.Interface[*linkObject]{
	IDs: []string{"::Ice::Object", "::IceStorm::TopicLink"},
	ID:  "::IceStorm::TopicLink",
	Operations: map[string]server.Operation[*linkObject]{
		"forward": {Mode: proto.ModeNormal, Inline: true, Do: (*linkObject).forward},
	},
}

// forward delivers the events to the topic's own subscribers. Nothing is
// delivered of a sequence that is broken anywhere.
func (l *linkObject) forward(_ context.Context, c *server.Call) error {
	var failed error
	decided, wanted := false, false
	err := proto.ForEachEvent(c.Encaps, func(e proto.Event) {
		if !decided {
			decided, wanted = true, l.first(c)
		}
		if wanted && failed == nil {
			failed = l.deliver(&e, burst(c.Request))
		}
	})
	if err != nil {
		return err
	}
	return failed
}

func (l *linkObject) deliver(e *proto.Event, b *delivery.Burst) error {
	ev, err := delivery.EventFrom(e)
	if err != nil {
		return badEvent(err)
	}
	l.topic.Deliver(ev, b)
	return nil
}

// first is false for what was delivered before: another floe cluster repeats
// a forward whose answer it did not hear.
func (l *linkObject) first(c *server.Call) bool {
	d := l.face.config.Dedupe
	return d == nil || !d.Repeated(c.Context)
}
