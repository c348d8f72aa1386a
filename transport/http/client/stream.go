package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"floe/transport/http/api"
)

// silence is how long an event stream may be quiet before its node counts as
// gone: several of the server's heartbeats.
const silence = 8 * time.Second

// lineLimit is the longest line of an event stream, in bytes.
const lineLimit = 64 << 20

// Stream is an open event stream. It is not safe for concurrent use.
type Stream struct {
	address string
	body    io.ReadCloser
	lines   *bufio.Scanner
	cancel  context.CancelFunc
	timer   *time.Timer
}

// Subscribe opens an event stream of the topics at the first node that
// grants one. It ends with ctx or Close.
func (c *Client) Subscribe(ctx context.Context, topics []string) (*Stream, error) {
	r := request{method: http.MethodGet, path: "/v1/events", query: url.Values{"topic": topics}}
	deadline := time.Now().Add(c.config.Timeout)
	var failed []error
	for i, address := range c.config.Addresses {
		share := max(time.Until(deadline)/time.Duration(len(c.config.Addresses)-i), time.Millisecond)
		s, err := c.subscribe(ctx, address, r, share)
		if err == nil {
			return s, nil
		}
		failed = append(failed, err)
		if !elsewhere(err) || ctx.Err() != nil {
			break
		}
	}
	return nil, worst(failed)
}

func (c *Client) subscribe(ctx context.Context, address string, r request, within time.Duration) (*Stream, error) {
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
	s := &Stream{address: address, body: response.Body, lines: bufio.NewScanner(response.Body), cancel: cancel, timer: timer}
	s.lines.Buffer(make([]byte, 0, 64<<10), lineLimit)
	first, err := s.line()
	switch {
	case err == nil && first.Subscribed:
		return s, nil
	case err == nil && first.Error != nil:
		err = first.Error
	case err == nil:
		err = &api.Error{Kind: api.Internal, Message: address + ": the event stream begins with a line this program does not know"}
	}
	s.Close()
	return nil, err
}

// Next returns the next event, count of missed ones or gap. Errors:
// api.Unreachable where the node is gone, or what the node said.
func (s *Stream) Next() (api.Event, error) {
	for {
		s.timer.Reset(silence)
		ev, err := s.line()
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

func (s *Stream) line() (api.Event, error) {
	var ev api.Event
	if !s.lines.Scan() {
		err := s.lines.Err()
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return ev, &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("the event stream from %s ended: %v", s.address, err)}
	}
	if err := json.Unmarshal(s.lines.Bytes(), &ev); err != nil {
		return ev, &api.Error{Kind: api.Internal, Message: fmt.Sprintf("the event stream from %s: %v", s.address, err)}
	}
	return ev, nil
}

// Close ends the stream.
func (s *Stream) Close() {
	s.timer.Stop()
	s.cancel()
	_ = s.body.Close() // of no more use
}
