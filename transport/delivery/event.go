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
	// stand at the end of an Ice request. The other byte slices lie in it.
	Tail []byte
	// Operation is the operation's name.
	Operation []byte
	// Mode is Ice's operation mode: 0 normal, 1 nonmutating, 2 idempotent.
	Mode byte
	// Context is the context in Ice's encoding: a size, then pairs of strings.
	Context []byte
	// Params is the whole parameter encapsulation, its six header bytes included.
	Params []byte
	// Cost is the context's entry "cost" as a number, 0 where absent.
	Cost int32
}

// NewEvent returns the event that an Ice tail stands for. The tail is copied
// and may be changed afterwards. An error says what the tail lacks.
func NewEvent(tail []byte) (*Event, error) {
	tail = append(make([]byte, 0, len(tail)), tail...)
	e, err := proto.ParseTail(tail)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return newEvent(tail, &e), nil
}

// EventFrom returns the event that an element of a forward stands for. Its
// bytes are copied.
func EventFrom(e *proto.Event) (*Event, error) {
	tail := e.AppendTail(make([]byte, 0, len(e.Operation)+len(e.Encaps)+len(e.Context)+16))
	parsed, err := proto.ParseTail(tail)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return newEvent(tail, &parsed), nil
}

func newEvent(tail []byte, e *proto.Event) *Event {
	ev := &Event{Tail: tail, Operation: e.Operation, Mode: e.Mode, Context: e.Context, Params: e.Encaps}
	if text, found := e.Context.Lookup("cost"); found {
		ev.Cost = topics.ParseCost(text)
	}
	return ev
}

// size is what an event counts for in a queue's bound, in bytes: its tail
// and what it costs to keep it.
func (e *Event) size() int { return len(e.Tail) + eventOverhead }

const eventOverhead = 64
