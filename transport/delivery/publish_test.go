package delivery

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"floe/topics"
	"floe/transport/ice/proto"
)

// discard is an opener whose senders take everything and keep nothing.
type discard struct{}

func (discard) Subscriber(r *Receiver, _ *topics.Topic, _ *topics.Subscription) Sender {
	return &discarder{r: r}
}
func (discard) Link(r *Receiver, _ *topics.Topic, _ *topics.Link) Sender { return &discarder{r: r} }

type discarder struct {
	r    *Receiver
	mu   sync.Mutex
	took []*Event
}

func (d *discarder) Ready(*Burst) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.r.Rest() {
		d.took = d.r.Take(d.took[:0], 100, 1<<20)
		d.r.Done(len(d.took))
	}
}
func (d *discarder) Urge()  {}
func (d *discarder) Close() {}

// TestPublishingDuringChanges publishes while everything else changes: no
// event may be counted twice or not at all, and nothing may be left open.
func TestPublishingDuringChanges(t *testing.T) {
	g := newGroup()
	g.create("a", "b")
	g.link("a", "b", 0)
	h := New(Config{Group: g, Opener: discard{}})
	ctx, stop := context.WithCancel(context.Background())
	var run, publishers sync.WaitGroup
	run.Go(func() { h.Run(ctx) })
	var done atomic.Bool
	for range 2 {
		publishers.Go(func() {
			ev := event("x", nil)
			for !done.Load() {
				h.Topic("a").Publish(ev, nil)
				h.Topic("a").PublishTo(topics.Identity{Name: "3"}, ev, nil)
				h.Stats()
			}
		})
	}
	for i := range 300 {
		id := fmt.Sprint(i % 7)
		g.subscribe("a", id)
		g.subscribe("b", id)
		g.unsubscribe("a", fmt.Sprint((i+3)%7))
		g.unsubscribe("b", fmt.Sprint((i+5)%7))
		runtime.Gosched()
	}
	done.Store(true)
	publishers.Wait()
	s := h.Stats()
	for _, topic := range s.Topics {
		for _, r := range topic.Receivers {
			if r.Offered != r.Delivered+r.Lost()+r.Queued {
				t.Errorf("counters don't add up: %+v", r)
			}
		}
	}
	stop()
	run.Wait()
	total := h.Stats().Total
	if total.Queued != 0 || total.Offered == 0 || total.Offered != total.Delivered+total.Lost() {
		t.Errorf("at the end: %+v", total)
	}
}

func TestPublishAllocatesNothing(t *testing.T) {
	g := newGroup()
	g.create("a")
	for i := range 8 {
		g.subscribe("a", fmt.Sprint(i))
	}
	h := start(t, Config{Group: g, Opener: discard{}})
	topic, ev := h.Topic("a"), event("x", nil)
	topic.Publish(ev, nil)
	if got := testing.AllocsPerRun(100, func() { topic.Publish(ev, nil) }); got != 0 {
		t.Errorf("got %v allocations per event, want 0", got)
	}
}

func TestEventCost(t *testing.T) {
	tests := []struct {
		context map[string]string
		want    int32
	}{{nil, 0}, {map[string]string{"cost": "5", "user": "joe"}, 5}, {map[string]string{"cost": "-3"}, -3}, {map[string]string{"Cost": "5"}, 0}}
	for _, test := range tests {
		if got := event("x", test.context).Cost; got != test.want {
			t.Errorf("%v: got %d, want %d", test.context, got, test.want)
		}
	}
	if _, err := NewEvent([]byte("\x05message")); err == nil {
		t.Error("a broken tail was accepted")
	}
}

func TestEventFromForward(t *testing.T) {
	for _, encaps := range [][]byte{nil, proto.AppendEmptyEncapsulation(nil, proto.Encoding10)} {
		e := proto.Event{Operation: []byte("op"), Mode: 2, Encaps: encaps, Context: proto.NewContext(map[string]string{"cost": "4"})}
		ev, err := EventFrom(&e)
		if parts := ev.Parts(); err != nil || string(parts.Operation) != "op" || parts.Mode != 2 || ev.Cost != 4 || len(parts.Encaps) != 6 {
			t.Errorf("got %+v, %v", ev, err)
		}
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d receivers", n), func(b *testing.B) {
			g := newGroup()
			g.create("a")
			for i := range n {
				g.subscribe("a", fmt.Sprint(i))
			}
			h := New(Config{Group: g, Opener: discard{}})
			topic, ev := h.Topic("a"), event("x", nil)
			b.ReportAllocs()
			for b.Loop() {
				topic.Publish(ev, nil)
			}
		})
	}
}
