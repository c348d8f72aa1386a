package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Stream is an ordered stream of frames, both ways. One goroutine may read
// while others write.
//
// A dead peer is noticed by reading: whoever only writes should still keep a
// goroutine in ReadFrame, which then returns an error within the peer timeout
// and ends blocked writes with it.
type Stream struct {
	name  string
	hello []byte
	opts  Options
	nc    *conn
	pc    *paced
	bad   func(error) // told of input that breaks the protocol
	gone  func()      // told once that the connection is of no more use

	closing atomic.Bool   // Close or Abort was called
	stop    chan struct{} // ends the keep-alive goroutine
	once    sync.Once

	reading sync.Mutex
	frames  *frameReader
	readErr error

	writing  sync.Mutex
	w        *frameWriter
	writeErr error
	wrote    atomic.Int64 // when the last flush began, see moment
}

// Name is what the opening end called the stream.
func (s *Stream) Name() string { return s.name }

// Hello is what the opening end sent with the name.
func (s *Stream) Hello() []byte { return s.hello }

// RemoteAddr is the other end's address.
func (s *Stream) RemoteAddr() net.Addr { return s.nc.RemoteAddr() }

// OpenStream opens a stream to the peer port at address (host:port). ctx
// bounds the opening only, together with the handshake timeout. name, at most
// 255 bytes, and hello reach the other end's callback. An error means that no
// callback ran. The caller must close the stream.
func (c *Client) OpenStream(ctx context.Context, address, name string, hello []byte) (*Stream, error) {
	if len(name) > codeMax || len(hello) > c.opts.MaxFrame {
		return nil, fmt.Errorf("open stream to %s: name or hello: %w", address, errTooLarge)
	}
	nc, err := c.dialFor(ctx, address, kindEvents, 0)
	if err != nil {
		return nil, fmt.Errorf("open stream %q to %s: %w", name, address, err)
	}
	pc := &paced{Conn: nc}
	s := newStream(nc, pc, newFrameReader(pc, c.opts.MaxFrame, c.opts.PeerTimeout, c.opts.StallTimeout), c.opts)
	s.name, s.hello = name, hello
	if err := s.open(); err != nil {
		s.Abort()
		return nil, fmt.Errorf("open stream %q to %s: %w", name, address, err)
	}
	unhook := context.AfterFunc(c.ctx, s.Abort)
	s.gone = func() { unhook() }
	if !c.start(s.keepAlive) {
		s.Abort()
		return nil, ErrClosed
	}
	return s, nil
}

func (s *Stream) open() error {
	f := streamFrame{typ: streamOpen, name: s.name}
	if err := s.w.write(f.head(nil), s.hello); err != nil {
		return err
	}
	return s.w.flush()
}

func newStream(nc *conn, pc *paced, frames *frameReader, opts Options) *Stream {
	s := &Stream{opts: opts, nc: nc, pc: pc, frames: frames, stop: make(chan struct{}),
		bad: func(error) {}, gone: func() {}}
	s.w = newFrameWriter(pc, nc.Conn, opts.SendTimeout)
	s.wrote.Store(moment(time.Now()))
	return s
}

// ReadFrame returns the next frame; its bytes are valid until the next call.
// It blocks while the peer is alive and has nothing to say. io.EOF: the other
// end closed in order; *RemoteError: it closed with an error; ErrClosed: this
// end did; any other error: the connection broke.
func (s *Stream) ReadFrame() ([]byte, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	for s.readErr == nil {
		frame, err := s.readOne()
		if err != nil {
			s.endReading(err)
			break
		}
		if frame.typ == streamData && !s.closing.Load() {
			return frame.body, nil
		}
	}
	if s.closing.Load() {
		return nil, ErrClosed
	}
	return nil, s.readErr
}

// readOne returns a data or keep-alive frame, or the stream's end.
func (s *Stream) readOne() (streamFrame, error) {
	b, err := s.frames.reused()
	if err != nil {
		return streamFrame{}, s.broken(err)
	}
	f, err := parseStreamFrame(b)
	if err != nil {
		return streamFrame{}, err
	}
	switch f.typ {
	case streamEnd:
		return streamFrame{}, io.EOF
	case streamFailure:
		return streamFrame{}, &RemoteError{Code: f.name, Text: string(f.body)}
	case streamOpen:
		return streamFrame{}, fmt.Errorf("%w: stream opened twice", errBadFrame)
	}
	return f, nil
}

func (s *Stream) broken(err error) error {
	switch {
	case isBadInput(err):
		return err
	case errors.Is(err, io.EOF):
		return fmt.Errorf("stream cut by the peer: %w", io.ErrUnexpectedEOF)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("peer silent for %s: %w", s.opts.PeerTimeout, err)
	}
	return err
}

// endReading records why reading ended. Only an orderly end leaves the
// connection open, for the answer to it.
func (s *Stream) endReading(err error) {
	s.readErr = err
	var failure *RemoteError
	if err == io.EOF || errors.As(err, &failure) {
		return
	}
	if isBadInput(err) && !s.closing.Load() {
		s.bad(err)
	}
	s.drop()
}

// WriteFrame adds a frame made of parts, one after the other. Small frames
// gather until Flush, a full buffer or the next keep-alive; large parts are
// written at once, uncopied. It may block up to SendTimeout while the peer
// reads nothing. A frame over MaxFrame is refused, any other error is final.
func (s *Stream) WriteFrame(parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if n > s.opts.MaxFrame {
		return fmt.Errorf("stream frame of %d bytes: %w", n, errTooLarge)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	return s.written(s.w.write(dataHead, parts...))
}

var (
	dataHead = streamFrame{typ: streamData}.head(nil)
	pingHead = streamFrame{typ: streamPing}.head(nil)
)

// Flush sends what has gathered.
func (s *Stream) Flush() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	return s.flush()
}

func (s *Stream) flush() error {
	s.wrote.Store(moment(time.Now()))
	return s.written(s.w.flush())
}

func (s *Stream) writable() error {
	if s.closing.Load() {
		return ErrClosed
	}
	return s.writeErr
}

// written makes a write's error final.
func (s *Stream) written(err error) error {
	if err != nil {
		s.writeErr = err
		s.drop()
	}
	return err
}

// keepAlive sends a frame whenever nothing else was sent for a while.
func (s *Stream) keepAlive() {
	ticker := time.NewTicker(max(s.opts.KeepAlive/2, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case now := <-ticker.C:
			if moment(now)-s.wrote.Load() >= int64(s.opts.KeepAlive)/2 {
				s.ping()
			}
		}
	}
}

// ping does nothing while a write is under way: that speaks for itself.
func (s *Stream) ping() {
	if !s.writing.TryLock() {
		return
	}
	defer s.writing.Unlock()
	if s.writable() == nil && s.written(s.w.write(pingHead)) == nil {
		_ = s.flush() // recorded; the next writer or reader gets it
	}
}

// Close sends what has gathered, says goodbye and waits, a second at most,
// until the other end has read it and closed. Blocked reads and writes end.
func (s *Stream) Close() error { return s.close(streamFrame{typ: streamEnd}) }

// CloseWithError is Close; the other end's ReadFrame returns err as a
// [RemoteError] instead of io.EOF.
func (s *Stream) CloseWithError(err error) error {
	r := remote(err)
	return s.close(streamFrame{typ: streamFailure, name: r.Code, body: []byte(clip(r.Text, min(textMax, s.opts.MaxFrame)))})
}

// Abort closes at once; the other end sees a cut stream.
func (s *Stream) Abort() {
	s.closing.Store(true)
	s.drop()
}

func (s *Stream) close(last streamFrame) error {
	if s.closing.Swap(true) {
		return nil
	}
	defer s.drop()
	s.pc.hurry(linger)
	if err := s.sayGoodbye(last); err != nil {
		return err
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	for s.readErr == nil { // until the other end has closed, too
		if _, err := s.readOne(); err != nil {
			s.endReading(err)
		}
	}
	return nil
}

func (s *Stream) sayGoodbye(last streamFrame) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.writeErr != nil {
		return s.writeErr
	}
	if err := s.w.write(last.head(nil), last.body); err != nil {
		return s.written(err)
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.nc.closeWrite()
}

// drop closes the connection and ends the keep-alives.
func (s *Stream) drop() {
	s.once.Do(func() {
		_ = s.nc.Close() // of no more use
		close(s.stop)
		s.gone()
	})
}
