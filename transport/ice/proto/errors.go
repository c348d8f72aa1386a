package proto

import (
	"errors"
	"fmt"
)

var (
	// ErrProtocol is wrapped by errors after which the connection has to be
	// closed abruptly, without reply or CloseConnection.
	ErrProtocol = errors.New("ice protocol error")

	// ErrEncapsulation is wrapped by ParseRequest when everything before the
	// parameter encapsulation is fine, but the encapsulation doesn't fit in
	// the message. The request can be answered, the connection goes on.
	ErrEncapsulation = errors.New("parameter encapsulation does not fit in the message")

	// ErrTooLarge is wrapped, beside ErrProtocol, where a message passes the
	// size limit, compressed or not.
	ErrTooLarge = errors.New("message larger than the limit")
)

// DecodeError says what was wrong in encoded data, and where.
type DecodeError struct {
	Offset int    // byte offset from the start of the decoded slice
	Reason string // what was wrong there
}

// Error returns the reason and the offset.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

// UnsupportedEncodingError reports an encapsulation of an encoding version
// other than 1.0 and 1.1 where its contents have to be understood.
type UnsupportedEncodingError struct {
	Version Version // the version met
}

// Error words it as Ice does.
func (e *UnsupportedEncodingError) Error() string {
	return fmt.Sprintf("unsupported encoding version %v: can only support encodings compatible with version 1.1", e.Version)
}

func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrProtocol, fmt.Errorf(format, args...))
}
