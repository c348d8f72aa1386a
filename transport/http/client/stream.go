package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"floe/transport/http/api"
)

// silence is how long an event stream may be quiet before its node counts as
// gone: several of the server's heartbeats.
const silence = 8 * time.Second

// Stream is a stream of events that outlives the node it comes from. Close may
// be called while Next waits; otherwise it is not safe for concurrent use.
type Stream struct {
	client *Client
	ctx    context.Context // ends with that of Subscribe, or Close
	end    context.CancelFunc
	topics []string
	turn   rota

	mu   sync.Mutex // of changing open, and of closing what is open
	open *eventStream
}

// eventStream is an event stream at one node.
type eventStream struct {
	address string
	body    io.ReadCloser
	lines   *bufio.Scanner
	cancel  context.CancelFunc
	timer   *time.Timer
}

// Subscribe opens an event stream of the topics at the first node that
// grants one. It ends with ctx or Close.
func (c *Client) Subscribe(ctx context.Context, topics []string) (*Stream, error) {
	deadline := time.Now().Add(c.config.Timeout)
	var failed []error
	for i, address := range c.config.Addresses {
		share := max(time.Until(deadline)/time.Duration(len(c.config.Addresses)-i), time.Millisecond)
		open, err := c.subscribe(ctx, address, topics, share)
		if err == nil {
			s := &Stream{client: c, topics: topics, turn: rota{next: i}, open: open}
			s.ctx, s.end = context.WithCancel(ctx)
			return s, nil
		}
		failed = append(failed, err)
		if !elsewhere(err) || ctx.Err() != nil {
			break
		}
	}
	return nil, worst(failed)
}

func (c *Client) subscribe(ctx context.Context, address string, topics []string, within time.Duration) (*eventStream, error) {
	r := request{method: http.MethodGet, path: "/v1/events", query: url.Values{"topic": topics}}
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(within, cancel)
	response, err := c.start(ctx, address, r)
	if err != nil {
		if !timer.Stop() {
			err = unreached(address, "no answer in time")
		}
		cancel()
		return nil, err
	}
	s := &eventStream{address: address, body: response.Body, lines: bufio.NewScanner(response.Body), cancel: cancel, timer: timer}
	s.lines.Buffer(make([]byte, 0, 64<<10), c.lineLimit)
	first, err := s.line()
	switch {
	case err == nil && first.Subscribed:
		return s, nil
	case err == nil && first.Error != nil:
		err = first.Error
	case err == nil:
		err = &api.Error{Kind: api.Internal, Message: address + ": the event stream begins with a line this program does not know"}
	}
	s.close()
	return nil, err
}

// Next returns the next event, count of missed ones or gap. Where the node is
// gone, another one goes on, which is a gap: what was published meanwhile is
// missing. It fails once no node could be asked within the client's timeout,
// or with what a node said.
func (s *Stream) Next() (api.Event, error) {
	ev, err := s.open.next()
	if err == nil {
		return ev, nil
	}
	s.open.close()
	lost := err
	var said *api.Error
	if errors.As(err, &said) && said.Kind != api.Unreachable {
		lost = fmt.Errorf("%s: %w", s.open.address, err)
	}
	for s.client.passOn(s.ctx, &s.turn, err) {
		var open *eventStream
		if open, err = s.client.subscribe(s.ctx, s.client.whose(&s.turn), s.topics, s.client.turnTime()); err == nil {
			s.turn.served()
			if !s.replace(open) {
				return api.Event{}, s.ctx.Err()
			}
			return api.Event{Gap: fmt.Sprintf("%v; %s goes on", lost, open.address)}, nil
		}
	}
	return api.Event{}, err
}

// replace makes open the stream that is read, unless Close was called.
func (s *Stream) replace(open *eventStream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
	if s.ctx.Err() != nil {
		open.close()
		return false
	}
	return true
}

// Close ends the stream; a Next that waits fails.
func (s *Stream) Close() {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open.close()
}

// next reads on to a line that says something.
func (s *eventStream) next() (api.Event, error) {
	for {
		s.timer.Reset(silence)
		ev, err := s.line()
		if err != nil && !s.timer.Stop() {
			err = &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("the event stream from %s is silent for %v", s.address, silence)}
		}
		if err != nil {
			return api.Event{}, err
		}
		if ev.Error != nil {
			return api.Event{}, ev.Error
		}
		if ev.Received != nil || ev.Missed > 0 || ev.Gap != "" {
			return ev, nil
		}
	}
}

func (s *eventStream) line() (api.Event, error) {
	var ev api.Event
	if !s.lines.Scan() {
		return ev, ended("the event stream from "+s.address, s.lines.Err())
	}
	if err := json.Unmarshal(s.lines.Bytes(), &ev); err != nil {
		return ev, &api.Error{Kind: api.Internal, Message: fmt.Sprintf("the event stream from %s: %v", s.address, err)}
	}
	return ev, nil
}

func (s *eventStream) close() {
	s.timer.Stop()
	s.cancel()
	_ = s.body.Close() // of no more use
}

// ended is the error of a stream without a further line. One with a line over
// the limit is of no more use at another node.
func ended(stream string, err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return &api.Error{Kind: api.TooLarge, Message: stream + " has a line that is longer than this program takes"}
	}
	return &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("%s ended: %v", stream, cmp.Or(err, io.ErrUnexpectedEOF))}
}
