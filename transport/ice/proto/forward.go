package proto

// Event is one element of the sequence that TopicLink.forward carries. Its
// byte slices alias the message.
type Event struct {
	Operation []byte
	Mode      byte
	Encaps    []byte // whole parameter encapsulation; empty: no parameters
	Context   Context
}

const (
	eventMinSize = 4 // four sizes of one byte
	modeMax      = int(ModeIdempotent)
)

// EventOf returns the event that a request to a publisher stands for.
func EventOf(r *Request) Event {
	return Event{Operation: r.Operation, Mode: r.Mode, Encaps: r.Encaps, Context: r.Context}
}

// ParseTail splits the tail of a request, see Request.Tail.
func ParseTail(tail []byte) (Event, error) {
	d := Decoder{buf: tail, encoding: Encoding10}
	e := Event{Operation: d.Bytes(), Mode: d.Byte(), Context: d.Context(), Encaps: d.Encapsulation()}
	return e, d.err
}

// AppendTail appends the event in the form of Request.Tail.
func (e *Event) AppendTail(dst []byte) []byte {
	if len(e.Encaps) == 0 {
		dst = AppendTail(dst, e.Operation, e.Mode, e.Context, nil)
		return AppendEmptyEncapsulation(dst, Encoding11)
	}
	return AppendTail(dst, e.Operation, e.Mode, e.Context, e.Encaps)
}

// Event reads an event.
func (d *Decoder) Event() Event {
	e := Event{Operation: d.Bytes(), Mode: byte(d.Enum(modeMax)), Encaps: d.Bytes(), Context: d.Context()}
	if len(e.Encaps) == 0 {
		return e
	}
	inner := Decoder{buf: e.Encaps}
	inner.Encapsulation()
	if inner.err != nil || inner.Left() > 0 {
		d.fail("event whose data is not one encapsulation")
	}
	return e
}

// ForEachEvent decodes the parameters of forward and calls f for each event,
// in order. The whole sequence is checked before the first call, so that a
// broken message delivers nothing.
func ForEachEvent(encaps []byte, f func(Event)) error {
	d, err := OpenEncapsulation(encaps)
	if err != nil {
		return err
	}
	check := d
	for range check.SeqSize(eventMinSize) {
		check.Event()
	}
	if err := check.Finish(); err != nil {
		return err
	}
	for range d.SeqSize(eventMinSize) {
		f(d.Event())
	}
	return nil
}

// AppendEvent appends one event. A mode that is no enumerator is written as
// normal: the receiver would refuse the whole sequence otherwise.
func AppendEvent(dst []byte, e *Event) []byte {
	dst = AppendString(dst, e.Operation)
	dst = append(dst, wireMode(e.Mode))
	dst = AppendString(dst, e.Encaps)
	return AppendContext(dst, e.Context)
}

func wireMode(mode byte) byte {
	if int(mode) > modeMax {
		return ModeNormal
	}
	return mode
}

// EventSize returns the number of bytes AppendEvent appends for e.
func EventSize(e *Event) int {
	return sizeLen(len(e.Operation)) + len(e.Operation) + 1 +
		sizeLen(len(e.Encaps)) + len(e.Encaps) + max(1, len(e.Context))
}

func sizeLen(n int) int {
	if n < 255 {
		return 1
	}
	return 5
}

// AppendForward appends a whole Request message that calls forward on target
// (see AppendTarget) with the given events and request context. The length of
// the result is the caller's concern, see EventSize.
func AppendForward(dst []byte, id int32, target []byte, context Context, events []Event) []byte {
	start := len(dst)
	dst = AppendRequestPrefix(dst, id, target, 0)
	dst = AppendTail(dst, "forward", ModeNormal, context, nil)
	dst, encaps := BeginEncapsulation(dst, Encoding11)
	dst = AppendSize(dst, len(events))
	for i := range events {
		dst = AppendEvent(dst, &events[i])
	}
	return PatchSize(EndEncapsulation(dst, encaps), start, 0)
}
