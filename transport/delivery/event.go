package delivery

import (
	"fmt"

	"floe/topics"
	"floe/transport/ice/proto"
)

// Event is one event on its way. It is built once, never changed, and shared
// by all its receivers; what is copied for each is its header only.
//
// Every face carries events in Ice's own form, so that an event from one Ice
// program reaches another byte for byte; the others translate at their edge.
type Event struct {
	// Tail is operation, mode, context and parameter encapsulation, as they
	// stand at the end of an Ice request.
	Tail []byte
	// Cost is the context's entry "cost" as a number, 0 where absent.
	Cost int32
}

// NewEvent returns the event that an Ice tail stands for. The tail is copied
// and may be changed afterwards. An error says what the tail lacks.
func NewEvent(tail []byte) (*Event, error) {
	e, err := proto.ParseTail(tail)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	ev := &Event{Tail: append([]byte(nil), tail...)}
	if text, found := e.Context.Lookup("cost"); found {
		ev.Cost = topics.ParseCost(text)
	}
	return ev, nil
}

// EventFrom returns the event that an element of a forward stands for. Its
// bytes are copied.
func EventFrom(e *proto.Event) (*Event, error) {
	return NewEvent(e.AppendTail(make([]byte, 0, len(e.Operation)+len(e.Encaps)+len(e.Context)+16)))
}

// Parts returns what the event is made of. Its slices lie in Tail.
func (e *Event) Parts() proto.Event {
	parts, err := proto.ParseTail(e.Tail)
	if err != nil {
		return proto.Event{} // never: it was parsed before
	}
	return parts
}

// size is what an event counts for in a queue's bound, in bytes: its tail
// and what it costs to keep it.
func (e *Event) size() int { return len(e.Tail) + eventOverhead }

const eventOverhead = 64
