package native

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// DefaultOperation is the operation of events whose publisher names none.
const DefaultOperation = "message"

// Message is one event to be published.
type Message struct {
	// Operation is DefaultOperation where empty.
	Operation string
	// Context goes along; its entry "cost" is the event's cost.
	Context map[string]string
	// Data is the payload. It travels as one sequence<byte>, which in Ice's
	// encoding is one string as well.
	Data []byte
	// Text: Data is meant as a string and has to be UTF-8.
	Text bool
}

// Payload returns the encapsulation (encoding 1.1) that holds data as one
// sequence<byte>, and nothing else.
func Payload(data []byte) []byte { return AppendPayload(make([]byte, 0, len(data)+11), data) }

// AppendPayload appends what [Payload] returns.
func AppendPayload(dst, data []byte) []byte {
	dst, start := proto.BeginEncapsulation(dst, proto.Encoding11)
	return proto.EndEncapsulation(proto.AppendString(dst, data), start)
}

// Data is the reverse of [Payload]. ok is false for any other encapsulation,
// however alike.
func Data(encaps []byte) (data []byte, ok bool) {
	if proto.EncapsulationVersion(encaps) != proto.Encoding11 {
		return nil, false
	}
	d, err := proto.OpenEncapsulation(encaps)
	if err != nil {
		return nil, false
	}
	data = d.Bytes()
	ok = d.Err() == nil && d.Left() == 0 && bytes.Equal(Payload(data), encaps)
	return data, ok
}

// tail returns a message as the end of an Ice request.
func (m Message) tail() ([]byte, error) {
	if m.Text && !utf8.Valid(m.Data) {
		return nil, fmt.Errorf("the data is no UTF-8 text and can't travel as a string")
	}
	operation := m.Operation
	if operation == "" {
		operation = DefaultOperation
	}
	return proto.AppendTail(nil, operation, proto.ModeNormal, proto.NewContext(m.Context), Payload(m.Data)), nil
}

// Received is one event as a subscriber gets it.
type Received struct {
	Topic     string
	Operation string
	Cost      int32
	Context   map[string]string
	// Data is the payload where the event has the form of [Payload], else
	// the whole encapsulation.
	Data []byte
	// Encapsulation is true where Data is a whole encapsulation.
	Encapsulation bool
}

func received(topic string, ev *delivery.Event) Received {
	parts := ev.Parts()
	r := Received{Topic: topic, Operation: string(parts.Operation), Cost: ev.Cost, Context: map[string]string{}}
	for k, v := range parts.Context.All() {
		if _, twice := r.Context[string(k)]; !twice {
			r.Context[string(k)] = string(v)
		}
	}
	data, plain := Data(parts.Encaps)
	if !plain {
		data = parts.Encaps
	}
	r.Data, r.Encapsulation = data, !plain
	return r
}
