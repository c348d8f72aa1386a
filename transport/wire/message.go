package wire

import (
	"encoding/binary"
	"fmt"
	"time"
)

// messageType is an RPC frame's first byte.
type messageType byte

const (
	msgRequest messageType = 1 // id, milliseconds left, method, body
	msgReply   messageType = 2 // id, body
	msgFailure messageType = 3 // id, code, text: the handler's error
	msgRefusal messageType = 4 // id, text: no handler saw the request
	msgCancel  messageType = 5 // id: nobody waits for the reply any more
	msgGoAway  messageType = 6 // id 0: send no more requests, replies still come
)

const messageHead = 1 + 8

// message is one decoded RPC frame.
type message struct {
	typ     messageType
	id      uint64
	timeout uint32 // request: milliseconds; 0: none
	name    string // request: method; failure: code
	body    []byte // request, reply: body; failure, refusal: text
}

// head appends everything but the body.
func (m message) head(b []byte) []byte {
	b = append(b, byte(m.typ))
	b = binary.BigEndian.AppendUint64(b, m.id)
	switch m.typ {
	case msgRequest:
		b = binary.BigEndian.AppendUint32(b, m.timeout)
		b = appendName(b, m.name)
	case msgFailure:
		b = appendName(b, m.name)
	}
	return b
}

func appendName(b []byte, name string) []byte {
	name = clip(name, codeMax)
	b = append(b, byte(len(name)))
	return append(b, name...)
}

// parseMessage decodes a frame; the body is part of b.
func parseMessage(b []byte) (message, error) {
	if len(b) < messageHead {
		return message{}, fmt.Errorf("%w: rpc frame of %d bytes", errBadFrame, len(b))
	}
	m := message{typ: messageType(b[0]), id: binary.BigEndian.Uint64(b[1:])}
	rest := b[messageHead:]
	var err error
	switch m.typ {
	case msgRequest:
		if len(rest) < 4 {
			return message{}, fmt.Errorf("%w: rpc request ends in its timeout", errBadFrame)
		}
		m.timeout = binary.BigEndian.Uint32(rest)
		m.name, rest, err = cutName(rest[4:])
	case msgFailure:
		m.name, rest, err = cutName(rest)
	case msgReply, msgRefusal:
	case msgCancel, msgGoAway:
		if len(rest) > 0 {
			return message{}, fmt.Errorf("%w: rpc frame of type %d with a body", errBadFrame, b[0])
		}
	default:
		return message{}, fmt.Errorf("%w: rpc frame of type %d", errBadFrame, b[0])
	}
	m.body = rest
	return m, err
}

func cutName(b []byte) (name string, rest []byte, err error) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return "", nil, fmt.Errorf("%w: ends in a name", errBadFrame)
	}
	n := 1 + int(b[0])
	return string(b[1:n]), b[n:], nil
}

// millis is d as a request carries it: at least one, as zero means none.
func millis(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 1), 1<<32-1))
}
