package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

const (
	// forwardEvents and forwardBytes bound one forward.
	forwardEvents = 1000
	forwardBytes  = 128 << 10
	// loyalty is for how long a batch in doubt is repeated to the node that
	// may have it, before another node gets it.
	loyalty = 3 * time.Second
)

// link forwards events to a topic of another server: twoway, one message
// unanswered.
type link struct {
	line
	remote topics.Remote
	origin string // names this sender to another floe cluster; "" for an IceStorm

	flight  []*delivery.Event // what the message under way holds
	id      int32             // its request id, 0: nothing is under way
	wrote   bool
	repeat  bool // flight is to be sent once more, under the same sequence
	seq     uint64
	last    address // where flight was sent last
	since   time.Time
	missing int // how often in a row the peer said that there is no such object
}

// Link makes the sending end of a link that leaves the cluster.
func (c *Client) Link(r *delivery.Receiver, _ *topics.Topic, l *topics.Link) delivery.Sender {
	s := &link{remote: *l.Remote}
	s.line = line{client: c, receiver: r, self: s}
	s.resolve = s.askLinkProxy
	if s.remote.Cluster != "" {
		s.origin = c.config.Origin + "/" + strconv.FormatUint(l.Serial, 10) + "/" + rand.Text()
		s.resolve = s.askCluster
	}
	return s
}

// Ready implements [delivery.Sender].
func (s *link) Ready(b *delivery.Burst) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted(b)
}

// Urge implements [delivery.Sender].
func (s *link) Urge() {}

// Close implements [delivery.Sender].
func (s *link) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut()
}

// askLinkProxy asks a topic of an IceStorm for its link proxy.
func (s *link) askLinkProxy(ctx context.Context) (route, error) {
	d := proto.NewDecoder(s.remote.Proxy, proto.Encoding11)
	topic := d.Proxy()
	if err := d.Err(); err != nil {
		return route{}, fmt.Errorf("proxy of the linked topic: %w", err)
	}
	p, err := s.client.LinkProxy(ctx, &topic)
	if err != nil {
		return route{}, s.notLinked(err)
	}
	return s.client.route(ctx, &p, 0)
}

// notLinked gives the error of getLinkProxy its class.
func (s *link) notLinked(err error) error {
	var answer *proto.NotExistError
	if errors.As(err, &answer) && answer.Status == proto.StatusObjectNotExist {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.absent(err)
	}
	if errors.As(err, &answer) || errors.As(err, new(*proto.UnknownError)) {
		return unwilling{err}
	}
	return err
}

// absent counts that there is no such object: a service that is just
// starting may say so as well, hence the second time counts. mu is held.
func (s *link) absent(err error) error {
	if s.missing++; s.missing > 1 {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return unwilling{err}
}

// askCluster asks where a topic of another floe cluster is now.
func (s *link) askCluster(ctx context.Context) (route, error) {
	if s.client.config.Clusters == nil {
		return route{}, errors.New("no other clusters are known")
	}
	p, err := s.client.config.Clusters.LinkProxy(ctx, s.remote.Cluster, s.remote.Topic)
	if err != nil {
		return route{}, err
	}
	r, err := s.client.route(ctx, &p, 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repeat && s.wrote && time.Since(s.since) < loyalty {
		r.addresses, err = []address{s.last}, nil
	}
	return r, err
}

// LinkProxy asks a topic for its link proxy. A null one is an error.
func (c *Client) LinkProxy(ctx context.Context, topic *proto.Proxy) (proto.Proxy, error) {
	r, err := c.Call(ctx, topic, "getLinkProxy", proto.ModeIdempotent, nil, nil)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return proto.Proxy{}, fmt.Errorf("getLinkProxy: %w", err)
	}
	p, err := proxyResult(&r)
	if err == nil && p.IsNull() {
		err = errors.New("the topic has no link proxy")
	}
	if err != nil {
		return proto.Proxy{}, fmt.Errorf("getLinkProxy: %w", err)
	}
	return p, nil
}

// proxyResult reads a result that is a proxy.
func proxyResult(r *proto.Reply) (proto.Proxy, error) {
	d, err := proto.OpenEncapsulation(r.Encaps)
	if err != nil {
		return proto.Proxy{}, err
	}
	p := d.Proxy()
	return p, d.Finish()
}

func (s *link) fill(b *batch) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.conn != b.conn || s.id != 0 {
		return false
	}
	if !s.repeat && !s.takeNext(b.limit) {
		return !s.receiver.Rest()
	}
	s.id, s.wrote, s.last = b.conn.expect(s), false, b.conn.address
	n := len(b.buf)
	b.forward = b.forward[:0]
	for _, ev := range s.flight {
		b.forward = append(b.forward, ev.Parts())
	}
	b.buf = proto.AppendForward(b.buf, s.id, s.target, s.context(), b.forward)
	b.grew(n)
	b.entries = append(b.entries, entry{id: s.id, end: b.size})
	return false
}

// takeNext takes the next events to be forwarded, if there are any.
func (s *link) takeNext(limit int) bool {
	clear(s.flight)
	s.flight = s.receiver.Take(s.flight[:0], forwardEvents, forwardBytes)
	overhead := proto.HeaderSize + 4 + len(s.target) + len(s.context()) + 64
	s.flight = slices.DeleteFunc(s.flight, func(ev *delivery.Event) bool {
		e := ev.Parts()
		if proto.EventSize(&e)+overhead <= limit {
			return false
		}
		s.receiver.Lose(1, delivery.TooLarge)
		return true
	})
	if len(s.flight) > 0 {
		s.seq++
	}
	return len(s.flight) > 0
}

// context is the context of the forward itself: for another floe cluster it
// says whether it saw this before.
func (s *link) context() proto.Context {
	if s.origin == "" {
		return nil
	}
	return repeatContext(s.origin, s.seq)
}

func (s *link) written([]entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = true
}

func (s *link) unwritten([]entry) {}

func (s *link) reply(r *proto.Reply, b *delivery.Burst) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ID != s.id {
		return
	}
	s.id, s.losses = 0, 0
	switch {
	case r.Status <= proto.StatusUserException:
		s.repeat, s.missing = false, 0
		s.receiver.Done(len(s.flight))
	case r.Status <= proto.StatusOperationNotExist:
		s.refused(r)
		return
	default:
		s.repeat = false
		s.receiver.Lose(len(s.flight), delivery.Refused)
		s.receiver.Fail(delivery.Failure{Class: delivery.Unwilling, Err: r.Err()})
	}
	if !s.receiver.Rest() {
		s.wanted(b)
	}
}

// refused deals with an answer that says that the peer has no such link
// object: nothing was executed, and where to send is asked for anew.
func (s *link) refused(r *proto.Reply) {
	s.back()
	s.leave()
	err := error(unwilling{r.Err()})
	if r.Status == proto.StatusObjectNotExist && s.origin == "" {
		err = s.absent(r.Err())
	}
	s.receiver.Fail(delivery.Failure{Class: classOf(err), Err: err})
}

// back puts the events under way back. Those for another floe cluster keep
// their sequence and are repeated.
func (s *link) back() {
	s.id = 0
	if s.origin != "" {
		s.repeat = true
		return
	}
	s.receiver.Return(s.flight)
}

func (s *link) lost(c *conn, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c {
		return
	}
	s.conn = nil
	underWay := s.id != 0
	doubtful := underWay && s.wrote && !errors.Is(cause, errPeerClosed)
	switch {
	case s.closed:
		return
	case doubtful:
		s.doubt(cause)
		return
	case underWay:
		s.wrote = false
		s.back()
	}
	if s.repeat || !s.receiver.Rest() {
		s.broke(cause)
	}
}

// doubt deals with a connection that broke before the answer came: an
// IceStorm gets nothing twice, another floe cluster knows repeats.
func (s *link) doubt(cause error) {
	s.id = 0
	if s.origin != "" {
		s.repeat, s.since = true, time.Now()
	} else {
		s.receiver.Lose(len(s.flight), delivery.Doubtful)
	}
	s.receiver.Fail(delivery.Failure{Class: delivery.Unreachable, Err: fmt.Errorf("%w: %w", ErrDoubtful, cause)})
}
