package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"unicode/utf8"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
	"floe/transport/native"
	rmr "floe/transport/rmr/proto"
)

// bridge is where events and RMR messages meet: events of links to messages
// leave as messages, messages for topics come as events. Its fields are set
// before the first of either.
type bridge struct {
	// send takes a message that this node makes; *relay.Relay has it.
	send func(*rmr.Message) error
	// deliver takes an event that was a message; *delivery.Hub has it.
	deliver func(topic string, ev *delivery.Event) error
	// limit is the largest event, in bytes.
	limit int

	// noTopic and tooLarge count the messages that became no event.
	noTopic, tooLarge atomic.Uint64
}

// The entries of an event's context that say what its message is, or was.
const (
	contextMType  = "mtype"
	contextSubID  = "subid"
	contextMEID   = "meid"
	contextSource = "source"
)

// leave sends an event as a message: delivery.Config.Messages.
func (b *bridge) leave(to topics.Messages, ev *delivery.Event) error {
	parts := ev.Parts()
	meid, _ := parts.Context.Lookup(contextMEID)
	switch {
	case b.send == nil:
		return &delivery.Unsent{Reason: delivery.Refused, Text: "this node sends no messages"}
	case len(meid) > rmr.MaxMEID:
		return &delivery.Unsent{Reason: delivery.BadMEID, Text: fmt.Sprintf("MEID of %d bytes: a message carries at most %d", len(meid), rmr.MaxMEID)}
	case bytes.IndexByte(meid, 0) >= 0:
		return &delivery.Unsent{Reason: delivery.BadMEID, Text: fmt.Sprintf("MEID %q: a message carries none with a zero byte", meid)}
	}
	err := b.send(&rmr.Message{Type: to.MType, SubID: to.SubID, MEID: meid, Payload: messagePayload(&parts)})
	var large *rmr.SizeError
	if errors.As(err, &large) {
		return &delivery.Unsent{Reason: delivery.TooLarge, Text: err.Error()}
	}
	return err
}

// messagePayload is what a message carries of an event. Of the operation that
// floe pub and messages themselves use it is the payload, of any other all
// parameters as Ice encodes them, without the head of their encapsulation.
func messagePayload(ev *proto.Event) []byte {
	d, err := proto.OpenEncapsulation(ev.Encaps)
	if err != nil {
		return ev.Encaps[min(len(ev.Encaps), encapsHead):] // of an encoding that only the two ends know
	}
	parameters := d
	if string(ev.Operation) == native.DefaultOperation {
		if payload := d.Bytes(); d.Err() == nil && d.Left() == 0 {
			return payload
		}
	}
	return parameters.Next(parameters.Left())
}

// encapsHead is the length of an encapsulation's size and version, in bytes.
const encapsHead = 6

// arrive publishes a message on a topic: relay.Config.Publish. Nothing of m
// is kept.
func (b *bridge) arrive(topic string, m *rmr.Message) {
	if len(m.Payload) > b.limit {
		b.tooLarge.Add(1)
		return
	}
	if b.deliver(topic, eventOf(m)) != nil {
		b.noTopic.Add(1)
	}
}

// eventOf makes an event of a message. It costs nothing, and links don't
// count for it.
func eventOf(m *rmr.Message) *delivery.Event {
	tail := make([]byte, 0, len(m.Payload)+len(m.MEID)+len(m.Src)+128)
	tail = proto.AppendString(tail, native.DefaultOperation)
	tail = append(tail, proto.ModeNormal)
	tail = proto.AppendSize(tail, 4) // the context, sorted by key
	tail = appendEntry(tail, contextMEID, validText(m.MEID))
	tail = appendEntry(tail, contextMType, strconv.AppendInt(nil, int64(m.Type), 10))
	tail = appendEntry(tail, contextSource, validText(m.Src))
	tail = appendEntry(tail, contextSubID, strconv.AppendInt(nil, int64(m.SubID), 10))
	return &delivery.Event{Tail: native.AppendPayload(tail, m.Payload)}
}

func appendEntry(dst []byte, key string, value []byte) []byte {
	return proto.AppendString(proto.AppendString(dst, key), value)
}

// validText is a field of a message as text: RMR does not say that it is any.
func validText(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}
