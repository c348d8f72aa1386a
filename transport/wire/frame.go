package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// A frame, of RPC and event connections alike, is a four byte big-endian
// length and that many bytes; zero is no length.
const (
	frameHeader = 4
	// headRoom is what a frame may have beyond Options.MaxFrame: its type,
	// ids, names.
	headRoom   = 1 << 10
	readBuffer = 32 << 10
	// writeBuffer bounds what gathers before it is written.
	writeBuffer = 64 << 10
	// gatherMin is the payload from which copying costs more than a writev.
	gatherMin = 16 << 10
	// firstChunk is the most that is allocated on the word of a length field
	// alone; more follows as bytes arrive.
	firstChunk = 64 << 10
	// keepBuffer is the largest read buffer that a quiet stream holds on to.
	keepBuffer = 1 << 20
)

// errBadFrame marks input that breaks the protocol.
var errBadFrame = errors.New("bad frame")

// isBadInput tells a peer's fault from a connection that merely ended.
func isBadInput(err error) bool {
	return errors.Is(err, errBadFrame) || errors.Is(err, errStalled)
}

// errStalled: a frame stood still for too long.
var errStalled = errors.New("frame stands still")

// frameReader reads frames from one connection. Not safe for concurrent use.
type frameReader struct {
	src   *paced
	br    *bufio.Reader
	max   int           // bytes in a frame
	idle  time.Duration // between frames; 0: no limit
	stall time.Duration // inside a frame
	buf   []byte
}

func newFrameReader(src *paced, max int, idle, stall time.Duration) *frameReader {
	return &frameReader{src: src, br: bufio.NewReaderSize(src, readBuffer), max: max + headRoom, idle: idle, stall: stall}
}

// fresh returns the next frame in memory of its own.
func (f *frameReader) fresh() ([]byte, error) { return f.next(nil) }

// reused returns the next frame in a buffer that the next call overwrites.
func (f *frameReader) reused() ([]byte, error) {
	frame, err := f.next(f.buf)
	if err == nil {
		f.buf = frame[:0]
	}
	return frame, err
}

// next returns io.EOF only where a frame could have begun.
func (f *frameReader) next(buf []byte) ([]byte, error) {
	f.src.readLimit = f.idle
	if _, err := f.br.Peek(1); err != nil {
		return nil, err
	}
	f.src.readLimit = f.stall
	var head [frameHeader]byte
	if _, err := io.ReadFull(f.br, head[:]); err != nil {
		return nil, cutFrame(err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || uint64(n) > uint64(f.max) {
		return nil, fmt.Errorf("%w: length %d is not within 1 and %d", errBadFrame, n, f.max)
	}
	if cap(buf) > keepBuffer && int(n) <= keepBuffer {
		buf = nil // one large frame must not hold its memory for ever
	}
	return f.body(buf[:0], int(n))
}

// body reads n bytes, growing buf only as they come.
func (f *frameReader) body(buf []byte, n int) ([]byte, error) {
	for len(buf) < n {
		have := len(buf)
		if have == cap(buf) {
			grown := make([]byte, have, min(n, max(firstChunk, 4*have)))
			copy(grown, buf)
			buf = grown
		}
		buf = buf[:min(n, cap(buf))]
		if _, err := io.ReadFull(f.br, buf[have:]); err != nil {
			return nil, cutFrame(err)
		}
	}
	return buf, nil
}

// cutFrame names an end inside a frame.
func cutFrame(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%w: %w", errStalled, err)
	}
	return err
}

// frameWriter gathers frames and writes them. Not safe for concurrent use.
// After an error the connection is of no more use.
type frameWriter struct {
	dst   *paced
	out   io.Writer // the bare connection, for writev
	limit time.Duration
	buf   []byte
	vec   net.Buffers // kept for its memory
	rest  net.Buffers // what WriteTo still has to send
}

func newFrameWriter(dst *paced, out io.Writer, limit time.Duration) *frameWriter {
	return &frameWriter{dst: dst, out: out, limit: limit}
}

// write adds a frame made of head and parts. Small parts are copied and wait
// for flush; large ones are written at once, together with all before them.
func (f *frameWriter) write(head []byte, parts ...[]byte) error {
	n := len(head)
	for _, p := range parts {
		n += len(p)
	}
	if err := f.room(frameHeader + len(head)); err != nil {
		return err
	}
	f.buf = binary.BigEndian.AppendUint32(f.buf, uint32(n))
	f.buf = append(f.buf, head...)
	if n-len(head) >= gatherMin {
		return f.gather(parts)
	}
	for _, p := range parts {
		if err := f.room(len(p)); err != nil {
			return err
		}
		f.buf = append(f.buf, p...)
	}
	return nil
}

func (f *frameWriter) room(n int) error {
	if f.buf == nil {
		f.buf = make([]byte, 0, writeBuffer) // silent connections have none
	}
	if len(f.buf)+n <= cap(f.buf) {
		return nil
	}
	return f.flush()
}

// gather writes the buffer and parts with one writev, uncopied.
func (f *frameWriter) gather(parts [][]byte) error {
	all := append(f.vec[:0], f.buf)
	n := len(f.buf)
	for _, p := range parts {
		all = append(all, p)
		n += len(p)
	}
	f.vec = all
	f.dst.limitWrite(f.limit, n)
	f.rest = all // a field, as WriteTo would move a local to the heap
	_, err := f.rest.WriteTo(f.out)
	clear(all) // don't hold the caller's bytes
	f.buf = f.buf[:0]
	return err
}

// flush writes what waits.
func (f *frameWriter) flush() error {
	if len(f.buf) == 0 {
		return nil
	}
	f.dst.limitWrite(f.limit, len(f.buf))
	_, err := f.out.Write(f.buf)
	f.buf = f.buf[:0]
	return err
}
