package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

func TestPayload(t *testing.T) {
	for _, n := range []int{0, 1, 254, 255, 70000} {
		data := bytes.Repeat([]byte{7}, n)
		got, ok := Data(Payload(data))
		if !ok || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: got %d bytes, %t", n, len(got), ok)
		}
	}
	if d := cmp.Diff([]byte{8, 0, 0, 0, 1, 1, 1, 'x'}, Payload([]byte("x"))); d != "" {
		t.Error(d)
	}
}

// Anything else than one sequence<byte> in encoding 1.1 stays as it is.
func TestOtherEncapsulations(t *testing.T) {
	for name, b := range map[string][]byte{
		"encoding 1.0":       {8, 0, 0, 0, 1, 0, 1, 'x'},
		"no parameters":      {6, 0, 0, 0, 1, 1},
		"a byte more":        {9, 0, 0, 0, 1, 1, 1, 'x', 0},
		"a byte less":        {8, 0, 0, 0, 1, 1, 2, 'x'},
		"an optional after":  {9, 0, 0, 0, 1, 1, 1, 'x', 0xff},
		"a size in 5 bytes":  {12, 0, 0, 0, 1, 1, 255, 1, 0, 0, 0, 'x'},
		"an int":             {10, 0, 0, 0, 1, 1, 42, 0, 0, 0},
		"an unknown version": {8, 0, 0, 0, 2, 2, 1, 'x'},
		"cut":                {8, 0, 0},
	} {
		if data, ok := Data(b); ok {
			t.Errorf("%s: got %q", name, data)
		}
	}
}

func FuzzData(f *testing.F) {
	f.Add(Payload([]byte("hello")))
	f.Add([]byte{6, 0, 0, 0, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if data, ok := Data(b); ok && !bytes.Equal(Payload(data), b) {
			t.Fatalf("%x", b)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add(interestFrame(3, []topics.ID{1, 1 << 40}))
	f.Add(frameHead(frameAck, 9))
	f.Add(append(frameHead(frameEvent, 1), "tail"...))
	f.Add(frameHead(frameRepeat, 1))
	f.Add(frameHead(frameMissed, 1<<63))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseFrame(b)
		if err != nil {
			return
		}
		again := append(frameHead(p.kind, p.number), p.tail...)
		if p.kind == frameInterest {
			again = interestFrame(p.number, p.ids)
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}

// next returns the next line within a few seconds.
func next(t *testing.T, s *Subscriber) Line {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	line, err := s.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func subscribe(t *testing.T, n *Native, names ...string) *Subscriber {
	t.Helper()
	s, err := n.Subscribe(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func publish(t *testing.T, n *Native, topic string, m Message) {
	t.Helper()
	if err := n.Publish(t.Context(), topic, m); err != nil {
		t.Fatal(err)
	}
}

// An event published on one node reaches subscribers of another, of its
// topic and of those one link away, and travels once.
func TestRoundTripOverTwoNodes(t *testing.T) {
	g := newGroup(t, "A", "B", "C")
	g.do(t, fsm.Link{From: "A", To: "B", Cost: 0})
	g.do(t, fsm.Link{From: "B", To: "C", Cost: 0})
	net := newNet(t, g)
	n1, n2 := net.start("n1"), net.start("n2")
	s := subscribe(t, n2, "A", "B", "C")
	second := subscribe(t, n2, "A")
	publish(t, n1, "A", Message{Data: []byte("hello"), Context: map[string]string{"cost": "-3", "k": "v"}})

	want := Received{Topic: "A", Operation: "message", Cost: -3, Context: map[string]string{"cost": "-3", "k": "v"}, Data: []byte("hello")}
	for _, topic := range []string{"A", "B"} {
		want.Topic = topic
		if d := cmp.Diff(&want, next(t, s).Event); d != "" {
			t.Error(d)
		}
	}
	want.Topic = "A"
	if d := cmp.Diff(&want, next(t, second).Event); d != "" {
		t.Error(d)
	}
	if e, r := net.frames(frameEvent), net.frames(frameRepeat); e != 1 || r != 1 {
		t.Errorf("got %d copies and %d repeats, want one each", e, r)
	}

	publish(t, n2, "C", Message{Operation: "op", Data: nil})
	got := next(t, s)
	if got.Event.Topic != "C" || got.Event.Operation != "op" || len(got.Event.Data) != 0 || got.Event.Encapsulation {
		t.Errorf("got %+v", got.Event)
	}
	if e := net.frames(frameEvent); e != 1 {
		t.Errorf("an event of the subscriber's own node travelled: %d copies", e)
	}
}

func TestForeignEventsKeepTheirEncapsulation(t *testing.T) {
	net := newNet(t, newGroup(t, "A"))
	n1, n2 := net.start("n1"), net.start("n2")
	s := subscribe(t, n2, "A")
	params := []byte{10, 0, 0, 0, 1, 0, 42, 0, 0, 0}
	ev, err := delivery.NewEvent(proto.AppendTail(nil, "tick", 2, nil, params))
	if err != nil {
		t.Fatal(err)
	}
	n1.config.Hub.Topic("A").Publish(ev, nil)
	got := next(t, s).Event
	if !got.Encapsulation || !bytes.Equal(got.Data, params) || got.Operation != "tick" {
		t.Errorf("got %+v", got)
	}
}

// A connection that breaks is told as a gap, and comes back by itself.
func TestReconnects(t *testing.T) {
	net := newNet(t, newGroup(t, "A"))
	n1, n2 := net.start("n1"), net.start("n2")
	s := subscribe(t, n2, "A")
	net.setCut("n1", true)
	if line := next(t, s); !strings.Contains(line.Gap, "node n1 was lost") {
		t.Errorf("got %+v", line)
	}
	publish(t, n1, "A", Message{Data: []byte("lost")})
	net.setCut("n1", false)
	for i := 0; ; i++ {
		publish(t, n1, "A", Message{Data: fmt.Append(nil, i)})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		line, err := s.Next(ctx)
		cancel()
		if err == nil && line.Event != nil {
			if string(line.Event.Data) == "lost" {
				t.Error("got an event from before")
			}
			return
		}
		if i > 200 {
			t.Fatal("no event after the connection came back")
		}
	}
}

// A subscription is not held up by a node that can't be reached.
func TestUnreachableNode(t *testing.T) {
	g := newGroup(t, "A")
	net := newNet(t, g)
	n1 := net.start("n1")
	g.do(t, fsm.SetMember{Member: fsm.Member{ID: "n9"}})
	start := time.Now()
	subscribe(t, n1, "A")
	if d := time.Since(start); d > settleTime/2 {
		t.Errorf("took %s", d)
	}
}

// What does not fit goes, oldest first, and is counted and told.
func TestFullQueue(t *testing.T) {
	net := newNet(t, newGroup(t, "A"))
	n := net.start("n1", func(c *Config) { c.QueueEvents = 10 })
	s := subscribe(t, n, "A")
	for i := range 25 {
		publish(t, n, "A", Message{Data: fmt.Append(nil, i)})
	}
	line := next(t, s)
	if line.Missed != 15 || string(line.Event.Data) != "15" {
		t.Errorf("got %+v, want 15 missed and event 15", line)
	}
	for i := 16; i < 25; i++ {
		if line := next(t, s); line.Missed != 0 || string(line.Event.Data) != fmt.Sprint(i) {
			t.Errorf("got %+v, want event %d", line, i)
		}
	}
	if d := cmp.Diff(Stats{Offered: 25, Delivered: 10, Dropped: 15, Subscribers: 1, Topics: 1}, n.Stats()); d != "" {
		t.Error(d)
	}
}

func TestQueueBoundsBytes(t *testing.T) {
	q := newQueue(1000, 10_000, &counter{})
	ev, err := delivery.NewEvent(proto.AppendTail(nil, "op", 0, nil, Payload(make([]byte, 900))))
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		q.put(item{1, ev})
	}
	if n := q.len(); n < 5 || n > 10 || cap(q.items) > 1000 {
		t.Errorf("holds %d events in room for %d", n, cap(q.items))
	}
}

// TestPushAfterClose: an event on its way to a subscriber that closes is
// offered and dropped; the figures add up.
func TestPushAfterClose(t *testing.T) {
	g := newGroup(t, "A")
	n := newNet(t, g).start("n1")
	s := subscribe(t, n, "A")
	ev, err := n.config.Hub.NewEvent(mustTail(t, Message{Data: []byte("x")}))
	if err != nil {
		t.Fatal(err)
	}
	w := n.wants.Load() // as a publisher has it
	n.pushLocal(w, s.id("A"), ev)
	s.Close()
	n.pushLocal(w, s.id("A"), ev)
	if got := n.Stats(); got.Offered != 2 || got.Dropped != 2 || got.Queued != 0 {
		t.Errorf("got %+v, want 2 offered and dropped", got)
	}
}

func mustTail(t *testing.T, m Message) []byte {
	t.Helper()
	tail, err := m.tail()
	if err != nil {
		t.Fatal(err)
	}
	return tail
}

func (s *Subscriber) id(name string) topics.ID {
	for id, n := range s.names {
		if n == name {
			return id
		}
	}
	return 0
}

func TestNoSuchTopic(t *testing.T) {
	net := newNet(t, newGroup(t, "A"))
	n := net.start("n1")
	var refused *fsm.Refusal
	if _, err := n.Subscribe(t.Context(), []string{"A", "zz"}); !errors.As(err, &refused) || refused.Kind != topics.ErrNoTopic {
		t.Errorf("got %v", err)
	}
	if err := n.Publish(t.Context(), "zz", Message{}); !errors.As(err, &refused) || refused.Kind != topics.ErrNoTopic {
		t.Errorf("got %v", err)
	}
}

func TestMessagesThatAreNone(t *testing.T) {
	net := newNet(t, newGroup(t, "A"))
	n := net.start("n1", func(c *Config) { c.MessageSizeMax = 1000 })
	var large *TooLarge
	if err := n.Publish(t.Context(), "A", Message{Data: make([]byte, 1000)}); !errors.As(err, &large) {
		t.Errorf("got %v", err)
	}
	var invalid *Invalid
	if err := n.Publish(t.Context(), "A", Message{Data: []byte("\xff"), Text: true}); !errors.As(err, &invalid) {
		t.Errorf("got %v", err)
	}
}

func TestDestroyedTopicIsTold(t *testing.T) {
	g := newGroup(t, "A")
	n := newNet(t, g).start("n1")
	s := subscribe(t, n, "A")
	g.do(t, fsm.DestroyTopic{Name: "A"})
	if line := next(t, s); line.Gap != `topic "A" was destroyed` {
		t.Errorf("got %+v", line)
	}
}

// Frames that break the exchange end the stream, and nothing else.
func TestBadFrames(t *testing.T) {
	n := newNet(t, newGroup(t, "A")).start("n1")
	for _, b := range [][]byte{{}, {'I'}, append(frameHead(frameInterest, 1), 1), frameHead(frameAck, 1), frameHead('Z', 1)} {
		a, server := newStreams()
		a.out <- b
		if err := n.Serve(t.Context(), "x", server); !errors.Is(err, errFrame) {
			t.Errorf("%x: got %v", b, err)
		}
	}
	for _, b := range [][]byte{frameHead(frameRepeat, 1), append(frameHead(frameEvent, 1), "no tail"...), interestFrame(1, nil)} {
		a, client := newStreams()
		a.out <- b
		if err := n.takeEvents(&inlet{}, client); err == nil {
			t.Errorf("%x: no error", b)
		}
	}
}

// A publisher is never held up, whatever becomes of the other node.
func TestStuckPeerHoldsNobodyUp(t *testing.T) {
	net := newNet(t, newGroup(t, "A"))
	n := net.start("n1", func(c *Config) { c.QueueEvents = 10 })
	a, b := newStreams()
	b.out = make(chan []byte) // nobody reads
	a.out <- interestFrame(1, []topics.ID{n.config.Hub.Topic("A").ID()})
	done := make(chan error)
	go func() { done <- n.Serve(t.Context(), "x", b) }()
	await(t, n, func() bool { return n.Wants(n.config.Hub.Topic("A").ID()) })
	for range 1000 {
		publish(t, n, "A", Message{Data: []byte("x")})
	}
	a.Abort()
	<-done
	if n.Wants(n.config.Hub.Topic("A").ID()) {
		t.Error("the interest stayed")
	}
	if got := n.Stats().DroppedBetween; got != 1000 {
		t.Errorf("%d events counted as dropped between the nodes, want 1000", got)
	}
}

// await waits until cond holds; it looks at each change of who wants what.
func await(t *testing.T, n *Native, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		n.mu.Lock()
		changed := n.changed
		n.mu.Unlock()
		if cond() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("it never came to that")
		}
	}
}
