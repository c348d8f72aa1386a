package proto

import (
	"errors"
	"fmt"
)

// ErrFrame is wrapped by every error about bytes that are no frame.
var ErrFrame = errors.New("no RMR frame")

// LengthError says that a frame's length is below [MinFrame] or above the
// limit. It wraps [ErrFrame].
type LengthError struct {
	// Native is the length in bytes 0 to 3, Network that in bytes 4 to 7,
	// in bytes; Network counts only with Marked, a '$' behind it.
	Native, Network uint32
	Marked          bool
	// Limit is the longest frame that is taken, in bytes.
	Limit int
}

// Error gives the length that counts.
func (e *LengthError) Error() string {
	return fmt.Sprintf("no RMR frame: length %d is not from %d to %d", e.Native, MinFrame, e.Limit)
}

// Unwrap returns [ErrFrame].
func (e *LengthError) Unwrap() error { return ErrFrame }

// HeaderError says that a length in a message header does not fit the frame.
// It wraps [ErrFrame].
type HeaderError struct {
	// Field is "frame", "header", "parts" (header, trace, data 1 and data 2)
	// or "payload".
	Field string
	// Value is its length, Low and High what would fit, in bytes.
	Value, Low, High int64
}

// Error names the field.
func (e *HeaderError) Error() string {
	return fmt.Sprintf("no RMR frame: %s of %d bytes, not %d to %d", e.Field, e.Value, e.Low, e.High)
}

// Unwrap returns [ErrFrame].
func (e *HeaderError) Unwrap() error { return ErrFrame }

// TextError says that a message can't carry a text.
type TextError struct {
	// Field is "source", "source address" or "MEID"; Text what it was to
	// hold; Max how many bytes it can.
	Field string
	Text  []byte
	Max   int
}

// Error says what is wrong with the text.
func (e *TextError) Error() string {
	if len(e.Text) > e.Max {
		return fmt.Sprintf("%s of %d bytes: a message carries at most %d", e.Field, len(e.Text), e.Max)
	}
	return fmt.Sprintf("%s %q has a NUL in it", e.Field, e.Text)
}

// SizeError says that a message is too large to be sent.
type SizeError struct {
	// Size is the length of its frame, Limit the longest, in bytes.
	Size, Limit int64
}

// Error gives both numbers.
func (e *SizeError) Error() string {
	return fmt.Sprintf("message of %d bytes with its header: at most %d are sent", e.Size, e.Limit)
}
