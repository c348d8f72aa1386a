package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
)

// ServeStreams gives every accepted stream to f from now on, each in a
// goroutine of its own; the stream is closed when f returns. ctx ends when the
// connection is found dead and when Shutdown begins.
func (p *Port) ServeStreams(f func(ctx context.Context, s *Stream)) { p.streams.Store(&f) }

// serveStream reads the opening frame and runs the callback.
func (p *Port) serveStream(c *conn) {
	s, err := p.opened(c)
	if err != nil {
		if isBadInput(err) {
			p.complaints.badInput(c.RemoteAddr(), err)
		}
		_ = c.Close() // err is the one that matters
		return
	}
	ctx, cancel := context.WithCancel(p.draining)
	defer cancel()
	s.gone = cancel
	s.bad = func(err error) { p.complaints.badInput(c.RemoteAddr(), err) }
	var side sync.WaitGroup
	side.Go(s.keepAlive)
	(*p.streams.Load())(ctx, s)
	_ = s.Close() // the callback had its say
	side.Wait()
}

func (p *Port) opened(c *conn) (*Stream, error) {
	opts := p.cfg.Options
	pc := &paced{Conn: c}
	frames := newFrameReader(pc, opts.MaxFrame, opts.HandshakeTimeout, opts.StallTimeout)
	b, err := frames.fresh()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%w: stream is not opened: %w", errStalled, err)
	}
	if err != nil {
		return nil, err
	}
	f, err := parseStreamFrame(b)
	if err != nil {
		return nil, err
	}
	if f.typ != streamOpen {
		return nil, fmt.Errorf("%w: stream begins with a frame of type %d", errBadFrame, f.typ)
	}
	frames.idle = opts.PeerTimeout
	s := newStream(c, pc, frames, opts)
	s.name, s.hello = f.name, f.body
	return s, nil
}
