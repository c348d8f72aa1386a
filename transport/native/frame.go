package native

import (
	"encoding/binary"
	"errors"
	"fmt"

	"floe/topics"
)

// A frame of an event stream begins with its type. Numbers are big-endian.
const (
	frameInterest byte = 'I' // to the sender: sequence u64, then topic ids u64 each
	frameAck      byte = 'A' // to the subscriber's node: sequence u64 of the interest in force
	frameEvent    byte = 'E' // topic id u64, tail
	frameRepeat   byte = 'R' // topic id u64: the last tail again, for another topic
	frameMissed   byte = 'M' // count u64 of events that were dropped
)

var errFrame = errors.New("not a frame of the native event exchange")

// frame is one decoded frame.
type frame struct {
	kind   byte
	number uint64 // sequence, topic id or count
	ids    []topics.ID
	tail   []byte // part of the input
}

// parseFrame decodes a frame. ids take no more memory than the frame.
func parseFrame(b []byte) (frame, error) {
	if len(b) < 9 {
		return frame{}, fmt.Errorf("%w: %d bytes", errFrame, len(b))
	}
	f := frame{kind: b[0], number: binary.BigEndian.Uint64(b[1:])}
	rest := b[9:]
	switch f.kind {
	case frameInterest:
		if len(rest)%8 != 0 {
			return frame{}, fmt.Errorf("%w: topic ids of %d bytes", errFrame, len(rest))
		}
		f.ids = make([]topics.ID, len(rest)/8)
		for i := range f.ids {
			f.ids[i] = topics.ID(binary.BigEndian.Uint64(rest[8*i:]))
		}
		return f, nil
	case frameEvent:
		f.tail = rest
		return f, nil
	case frameAck, frameRepeat, frameMissed:
		if len(rest) > 0 {
			return frame{}, fmt.Errorf("%w: type %q with a body", errFrame, f.kind)
		}
		return f, nil
	}
	return frame{}, fmt.Errorf("%w: type %q", errFrame, f.kind)
}

// frameHead returns the first nine bytes of a frame.
func frameHead(kind byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind}, number)
}

func interestFrame(seq uint64, ids []topics.ID) []byte {
	b := frameHead(frameInterest, seq)
	for _, id := range ids {
		b = binary.BigEndian.AppendUint64(b, uint64(id))
	}
	return b
}
