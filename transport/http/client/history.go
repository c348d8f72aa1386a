package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"floe/transport/http/api"
)

// History returns the latest changes, at most limit (0: 100). topic, if not
// nil, limits it to one topic. With all there are also those that nodes made
// by themselves.
func (c *Client) History(ctx context.Context, topic *string, limit int, all bool) (api.History, error) {
	query := url.Values{}
	if topic != nil {
		query.Set("topic", *topic)
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	if all {
		query.Set("all", "true")
	}
	return get[api.History](ctx, c, "/v1/history", query)
}

// Revert brings graph and routes back to how they were, or says what that
// would change. Error kinds: limit_reached where that is not known any more,
// changed_meanwhile.
func (c *Client) Revert(ctx context.Context, r api.Revert) (api.Reverted, error) {
	return change[api.Reverted](ctx, c, http.MethodPost, "/v1/revert", nil, r)
}

// TraceTopic says what would become of an event with that context.
func (c *Client) TraceTopic(ctx context.Context, topic string, values map[string]string) (api.TopicTrace, error) {
	query := url.Values{"topic": {topic}}
	for k, v := range values {
		query.Add("context", k+"="+v)
	}
	return get[api.TopicTrace](ctx, c, "/v1/trace/topic", query)
}

// Top returns what all nodes counted.
func (c *Client) Top(ctx context.Context) (api.Top, error) {
	return get[api.Top](ctx, c, "/v1/top", nil)
}

// WatchEvent is one event of a watch: one of Change, Gap and Progress is set.
type WatchEvent struct {
	// Index is up to where everything was told.
	Index    uint64
	Change   *api.Record
	Gap      *api.Gap
	Progress *api.Progress
}

// Watch follows the changes of the cluster in order, each once, over the loss
// of nodes. It is not safe for concurrent use.
type Watch struct {
	client *Client
	ctx    context.Context // of Watch, whose life this is
	from   string          // index after which to go on, "" for now
	turn   rota
	open   *watchStream // nil: none
}

// Watch follows what comes after an index, or from now on where it is nil. It
// ends with ctx or Close.
func (c *Client) Watch(ctx context.Context, from *uint64) *Watch {
	w := &Watch{client: c, ctx: ctx}
	if from != nil {
		w.from = strconv.FormatUint(*from, 10)
	}
	return w
}

// Next returns the next event. Where the node is gone, another one goes on.
// It fails once no node could be asked within the client's timeout, or with
// what a node said.
func (w *Watch) Next() (WatchEvent, error) {
	for {
		ev, err := w.once()
		if err == nil {
			w.turn.served()
			w.from = strconv.FormatUint(ev.Index, 10)
			return ev, nil
		}
		w.Close()
		if !w.client.passOn(w.ctx, &w.turn, err) {
			return WatchEvent{}, err
		}
	}
}

func (w *Watch) once() (WatchEvent, error) {
	if w.open == nil {
		var err error
		if w.open, err = w.client.watch(w.ctx, w.client.whose(&w.turn), w.from); err != nil {
			return WatchEvent{}, err
		}
	}
	return w.open.event()
}

// Close ends the watch.
func (w *Watch) Close() {
	if w.open != nil {
		w.open.close()
		w.open = nil
	}
}

// watchStream is a watch at one node.
type watchStream struct {
	address string
	body    io.ReadCloser
	lines   *bufio.Scanner
	cancel  context.CancelFunc
	timer   *time.Timer
}

func (c *Client) watch(ctx context.Context, address, from string) (*watchStream, error) {
	r := request{method: http.MethodGet, path: "/v1/watch"}
	if from != "" {
		r.query = url.Values{"from": {from}}
	}
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(min(silence, c.turnTime()), cancel)
	response, err := c.start(ctx, address, r)
	if err != nil {
		if !timer.Stop() {
			err = unreached(address, "no answer in time")
		}
		cancel()
		return nil, err
	}
	s := &watchStream{address: address, body: response.Body, lines: bufio.NewScanner(response.Body), cancel: cancel, timer: timer}
	s.lines.Buffer(make([]byte, 0, 64<<10), c.lineLimit)
	return s, nil
}

// event reads one server-sent event.
func (s *watchStream) event() (WatchEvent, error) {
	s.timer.Reset(silence)
	var name, data string
	var ev WatchEvent
	for s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "id":
			ev.Index, _ = strconv.ParseUint(value, 10, 64) // it is this program's own
		case "data":
			data = value
		case "":
			return ev, s.fill(&ev, name, data)
		}
	}
	return ev, ended("the watch at "+s.address, s.lines.Err())
}

func (s *watchStream) fill(ev *WatchEvent, name, data string) error {
	var err error
	switch name {
	case "change":
		err = json.Unmarshal([]byte(data), &ev.Change)
	case "gap":
		err = json.Unmarshal([]byte(data), &ev.Gap)
	case "progress":
		err = json.Unmarshal([]byte(data), &ev.Progress)
	case "error":
		var said api.Error
		if err = json.Unmarshal([]byte(data), &said); err == nil {
			return &said
		}
	default:
		err = errors.New("an event of kind " + strconv.Quote(name))
	}
	if err != nil {
		return &api.Error{Kind: api.Internal, Message: fmt.Sprintf("the watch at %s: %v", s.address, err)}
	}
	return nil
}

func (s *watchStream) close() {
	s.timer.Stop()
	s.cancel()
	_ = s.body.Close() // of no more use
}
