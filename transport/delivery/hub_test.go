package delivery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeGroup is a replicated state of one node without Raft.
type fakeGroup struct {
	mu       sync.Mutex
	view     *fsm.View
	changed  chan struct{}
	refuse   error // what Propose fails with
	proposed []fsm.Op
}

func newGroup() *fakeGroup {
	return &fakeGroup{view: &fsm.View{Graph: topics.New("IceStorm")}, changed: make(chan struct{})}
}

func (g *fakeGroup) View() *fsm.View { g.mu.Lock(); defer g.mu.Unlock(); return g.view }

func (g *fakeGroup) Changed() <-chan struct{} { g.mu.Lock(); defer g.mu.Unlock(); return g.changed }

func (g *fakeGroup) Propose(_ context.Context, op fsm.Op, _ string) (fsm.Result, error) {
	g.mu.Lock()
	g.proposed = append(g.proposed, op)
	refuse := g.refuse
	g.mu.Unlock()
	if refuse != nil {
		return fsm.Result{}, refuse
	}
	for _, v := range op.(fsm.Reap).Verdicts {
		g.change(func(old *topics.Graph) *topics.Graph {
			next, _, _ := old.Unsubscribe(old.ByID(v.Topic).Name, v.Identity, v.Serial)
			return next
		})
	}
	return fsm.Result{}, nil
}

func (g *fakeGroup) proposals() int { g.mu.Lock(); defer g.mu.Unlock(); return len(g.proposed) }

func (g *fakeGroup) setRefuse(err error) { g.mu.Lock(); defer g.mu.Unlock(); g.refuse = err }

func (g *fakeGroup) change(f func(*topics.Graph) *topics.Graph) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.view = &fsm.View{Index: g.view.Index + 1, Graph: f(g.view.Graph)}
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *fakeGroup) create(names ...string) {
	for _, name := range names {
		g.change(func(old *topics.Graph) *topics.Graph { next, _, _ := old.Create(name); return next })
	}
}

func (g *fakeGroup) link(from, to string, cost int32) {
	g.change(func(old *topics.Graph) *topics.Graph { next, _, _ := old.Link(from, to, cost, false); return next })
}

func (g *fakeGroup) subscribe(topic, id string, qos ...topics.Setting) {
	s := topics.Subscription{Identity: topics.Identity{Name: id}, QoS: qos}
	g.change(func(old *topics.Graph) *topics.Graph { next, _, _ := old.Subscribe(topic, s); return next })
}

func (g *fakeGroup) unsubscribe(topic, id string) {
	g.change(func(old *topics.Graph) *topics.Graph {
		next, _, _ := old.Unsubscribe(topic, topics.Identity{Name: id}, 0)
		return next
	})
}

func (g *fakeGroup) subscribed(topic, id string) bool {
	return g.View().Graph.Topic(topic).Subscription(topics.Identity{Name: id}) != nil
}

// fakeOpener makes senders that note what they are given.
type fakeOpener struct {
	mu   sync.Mutex
	by   map[string]*fakeSender // topic/identity
	fail map[string]*Failure    // by identity; nil: works
}

func newOpener() *fakeOpener {
	return &fakeOpener{by: make(map[string]*fakeSender), fail: make(map[string]*Failure)}
}

func (o *fakeOpener) Subscriber(r *Receiver, t *topics.Topic, s *topics.Subscription) Sender {
	return o.open(r, t.Name, s.Identity.Name)
}

func (o *fakeOpener) Link(r *Receiver, t *topics.Topic, l *topics.Link) Sender {
	return o.open(r, t.Name, l.Remote.Identity.Name)
}

func (o *fakeOpener) open(r *Receiver, topic, id string) Sender {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &fakeSender{opener: o, r: r, id: id}
	o.by[topic+"/"+id] = s
	return s
}

func (o *fakeOpener) setFail(id string, f *Failure) { o.mu.Lock(); defer o.mu.Unlock(); o.fail[id] = f }

func (o *fakeOpener) got(key string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by[key] == nil {
		return nil
	}
	return append([]string(nil), o.by[key].got...)
}

// fakeSender sends at once, in the publisher's goroutine.
type fakeSender struct {
	opener *fakeOpener
	r      *Receiver
	id     string
	got    []string
	closed bool
}

func (s *fakeSender) Ready(*Burst) {
	s.opener.mu.Lock()
	defer s.opener.mu.Unlock()
	for !s.r.Rest() {
		events := s.r.Take(nil, 10, 1<<20)
		if f := s.opener.fail[s.id]; f != nil {
			s.r.Return(events)
			s.r.Fail(*f)
			return
		}
		for _, ev := range events {
			s.got = append(s.got, string(ev.Parts().Operation))
		}
		s.r.Done(len(events))
	}
}

func (s *fakeSender) Urge()  {}
func (s *fakeSender) Close() { s.opener.mu.Lock(); s.closed = true; s.opener.mu.Unlock() }

// event makes an event whose operation is its name.
func event(name string, context map[string]string) *Event {
	encaps := proto.AppendEmptyEncapsulation(nil, proto.Encoding11)
	ev, err := NewEvent(proto.AppendTail(nil, name, 0, proto.NewContext(context), encaps))
	if err != nil {
		panic(err)
	}
	return ev
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// start runs a hub until the test ends.
func start(t *testing.T, config Config) *Hub {
	t.Helper()
	h := New(config)
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })
	t.Cleanup(func() { stop(); wg.Wait() })
	return h
}

func TestOneHopAndCost(t *testing.T) {
	g, o := newGroup(), newOpener()
	g.create("a", "b", "c")
	g.link("a", "b", 0)
	g.link("a", "c", 1)
	g.link("b", "c", 0)
	for _, topic := range []string{"a", "b", "c"} {
		g.subscribe(topic, "s")
	}
	h := start(t, Config{Group: g, Opener: o})
	h.Topic("a").Publish(event("cheap", map[string]string{"cost": "1"}), nil)
	h.Topic("a").Publish(event("dear", map[string]string{"cost": "2"}), nil)
	h.Topic("b").Deliver(event("linked", nil), nil)
	got := map[string][]string{"a": o.got("a/s"), "b": o.got("b/s"), "c": o.got("c/s")}
	want := map[string][]string{"a": {"cheap", "dear"}, "b": {"cheap", "dear", "linked"}, "c": {"cheap"}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

func TestChangesAreFollowed(t *testing.T) {
	g, o := newGroup(), newOpener()
	g.create("a")
	h := start(t, Config{Group: g, Opener: o})
	if h.Topic("b") != nil || h.TopicByID(999) != nil {
		t.Error("a topic that is not there was found")
	}
	a := h.Topic("a")
	a.Publish(event("1", nil), nil)
	g.subscribe("a", "s")
	a.Publish(event("2", nil), nil)
	g.unsubscribe("a", "s")
	a.Publish(event("3", nil), nil)
	if diff := cmp.Diff(o.got("a/s"), []string{"2"}); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	eventually(t, "the sender is closed", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.by["a/s"].closed
	})
	g.change(func(old *topics.Graph) *topics.Graph { next, _ := old.Destroy("a"); return next })
	if a.Alive() {
		t.Error("a destroyed topic is alive")
	}
}

func TestPublishTo(t *testing.T) {
	g, o := newGroup(), newOpener()
	g.create("a")
	g.subscribe("a", "s")
	g.subscribe("a", "u")
	h := start(t, Config{Group: g, Opener: o})
	if !h.Topic("a").PublishTo(topics.Identity{Name: "s"}, event("x", nil), nil) {
		t.Error("no such subscriber: s")
	}
	if h.Topic("a").PublishTo(topics.Identity{Name: "nobody"}, event("x", nil), nil) {
		t.Error("published to nobody")
	}
	got := map[string][]string{"s": o.got("a/s"), "u": o.got("a/u")}
	if diff := cmp.Diff(got, map[string][]string{"s": {"x"}, "u": nil}); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

func TestRetryCountZeroIsRemovedAtFirstFailure(t *testing.T) {
	for _, class := range []Class{Unreachable, Unwilling, Hard} {
		t.Run(fmt.Sprint(class), func(t *testing.T) {
			g, o := newGroup(), newOpener()
			g.create("a")
			g.subscribe("a", "s")
			o.setFail("s", &Failure{class, errors.New("down")})
			h := start(t, Config{Group: g, Opener: o, ReapEvery: time.Millisecond})
			h.Topic("a").Publish(event("x", nil), nil)
			eventually(t, "the subscriber is removed", func() bool { return !g.subscribed("a", "s") })
			eventually(t, "its event is counted", func() bool { return h.Stats().Total.Dropped[Removed] == 1 })
		})
	}
}

func TestWordsOfTheOtherSideAreCut(t *testing.T) {
	g, o := newGroup(), newOpener()
	g.create("a")
	g.subscribe("a", "s", topics.Setting{Key: "retryCount", Value: "-1"})
	cause := errors.New(strings.Repeat("\u00e9", 1<<20))
	o.setFail("s", &Failure{Unwilling, cause})
	h := start(t, Config{Group: g, Opener: o, Interval: time.Hour, FirstDelay: time.Hour})
	h.Topic("a").Publish(event("x", nil), nil)
	var got string
	eventually(t, "the failure is noted", func() bool { got = h.Stats().Topics[0].Receivers[0].LastError; return got != "" })
	if len(got) > 600 || !utf8.ValidString(got) || !strings.HasPrefix(got, "\u00e9\u00e9") {
		t.Errorf("last error of %d bytes: %.20q", len(got), got)
	}
	if !errors.Is(brief(cause), cause) || brief(errors.New("down")).Error() != "down" {
		t.Error("the error itself is lost, or a short one is changed")
	}
}

func TestBacklogIsDeliveredAfterAnOutage(t *testing.T) {
	g, o := newGroup(), newOpener()
	g.create("a")
	g.subscribe("a", "s", topics.Setting{Key: "retryCount", Value: "-1"})
	o.setFail("s", &Failure{Unreachable, errors.New("down")})
	h := start(t, Config{Group: g, Opener: o, Interval: 200 * time.Millisecond, FirstDelay: time.Millisecond})
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
		h.Topic("a").Publish(event(fmt.Sprint(i), nil), nil)
	}
	o.setFail("s", nil)
	eventually(t, "the backlog is delivered", func() bool { return len(o.got("a/s")) >= 20 })
	if diff := cmp.Diff(o.got("a/s"), want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	if g.proposals() != 0 {
		t.Error("something was proposed")
	}
}

func TestSuccessResetsTheCount(t *testing.T) {
	g, o := newGroup(), newOpener()
	g.create("a")
	g.subscribe("a", "s", topics.Setting{Key: "retryCount", Value: "1"})
	const interval = 20 * time.Millisecond
	h := start(t, Config{Group: g, Opener: o, Interval: interval, FirstDelay: time.Millisecond, ReapEvery: time.Millisecond})
	for i := range 5 {
		o.setFail("s", &Failure{Unreachable, errors.New("down")})
		h.Topic("a").Publish(event("x", nil), nil)
		began := time.Now()
		o.setFail("s", nil)
		eventually(t, "it is delivered", func() bool { return len(o.got("a/s")) == i+1 })
		eventually(t, "the interval is over", func() bool { return time.Since(began) > interval })
	}
	if !g.subscribed("a", "s") || g.proposals() != 0 {
		t.Error("outages that ended were added up")
	}
}

func TestSecondOpinion(t *testing.T) {
	tests := []struct {
		name             string
		reachable, asked bool
		removed          bool
	}{
		{"nobody to ask", false, false, true},
		{"dead for the other too", false, true, true},
		{"the other reaches it", true, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, o := newGroup(), newOpener()
			g.create("a")
			g.subscribe("a", "s")
			o.setFail("s", &Failure{Unreachable, errors.New("down")})
			asked := make(chan struct{}, 100)
			h := start(t, Config{
				Group: g, Opener: o, ReapEvery: time.Millisecond, FirstDelay: time.Millisecond,
				Confirm: func(context.Context, []byte) (bool, bool) {
					asked <- struct{}{}
					return test.reachable, test.asked
				},
			})
			h.Topic("a").Publish(event("x", nil), nil)
			<-asked
			if test.removed {
				eventually(t, "it is removed", func() bool { return !g.subscribed("a", "s") })
				return
			}
			o.setFail("s", nil)
			eventually(t, "it is retried", func() bool { return len(o.got("a/s")) == 1 })
			if g.proposals() != 0 {
				t.Error("its removal was proposed")
			}
		})
	}
}

func TestSecondOpinionThatDoesNotComeInTime(t *testing.T) {
	defer func(d time.Duration) { confirmWithin = d }(confirmWithin)
	confirmWithin = 10 * time.Millisecond
	g, o := newGroup(), newOpener()
	g.create("a")
	g.subscribe("a", "s")
	o.setFail("s", &Failure{Unreachable, errors.New("down")})
	asked := make(chan struct{}, 1000)
	h := New(Config{
		Group: g, Opener: o, ReapEvery: time.Millisecond,
		Confirm: func(ctx context.Context, _ []byte) (bool, bool) {
			asked <- struct{}{}
			<-ctx.Done()
			return false, false
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })
	h.Topic("a").Publish(event("x", nil), nil)
	<-asked
	<-asked // once more
	stop()
	wg.Wait()
	if g.proposals() != 0 {
		t.Error("its removal was proposed")
	}
}

func TestSickNodeRemovesNobody(t *testing.T) {
	g, o := newGroup(), newOpener()
	g.create("a")
	for i := range 6 {
		id := fmt.Sprint(i)
		g.subscribe("a", id)
		o.setFail(id, &Failure{Unreachable, errors.New("down")})
	}
	h := start(t, Config{
		Group: g, Opener: o, ReapEvery: time.Millisecond, FirstDelay: time.Hour, MaxDelay: time.Hour,
		Confirm: func(context.Context, []byte) (bool, bool) { return false, true },
	})
	h.Topic("a").Publish(event("x", nil), nil)
	eventually(t, "the node says that it is sick", func() bool { return len(h.Problems()) == 1 })
	eventually(t, "all are spared", func() bool {
		spared := 0
		for _, r := range h.Stats().Topics[0].Receivers {
			if r.State == "retrying" {
				spared++
			}
		}
		return spared == 6
	})
	if g.proposals() != 0 {
		t.Error("a sick node proposed a removal")
	}
}

func TestFailedProposalIsRetriedUnlessItWorksAgain(t *testing.T) {
	g, o := newGroup(), newOpener()
	g.create("a")
	g.subscribe("a", "s")
	g.setRefuse(errors.New("no quorum"))
	o.setFail("s", &Failure{Unwilling, errors.New("down")})
	h := start(t, Config{Group: g, Opener: o, ReapEvery: time.Millisecond, FirstDelay: time.Millisecond, Interval: time.Hour})
	h.Topic("a").Publish(event("x", nil), nil)
	eventually(t, "the removal is proposed again", func() bool { return g.proposals() >= 2 })
	o.setFail("s", nil)
	eventually(t, "the event is delivered", func() bool { return len(o.got("a/s")) == 1 })
	h.reaper.mu.Lock()
	defer h.reaper.mu.Unlock()
	if len(h.reaper.ripe) != 0 {
		t.Error("the verdict was kept although the subscriber works again")
	}
}

func TestQueuePolicies(t *testing.T) {
	tests := []struct {
		policy  Policy
		removed bool
	}{{DropOldest, false}, {RemoveSubscriber, true}}
	for _, test := range tests {
		g, o := newGroup(), newOpener()
		g.create("a")
		g.subscribe("a", "s", topics.Setting{Key: "retryCount", Value: "-1"})
		o.setFail("s", &Failure{Unreachable, errors.New("down")})
		h := start(t, Config{
			Group: g, Opener: o, ReapEvery: time.Millisecond, FirstDelay: time.Hour, MaxDelay: time.Hour, Interval: time.Hour * 5,
			Queue: Limits{Events: 100, Policy: test.policy},
		})
		for i := range 300 {
			h.Topic("a").Publish(event(fmt.Sprint(i), nil), nil)
		}
		if test.removed {
			eventually(t, "it is removed", func() bool { return !g.subscribed("a", "s") })
			continue
		}
		s := h.Stats().Topics[0].Receivers[0]
		got := []uint64{s.Offered, s.Queued, s.Dropped[QueueFull]}
		if diff := cmp.Diff(got, []uint64{300, 100, 200}); diff != "" {
			t.Errorf("offered, queued, dropped: got (-) want (+):\n%s", diff)
		}
	}
}

func TestDrain(t *testing.T) {
	g, o := newGroup(), newOpener()
	g.create("a")
	g.subscribe("a", "s", topics.Setting{Key: "retryCount", Value: "-1"})
	h := start(t, Config{Group: g, Opener: o, FirstDelay: time.Hour, MaxDelay: time.Hour, Interval: 5 * time.Hour})
	h.Topic("a").Publish(event("x", nil), nil)
	if left := h.Drain(context.Background()); left != 0 {
		t.Errorf("got %d left, want 0", left)
	}
	o.setFail("s", &Failure{Unreachable, errors.New("down")})
	h.Topic("a").Publish(event("y", nil), nil)
	if left := h.Drain(context.Background()); left != 1 {
		t.Errorf("got %d left, want 1: nobody waits for a dead receiver", left)
	}
}

type fakeTap struct {
	mu  sync.Mutex
	got map[topics.ID]int
}

func (f *fakeTap) Wants(topics.ID) bool { return true }

func (f *fakeTap) Push(id topics.ID, _ *Event) { f.mu.Lock(); f.got[id]++; f.mu.Unlock() }

func TestTapSeesOneHop(t *testing.T) {
	g, o := newGroup(), newOpener()
	g.create("a", "b", "c")
	g.link("a", "b", 1)
	g.link("b", "c", 0)
	h := New(Config{Group: g, Opener: o})
	tap := &fakeTap{got: make(map[topics.ID]int)}
	h.Tap(tap)
	h.Topic("a").Publish(event("x", nil), nil)
	h.Topic("a").Publish(event("x", map[string]string{"cost": "9"}), nil)
	want := map[topics.ID]int{h.Topic("a").ID(): 2, h.Topic("b").ID(): 1}
	if diff := cmp.Diff(tap.got, want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

func TestRetryCount(t *testing.T) {
	tests := []struct {
		text string
		want int
	}{{"", 0}, {"abc", 0}, {"10abc", 10}, {"-1", -1}, {"-2", 0}, {" 3", 3}}
	for _, test := range tests {
		s := topics.Subscription{QoS: []topics.Setting{{Key: "retryCount", Value: test.text}}}
		if got := retries(&s); got != test.want {
			t.Errorf("%q: got %d, want %d", test.text, got, test.want)
		}
	}
}

func TestLinkThatMovesIsOpenedAnew(t *testing.T) {
	g, o := newGroup(), newOpener()
	g.create("a")
	link := func(cluster string, cost int32) {
		remote := topics.Remote{Identity: topics.Identity{Name: "topic.x"}, Cluster: cluster}
		g.change(func(old *topics.Graph) *topics.Graph {
			next, _, _ := old.LinkRemote("a", remote, cost, true)
			return next
		})
	}
	h := start(t, Config{Group: g, Opener: o})
	sender := func() *fakeSender {
		h.Topic("a").Publish(event("x", nil), nil)
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.by["a/topic.x"]
	}
	link("one", 0)
	first := sender()
	link("one", 5)
	if sender() != first {
		t.Error("a new cost made a new receiver")
	}
	link("two", 5)
	if second := sender(); second == first || len(second.got) != 1 {
		t.Error("a link that leads elsewhere kept its sender")
	}
}
