package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// twowayWindow is how many events may be unanswered by a twoway subscriber.
const twowayWindow = 5

// subscriber sends one subscription's events.
type subscriber struct {
	line
	window   int  // most events unanswered; 0: no answers are asked for
	batch    bool // events are gathered for the flush interval
	uncached bool // each burst may use another endpoint

	outstanding []unanswered
	blocked     bool // the window is full

	timer *time.Timer // of the flush; nil: not armed
	due   int         // events to be flushed
}

// unanswered is an event sent and not yet answered.
type unanswered struct {
	id      int32
	event   *delivery.Event
	written bool
}

// Subscriber makes the sending end of a subscription.
func (c *Client) Subscriber(r *delivery.Receiver, _ *topics.Topic, sub *topics.Subscription) delivery.Sender {
	s := &subscriber{}
	s.line = line{client: c, receiver: r, self: s}
	d := proto.NewDecoder(sub.Proxy, proto.Encoding11)
	p := d.Proxy()
	if err := d.Err(); err != nil {
		s.resolve = func(context.Context) (route, error) { return route{}, fmt.Errorf("subscriber's proxy: %w", err) }
		return s
	}
	s.configure(&p, sub)
	ttl := cacheTime(sub.Setting("locatorCacheTimeout"))
	s.resolve = func(ctx context.Context) (route, error) { return c.route(ctx, &p, ttl) }
	return s
}

func (s *subscriber) configure(p *proto.Proxy, sub *topics.Subscription) {
	s.batch = p.Mode == proto.BatchOneway || p.Mode == proto.BatchDatagram
	if p.Mode == proto.Twoway {
		s.window = twowayWindow
		if sub.Setting("reliability") == "ordered" {
			s.window = 1
		}
	}
	if cached := sub.Setting("connectionCached"); cached != "" {
		n, err := strconv.Atoi(strings.TrimSpace(cached))
		s.uncached = err == nil && n <= 0
	}
}

// cacheTime reads the QoS locatorCacheTimeout, in seconds; -1 is for ever.
func cacheTime(text string) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 {
		return -1
	}
	return time.Duration(n) * time.Second
}

// route works out where a proxy's object is.
func (c *Client) route(ctx context.Context, p *proto.Proxy, ttl time.Duration) (route, error) {
	addresses, err := c.locator.addresses(ctx, p, ttl)
	return route{target: proto.AppendTarget(nil, p.Identity, p.Facet), addresses: addresses}, err
}

// Ready implements [delivery.Sender].
func (s *subscriber) Ready(b *delivery.Burst) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.batch {
		s.arm()
		return
	}
	if s.uncached && len(s.outstanding) == 0 {
		s.leave()
	}
	s.wanted(b)
}

// arm starts the flush interval.
func (s *subscriber) arm() {
	if s.timer == nil && !s.closed {
		s.timer = time.AfterFunc(s.client.config.FlushInterval, s.flush)
	}
}

// flush ends the flush interval: what was gathered is sent.
func (s *subscriber) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil {
		return
	}
	s.timer.Stop()
	s.timer = nil
	s.due = s.receiver.Waiting()
	s.wanted(nil)
}

// Urge implements [delivery.Sender].
func (s *subscriber) Urge() {
	if s.batch {
		s.flush()
	}
}

// Close implements [delivery.Sender].
func (s *subscriber) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.shut()
}

func (s *subscriber) fill(b *batch) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.conn != b.conn:
		return false
	case s.batch:
		return s.fillBatch(b)
	case s.window > 0:
		return s.fillTwoway(b)
	}
	return s.fillOneway(b)
}

func (s *subscriber) fillOneway(b *batch) (more bool) {
	b.events = s.receiver.Take(b.events[:0], shareEvents, shareBytes)
	for _, ev := range b.events {
		if s.fits(b, ev) {
			b.request(0, s.target, ev)
		}
	}
	return !s.receiver.Rest()
}

// fits tells whether a message can hold the event; else it is lost.
func (s *subscriber) fits(b *batch, ev *delivery.Event) bool {
	if requestSize(s.target, ev) <= b.limit {
		return true
	}
	s.receiver.Lose(1, delivery.TooLarge)
	return false
}

func (s *subscriber) fillTwoway(b *batch) (more bool) {
	room := s.window - len(s.outstanding)
	b.events = s.receiver.Take(b.events[:0], room, shareBytes)
	for _, ev := range b.events {
		if !s.fits(b, ev) {
			continue
		}
		id := b.conn.expect(s)
		s.outstanding = append(s.outstanding, unanswered{id: id, event: ev})
		b.request(id, s.target, ev)
	}
	if len(s.outstanding) == s.window {
		s.blocked = true
		return false
	}
	return !s.receiver.Rest()
}

// batchHead is what a batch needs beyond targets and tails.
const batchHead = proto.HeaderSize + 4

// fillBatch makes one message of what is due, or as much as fits.
func (s *subscriber) fillBatch(b *batch) (more bool) {
	if s.due <= 0 {
		s.due = s.receiver.Waiting()
	}
	half := (b.limit - batchHead) / 2
	b.events = s.receiver.Take(b.events[:0], max(1, min(s.due, half/len(s.target))), half)
	s.due -= len(b.events)
	b.events = slices.DeleteFunc(b.events, func(ev *delivery.Event) bool { return !s.fits(b, ev) })
	if len(b.events) > 0 {
		b.batchRequest(s.target)
	}
	switch {
	case s.due > 0:
		return true
	case !s.receiver.Rest():
		s.arm()
	}
	return false
}

// batchRequest makes one BatchRequest of the events of the scratch list.
func (b *batch) batchRequest(target []byte) {
	n := len(b.buf)
	var start int
	b.buf, start = proto.BeginBatch(b.buf)
	b.grew(n)
	apart := 0 // bytes of the message that are not in buf
	for _, ev := range b.events {
		b.buf = append(b.buf, target...)
		b.size += len(target)
		b.tail(ev.Tail)
		if len(ev.Tail) >= largeTail {
			apart += len(ev.Tail)
		}
	}
	b.buf = proto.EndBatch(b.buf, start, len(b.events), apart)
	for _, ev := range b.events {
		b.entries = append(b.entries, entry{event: ev, end: b.size})
	}
}

func (s *subscriber) written(entries []entry) {
	s.mu.Lock()
	s.losses = 0
	s.markWritten(entries)
	s.mu.Unlock()
	if s.window == 0 {
		s.receiver.Done(len(entries))
	}
}

func (s *subscriber) markWritten(entries []entry) {
	if s.window == 0 {
		return
	}
	for _, e := range entries {
		if i := s.find(e.id); i >= 0 {
			s.outstanding[i].written = true
		}
	}
}

func (s *subscriber) find(id int32) int {
	return slices.IndexFunc(s.outstanding, func(u unanswered) bool { return u.id == id })
}

func (s *subscriber) unwritten(entries []entry) {
	if s.window > 0 {
		return // lost will find them
	}
	events := make([]*delivery.Event, len(entries))
	for i, e := range entries {
		events[i] = e.event
	}
	s.receiver.Return(events)
}

func (s *subscriber) reply(r *proto.Reply, b *delivery.Burst) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(r.ID)
	if i < 0 {
		return
	}
	s.outstanding = slices.Delete(s.outstanding, i, i+1)
	s.losses = 0
	s.judge(r)
	if s.blocked {
		s.blocked = false
		s.wanted(b)
	}
}

// judge says what a reply means; a user exception is a success, as in
// IceStorm.
func (s *subscriber) judge(r *proto.Reply) {
	if r.Status <= proto.StatusUserException {
		s.receiver.Done(1)
		return
	}
	s.receiver.Lose(1, delivery.Refused)
	class := delivery.Unwilling
	if r.Status == proto.StatusObjectNotExist {
		class = delivery.Hard
	}
	s.receiver.Fail(delivery.Failure{Class: class, Err: r.Err()})
}

func (s *subscriber) lost(c *conn, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c {
		return
	}
	s.conn = nil
	doubtful := s.sortOut(errors.Is(cause, errPeerClosed))
	if s.closed {
		return
	}
	if doubtful > 0 {
		s.receiver.Lose(doubtful, delivery.Doubtful)
	}
	if errors.Is(cause, errUnheard) {
		s.unheard()
		return
	}
	if doubtful > 0 {
		s.receiver.Fail(delivery.Failure{Class: delivery.Unreachable, Err: fmt.Errorf("%w: %w", ErrDoubtful, cause)})
		return
	}
	if s.timer == nil && !s.receiver.Rest() {
		s.broke(cause)
	}
}

// sortOut returns the unanswered events that were surely not executed to the
// queue, and counts the others.
func (s *subscriber) sortOut(graceful bool) (doubtful int) {
	var back []*delivery.Event
	for _, u := range s.outstanding {
		if graceful || !u.written {
			back = append(back, u.event)
		} else {
			doubtful++
		}
	}
	s.outstanding, s.blocked = s.outstanding[:0], false
	s.receiver.Return(back)
	return doubtful
}
