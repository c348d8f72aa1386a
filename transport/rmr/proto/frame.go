package proto

import (
	"encoding/binary"
	"errors"
	"io"
)

const (
	// transportHeader is how many bytes stand before the message header.
	transportHeader = 50
	// lengthBytes is how many bytes of a frame give its length.
	lengthBytes = 9
	// mark in byte 8 says that the length in bytes 4 to 7 counts.
	mark = '$'
	// MinFrame is the length of the shortest frame, in bytes: a header of
	// version 3 and nothing else.
	MinFrame = transportHeader + HeaderSize
	// DefaultLimit is the longest frame that is taken unless told otherwise,
	// in bytes. The library itself knows no limit.
	DefaultLimit = 16 << 20
)

// ParseFrameLength returns a frame's length in bytes, from its first nine.
// The little-endian number decides where it is from [MinFrame] to limit, else
// the big-endian one if a '$' says there is one. So a frame
// with big-endian numbers in both places is read, too, unless its length
// makes sense either way. The error is a *[LengthError].
func ParseFrameLength(head []byte, limit int) (int, error) {
	if len(head) < lengthBytes {
		return 0, &HeaderError{Field: "frame", Value: int64(len(head)), Low: lengthBytes, High: int64(limit)}
	}
	native, network := binary.LittleEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	marked := head[8] == mark
	switch {
	case fits(native, limit):
		return int(native), nil
	case marked && fits(network, limit):
		return int(network), nil
	}
	return 0, &LengthError{Native: native, Network: network, Marked: marked, Limit: limit}
}

func fits(n uint32, limit int) bool { return n >= MinFrame && int64(n) <= int64(limit) }

const (
	// firstBuffer is what a Reader begins with, in bytes: most connections
	// are idle.
	firstBuffer = 4 << 10
	// smallBuffer is what it grows to where much arrives at once, and
	// returns to, in bytes.
	smallBuffer = 64 << 10
	// growth is by how much its buffer grows once it is full: bytes have to
	// arrive before there is memory for more of them.
	growth = 4
)

// Reader cuts a stream into frames. One goroutine at a time may use it.
type Reader struct {
	r          io.Reader
	limit      int
	buf        []byte
	start, end int  // what is unread is buf[start:end]
	busy       bool // the last read filled the buffer
	err        error
}

// NewReader returns a Reader of r that takes frames of up to limit bytes;
// 0 means [DefaultLimit].
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{r: r, limit: limit}
}

// Buffered is how many bytes were read and belong to no frame that was
// returned: with 0 the stream is between two frames.
func (r *Reader) Buffered() int { return r.end - r.start }

// Next returns the next frame. Its bytes are valid until the following call.
// It blocks as the underlying reader does. At the end of the stream the error is
// io.EOF, in the middle of a frame io.ErrUnexpectedEOF; a length that can't
// be right is a *[LengthError]. Every error is final, except those of the underlying
// reader.
func (r *Reader) Next() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	r.shrink()
	if err := r.fill(lengthBytes); err != nil {
		return nil, err
	}
	n, err := ParseFrameLength(r.buf[r.start:r.end], r.limit)
	if err != nil {
		r.err = err
		return nil, err
	}
	if err := r.fill(n); err != nil {
		return nil, err
	}
	frame := r.buf[r.start : r.start+n : r.start+n]
	r.start += n
	return frame, nil
}

// shrink lets go of a buffer that was needed for a large frame alone.
func (r *Reader) shrink() {
	if len(r.buf) <= smallBuffer || r.Buffered() > smallBuffer {
		return
	}
	small := make([]byte, smallBuffer)
	r.start, r.end, r.buf = 0, copy(small, r.buf[r.start:r.end]), small
}

// fill reads until n bytes are there.
func (r *Reader) fill(n int) error {
	for empty := 0; r.Buffered() < n; {
		r.room(n)
		got, err := r.r.Read(r.buf[r.end:])
		r.end += got
		r.busy = r.end == len(r.buf)
		if got > 0 {
			empty = 0
			continue // an error shows up again
		}
		if errors.Is(err, io.EOF) && r.Buffered() > 0 {
			err = io.ErrUnexpectedEOF
		}
		if empty++; err == nil && empty == 100 {
			err = io.ErrNoProgress
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// room makes room for some of the n bytes that begin at start, and not for a
// few bytes only where much may be waiting.
func (r *Reader) room(n int) {
	if r.start == r.end {
		r.start, r.end = 0, 0
	}
	size := len(r.buf)
	if r.start+n <= size && size-r.end >= size/4 && !(r.busy && size < smallBuffer) {
		return
	}
	if r.start > 0 {
		r.start, r.end = 0, copy(r.buf, r.buf[r.start:r.end])
	}
	if r.end < size && !(r.busy && size < smallBuffer) {
		return
	}
	bigger := make([]byte, max(firstBuffer, min(max(n, smallBuffer), growth*size)))
	copy(bigger, r.buf[:r.end])
	r.buf = bigger
}
