package wire

import "fmt"

// streamType is the first byte of a frame on an events connection.
type streamType byte

const (
	streamOpen    streamType = 1 // name, hello; first frame of the dialler only
	streamData    streamType = 2 // bytes
	streamPing    streamType = 3 // nothing: the sender lives
	streamEnd     streamType = 4 // nothing: no more data comes
	streamFailure streamType = 5 // code, text: no more data comes, because
)

// streamFrame is one decoded frame.
type streamFrame struct {
	typ  streamType
	name string // open: name; failure: code
	body []byte // open: hello; data: bytes; failure: text
}

// head appends everything but the body.
func (f streamFrame) head(b []byte) []byte {
	b = append(b, byte(f.typ))
	if f.typ == streamOpen || f.typ == streamFailure {
		b = appendName(b, f.name)
	}
	return b
}

// parseStreamFrame decodes a frame; the body is part of b.
func parseStreamFrame(b []byte) (streamFrame, error) {
	if len(b) == 0 {
		return streamFrame{}, fmt.Errorf("%w: empty stream frame", errBadFrame)
	}
	f := streamFrame{typ: streamType(b[0]), body: b[1:]}
	var err error
	switch f.typ {
	case streamData:
	case streamOpen, streamFailure:
		f.name, f.body, err = cutName(f.body)
	case streamPing, streamEnd:
		if len(f.body) > 0 {
			return streamFrame{}, fmt.Errorf("%w: stream frame of type %d with a body", errBadFrame, b[0])
		}
	default:
		return streamFrame{}, fmt.Errorf("%w: stream frame of type %d", errBadFrame, b[0])
	}
	return f, err
}
