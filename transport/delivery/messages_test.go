package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/topics"
)

func (g *fakeGroup) linkMessages(from, to string, cost int32) {
	m, err := topics.ParseMessages(to)
	if err != nil {
		panic(err)
	}
	g.change(func(old *topics.Graph) *topics.Graph {
		next, _, _ := old.LinkRemote(from, topics.ToMessages(m), cost, false)
		return next
	})
}

// outbox notes the events that leave as messages.
type outbox struct {
	mu   sync.Mutex
	sent []string
	fail error
}

func (o *outbox) send(to topics.Messages, ev *Event) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fail == nil {
		o.sent = append(o.sent, fmt.Sprintf("%s as %v", ev.Parts().Operation, to))
	}
	return o.fail
}

func TestEventsLeaveAsMessagesByTheSameRules(t *testing.T) {
	g, o, out := newGroup(), newOpener(), &outbox{}
	g.create("a", "b")
	g.link("a", "b", 0)
	g.linkMessages("a", "7", 1)
	g.linkMessages("a", "7/3", 0)
	g.linkMessages("b", "8", 0)
	g.subscribe("b", "s")
	h := start(t, Config{Group: g, Opener: o, Messages: out.send})
	h.Topic("a").Publish(event("cheap", map[string]string{"cost": "1"}), nil)
	h.Topic("a").Publish(event("dear", map[string]string{"cost": "2"}), nil)
	h.Topic("b").Deliver(event("linked", nil), nil)
	if err := h.DeliverMessage("b", event("message", nil)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(out.sent, []string{"cheap as 7", "cheap as 7/3", "dear as 7/3"}); diff != "" {
		t.Errorf("sent (-) want (+):\n%s", diff)
	}
	if diff := cmp.Diff(o.got("b/s"), []string{"cheap", "dear", "linked", "message"}); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	g.change(func(old *topics.Graph) *topics.Graph {
		next, _ := old.Unlink("a", topics.Identity{Name: "7/3", Category: "rmr"})
		return next
	})
	h.Topic("a").Publish(event("late", nil), nil)
	if got, want := out.sent[3:], []string{"late as 7"}; !cmp.Equal(got, want) {
		t.Errorf("after unlink: %v, want %v", got, want)
	}
}

func TestMessageForNoTopicIsAnError(t *testing.T) {
	h := start(t, Config{Group: newGroup(), Opener: newOpener()})
	if err := h.DeliverMessage("a", event("x", nil)); !errors.Is(err, topics.ErrNoTopic) {
		t.Errorf("got %v, want %v", err, topics.ErrNoTopic)
	}
}

func TestEventsThatCanNotLeaveAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		send   func(topics.Messages, *Event) error
		reason Reason
		text   string
	}{
		"a reason of its own": {(&outbox{fail: &Unsent{BadMEID, "too long"}}).send, BadMEID, "too long"},
		"any error":           {(&outbox{fail: errors.New("broken")}).send, Refused, "broken"},
		"nobody to send":      {nil, Refused, "this node sends no messages"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup()
			g.create("a")
			g.linkMessages("a", "7", 0)
			h := start(t, Config{Group: g, Opener: newOpener(), Messages: c.send})
			h.Topic("a").Publish(event("x", nil), nil)
			h.Topic("a").Publish(event("y", nil), nil)
			s := h.Stats().Topics[0].Receivers[0]
			want := Counts{Offered: 2}
			want.Dropped[c.reason] = 2
			if diff := cmp.Diff(s.Counts, want); diff != "" || s.LastError != c.text || s.LastFailure.IsZero() || s.State != "idle" || !s.Link {
				t.Errorf("figures %+v\n%s", s, diff)
			}
		})
	}
}

// The figures of one that works, and that a closed one counts nothing more.
func TestFiguresOfLinksToMessages(t *testing.T) {
	g, out := newGroup(), &outbox{}
	g.create("a")
	g.linkMessages("a", "7", 0)
	h := New(Config{Group: g, Opener: newOpener(), Messages: out.send})
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })
	a := h.Topic("a")
	a.Publish(event("x", nil), nil)
	stop()
	wg.Wait()
	a.Publish(event("y", nil), nil)
	if got, want := h.Stats().Total, (Counts{Offered: 1, Delivered: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func BenchmarkPublishToMessages(b *testing.B) {
	g := newGroup()
	g.create("a")
	g.linkMessages("a", "7", 0)
	h := New(Config{Group: g, Opener: newOpener(), Messages: func(topics.Messages, *Event) error { return nil }})
	a, ev := h.Topic("a"), event("x", nil)
	b.ReportAllocs()
	for b.Loop() {
		a.Publish(ev, nil)
	}
}
