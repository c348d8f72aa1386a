package fsm

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
)

// summed reads what stands before a SHA-256 at the end of a stream, and sums
// it up on the way.
type summed struct {
	from io.Reader
	sum  hash.Hash
	held []byte // what was read and may belong to the sum at the end
	buf  []byte
	err  error
}

func newSummed(from io.Reader) *summed {
	return &summed{from: from, sum: sha256.New(), buf: make([]byte, 1<<16)}
}

// Read hands out all but the last 32 bytes.
func (s *summed) Read(p []byte) (int, error) {
	for len(s.held) <= sha256.Size && s.err == nil {
		var n int
		n, s.err = s.from.Read(s.buf)
		s.held = append(s.held, s.buf[:n]...)
	}
	if len(s.held) <= sha256.Size {
		return 0, s.err
	}
	n := copy(p, s.held[:len(s.held)-sha256.Size])
	s.sum.Write(s.held[:n])
	s.held = s.held[n:]
	return n, nil
}

// good tells, at the end of the stream, whether the sum is right.
func (s *summed) good() bool { return s.err == io.EOF && bytes.Equal(s.sum.Sum(nil), s.held) }
