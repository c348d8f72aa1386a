package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"floe/scripts/suite/ice"
	"floe/scripts/suite/lab"
	"floe/transport/ice/proto"
)

const (
	// pace is the time between two events.
	pace = 10 * time.Millisecond
	// callLimit is how long a publish may take before the publisher connects anew.
	callLimit = 5 * time.Second
	// arrivalLimit is how long the last events may be on their way.
	arrivalLimit = 5 * time.Second
)

// flow is one publisher, twoway, and a subscriber beside each node that stays well.
type flow struct {
	node    *lab.Node
	port    int
	servers []*ice.Server
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu      sync.Mutex
	next    int
	from    int // the first event that counts: the subscriptions are known everywhere
	acked   map[int]bool
	arrived []map[int]bool // one for each subscriber
	last    []time.Time
	gap     time.Duration // the longest without an event at a subscriber
}

// figures are what became of the events.
type figures struct {
	acked, refused, lost int
	gap                  time.Duration
}

// String is the figures on one line.
func (f *figures) String() string {
	return fmt.Sprintf("%d events accepted, %d not, %d lost, longest gap %d ms", f.acked, f.refused, f.lost, f.gap.Milliseconds())
}

const eventTopic = "events"

// startEvents returns once events arrive.
func (c *cluster) startEvents(ctx context.Context, well []*lab.Node) (*flow, error) {
	f := &flow{node: well[0], port: c.publishing, acked: map[int]bool{}, stop: func() {}}
	if err := c.write(ctx, well[0], eventTopic); err != nil {
		return nil, fmt.Errorf("create %s: %w", eventTopic, err)
	}
	publisher := proto.Identity{}
	for i, n := range well {
		identity, err := f.subscribe(n, i)
		if err != nil {
			f.close()
			return nil, fmt.Errorf("subscribe beside %s: %w", n.Name, err)
		}
		publisher = identity
	}
	ctx, f.stop = context.WithCancel(ctx)
	f.done.Go(func() { f.publish(ctx, publisher) })
	for begun := time.Now(); !f.flows(); {
		if time.Since(begun) > patience || !wait(ctx, pace) {
			f.close()
			return nil, fmt.Errorf("no events arrive at all subscribers")
		}
	}
	return f, nil
}

func dial(n *lab.Node, port int) (conn *ice.Conn, err error) {
	err = n.Within(func() (err error) {
		conn, err = ice.Dial(net.JoinHostPort(n.Host, strconv.Itoa(port)), callLimit)
		return err
	})
	return conn, err
}

// subscribe puts a subscriber beside a node, and returns the publisher's identity.
func (f *flow) subscribe(n *lab.Node, i int) (proto.Identity, error) {
	listener, err := n.Listen()
	if err != nil {
		return proto.Identity{}, err
	}
	server := ice.Serve(listener, func(r *proto.Request) { f.got(i, r) })
	f.servers, f.arrived, f.last = append(f.servers, server), append(f.arrived, map[int]bool{}), append(f.last, time.Time{})
	conn, err := dial(n, lab.IcePort)
	if err != nil {
		return proto.Identity{}, err
	}
	defer conn.Close()
	topic, err := conn.TopicProxy(eventTopic, callLimit)
	if err != nil {
		return proto.Identity{}, err
	}
	object, err := conn.Publisher(topic.Identity, callLimit)
	if err != nil {
		return proto.Identity{}, err
	}
	proxy := proto.NewProxy(proto.Identity{Name: n.Name, Category: "outage"}, server.Endpoint())
	return object.Identity, conn.Subscribe(topic.Identity, map[string]string{"retryCount": "-1"}, proxy, callLimit)
}

func (f *flow) got(i int, r *proto.Request) {
	now := time.Now()
	text, err := ice.ReadText(r.Encaps)
	number, err2 := strconv.Atoi(text)
	if err != nil || err2 != nil {
		return // the service asks whether we are there
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.arrived[i]) > 0 {
		f.gap = max(f.gap, now.Sub(f.last[i]))
	}
	f.last[i] = now
	f.arrived[i][number] = true
}

// publish publishes until ctx ends.
func (f *flow) publish(ctx context.Context, to proto.Identity) {
	var conn *ice.Conn
	for wait(ctx, pace) {
		if conn == nil {
			conn, _ = dial(f.node, f.port) // where that fails it is tried again
		}
		f.mu.Lock()
		f.next++
		number := f.next
		f.mu.Unlock()
		if conn == nil {
			continue
		}
		_, err := conn.Call(ice.Request{Identity: to, Operation: "event", Encaps: ice.Text(strconv.Itoa(number))}, callLimit)
		f.mu.Lock()
		f.acked[number] = err == nil
		f.mu.Unlock()
		if err != nil {
			conn.Close()
			conn = nil
		}
	}
	if conn != nil {
		conn.Close()
	}
}

// flows tells whether each subscriber has had some events, from which on they count.
func (f *flow) flows() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.arrived {
		if len(a) < 20 {
			return false
		}
	}
	f.gap, f.from = 0, f.next+1
	return true
}

// figures ends the publisher, and counts once all has arrived, or nothing more does.
func (f *flow) figures(ctx context.Context) *figures {
	f.stop()
	f.done.Wait()
	begun := time.Now()
	for {
		got := f.count()
		if got.lost == 0 || time.Since(begun) > arrivalLimit || !wait(ctx, pace) {
			return got
		}
	}
}

func (f *flow) count() *figures {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &figures{refused: f.next - f.from + 1, gap: f.gap}
	for number, acked := range f.acked {
		if !acked || number < f.from {
			continue
		}
		out.acked++
		for i := range f.arrived {
			if !f.arrived[i][number] {
				out.lost++
			}
		}
	}
	out.refused -= out.acked
	for _, last := range f.last { // it may have ended with a gap
		out.gap = max(out.gap, time.Since(last)-arrivalLimit)
	}
	return out
}

func (f *flow) close() {
	f.stop()
	f.done.Wait()
	for _, s := range f.servers {
		s.Close()
	}
}
