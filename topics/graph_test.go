package topics_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/topics"
)

// must returns a builder that ends the test on a refusal.
type builder struct {
	t *testing.T
	g *topics.Graph
}

func build(t *testing.T) *builder { return &builder{t: t, g: topics.New("IceStorm")} }

func (b *builder) create(names ...string) *builder {
	b.t.Helper()
	for _, name := range names {
		g, _, err := b.g.Create(name)
		b.check(g, err)
	}
	return b
}

func (b *builder) link(from, to string, cost int32) *builder {
	b.t.Helper()
	g, _, err := b.g.Link(from, to, cost, false)
	b.check(g, err)
	return b
}

func (b *builder) subscribe(topic, name string) *builder {
	b.t.Helper()
	g, _, err := b.g.Subscribe(topic, topics.Subscription{Identity: topics.Identity{Name: name}})
	b.check(g, err)
	return b
}

func (b *builder) check(g *topics.Graph, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	b.g = g
}

// receivers lists "topic:subscriber" for an event, in delivery order.
func receivers(g *topics.Graph, topic string, cost int32) []string {
	var out []string
	add := func(t *topics.Topic) {
		for _, s := range t.Subscriptions {
			out = append(out, t.Name+":"+s.Identity.Name)
		}
	}
	p := g.Plan(g.Topic(topic).ID)
	add(p.Topic)
	for _, h := range p.Hops {
		if h.Target != nil && topics.Passes(h.Link.Cost, cost) {
			add(h.Target)
		}
	}
	return out
}

func TestEventCrossesAtMostOneLink(t *testing.T) {
	g := build(t).create("A", "B", "C").link("A", "B", 0).link("B", "C", 0).
		subscribe("A", "a").subscribe("B", "b").subscribe("C", "c").g
	for topic, want := range map[string][]string{"A": {"A:a", "B:b"}, "B": {"B:b", "C:c"}, "C": {"C:c"}} {
		if got := receivers(g, topic, 0); !slices.Equal(got, want) {
			t.Errorf("event on %s reaches %v, want %v", topic, got, want)
		}
	}
}

func TestDiamondGivesOneCopyForEachLink(t *testing.T) {
	g := build(t).create("x", "y", "w").link("x", "y", 0).link("x", "w", 0).link("y", "w", 0).subscribe("w", "s").g
	if got, want := receivers(g, "x", 0), []string{"w:s"}; !slices.Equal(got, want) {
		t.Errorf("event on x reaches %v, want %v", got, want)
	}
}

func TestLinkToItselfDeliversTwice(t *testing.T) {
	g := build(t).create("A").link("A", "A", 0).subscribe("A", "s").g
	if got, want := receivers(g, "A", 0), []string{"A:s", "A:s"}; !slices.Equal(got, want) {
		t.Errorf("event on A reaches %v, want %v", got, want)
	}
	g, err := g.Destroy("A")
	if err != nil || g.Len() != 0 || g.Digest() != (topics.Digest{}) {
		t.Errorf("destroy: %v, %d topics left, digest %v", err, g.Len(), g.Digest())
	}
}

func TestCycleWithCosts(t *testing.T) {
	g := build(t).create("A", "B").link("A", "B", 2).link("B", "A", -1).subscribe("A", "a").subscribe("B", "b").g
	for _, c := range []struct {
		topic string
		cost  int32
		want  []string
	}{
		{"A", 2, []string{"A:a", "B:b"}}, {"A", 3, []string{"A:a"}}, {"A", -9, []string{"A:a", "B:b"}},
		{"B", 0, []string{"B:b"}}, {"B", -1, []string{"B:b", "A:a"}},
	} {
		if got := receivers(g, c.topic, c.cost); !slices.Equal(got, c.want) {
			t.Errorf("event of cost %d on %s reaches %v, want %v", c.cost, c.topic, got, c.want)
		}
	}
}

func TestPasses(t *testing.T) {
	for _, c := range []struct {
		link, event int32
		want        bool
	}{
		{0, 0, true}, {0, 1 << 30, true}, {0, -5, true},
		{1, 0, true}, {1, 1, true}, {1, 2, false}, {1, -5, true},
		{-2, 0, false}, {-2, -2, true}, {-2, -1, false}, {-2, -3, true},
	} {
		if got := topics.Passes(c.link, c.event); got != c.want {
			t.Errorf("Passes(%d, %d) = %v, want %v", c.link, c.event, got, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	g := build(t).create("A", "B").link("A", "B", 1).subscribe("A", "s").g
	try := func(_ *topics.Graph, err error) error { return err }
	try3 := func(_ *topics.Graph, _ uint64, err error) error { return err }
	create := func(name string) error { _, _, err := g.Create(name); return err }
	b := topics.Identity{Name: "topic.B", Category: "IceStorm"}
	for name, c := range map[string]struct {
		err  error
		kind topics.Kind
		text string
	}{
		"create twice":             {create("A"), topics.ErrExists, `"A": topic exists`},
		"too long a name":          {create(strings.Repeat("x", 256)), topics.ErrName, `not a topic name`},
		"no UTF-8":                 {create("a\xff"), topics.ErrName, `not a topic name`},
		"destroy unknown":          {try(g.Destroy("Z")), topics.ErrNoTopic, `"Z": no such topic`},
		"link from unknown":        {try3(g.Link("Z", "Y", 0, false)), topics.ErrNoTopic, `"Z"`},
		"link to unknown":          {try3(g.Link("A", "Y", 0, false)), topics.ErrNoTopic, `"Y"`},
		"link twice":               {try3(g.Link("A", "B", 7, false)), topics.ErrLinkExists, `"B": link exists`},
		"remote of equal identity": {try3(g.LinkRemote("A", topics.Remote{Identity: b}, 0, false)), topics.ErrLinkExists, `"B"`},
		"unlink unknown":           {try(g.Unlink("B", b)), topics.ErrNoLink, `"B": no such link`},
		"unlink from unknown":      {try(g.Unlink("Z", b)), topics.ErrNoTopic, `"Z"`},
		"subscribe twice":          {try3(g.Subscribe("A", topics.Subscription{Identity: topics.Identity{Name: "s"}})), topics.ErrSubscribed, `"s"`},
		"subscribe a linked topic": {try3(g.Subscribe("A", topics.Subscription{Identity: b})), topics.ErrSubscribed, ``},
		"subscribe to unknown":     {try3(g.Subscribe("Z", topics.Subscription{})), topics.ErrNoTopic, `"Z"`},
	} {
		if !errors.Is(c.err, c.kind) || !strings.Contains(c.err.Error(), c.text) {
			t.Errorf("%s: got %v, want %v with text %q", name, c.err, c.kind, c.text)
		}
	}
}

func TestReplaceChangesOnlyTheCost(t *testing.T) {
	b := build(t).create("A", "B", "C").link("A", "B", 1).link("A", "C", 1)
	before := b.g.Topic("A").Links
	g, serial, err := b.g.Link("A", "B", -7, true)
	if err != nil {
		t.Fatal(err)
	}
	got := g.Topic("A").Links
	want := slices.Clone(before)
	want[0].Cost = -7
	if diff := cmp.Diff(got, want); diff != "" || serial != before[0].Serial {
		t.Errorf("links after replace (-got +want), serial %d:\n%s", serial, diff)
	}
	if before[0].Cost != 1 {
		t.Error("the former graph changed")
	}
}

func TestDestroyRemovesLinksBothWaysForGood(t *testing.T) {
	b := build(t).create("A", "B", "C").link("A", "B", 0).link("B", "C", 0).link("C", "B", 0)
	g, err := b.g.Destroy("B")
	if err != nil {
		t.Fatal(err)
	}
	g, id, err := g.Create("B")
	if err != nil {
		t.Fatal(err)
	}
	for topic := range g.All() {
		if len(topic.Links) != 0 || len(topic.From) != 0 {
			t.Errorf("%s still has links %v, sources %v", topic.Name, topic.Links, topic.From)
		}
	}
	if old := b.g.Topic("B").ID; id == old {
		t.Errorf("the new B has the old id %d", old)
	}
}

// A graph never changes, its digest included: the leader tries each change on the graph that everybody reads.
func TestNoChangeTouchesTheGraphItStartsFrom(t *testing.T) {
	b := build(t).create("A", "B", "C").link("A", "B", 0).subscribe("C", "s").subscribe("A", "s")
	g, before := b.g, b.g.Digest()
	for name, change := range map[string]func() error{
		"create":           func() error { _, _, err := g.Create("D"); return err },
		"destroy":          func() error { _, err := g.Destroy("C"); return err },
		"destroy a source": func() error { _, err := g.Destroy("A"); return err },
		"destroy a target": func() error { _, err := g.Destroy("B"); return err },
		"link":             func() error { _, _, err := g.Link("B", "C", 1, false); return err },
		"link to itself":   func() error { _, _, err := g.Link("B", "B", 1, false); return err },
		"replace the cost": func() error { _, _, err := g.Link("A", "B", 1, true); return err },
		"unlink":           func() error { _, err := g.Unlink("A", g.Identity(g.Topic("B"))); return err },
		"subscribe": func() error {
			_, _, err := g.Subscribe("C", topics.Subscription{Identity: topics.Identity{Name: "s2"}})
			return err
		},
		"unsubscribe": func() error { _, _, err := g.Unsubscribe("C", topics.Identity{Name: "s"}, 0); return err },
	} {
		if err := change(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := g.Digest(); got != before {
			t.Errorf("%s: the digest was %v, now %v", name, before, got)
			before = got
		}
	}
}

func TestUnsubscribeByIncarnation(t *testing.T) {
	b := build(t).create("A").subscribe("A", "s")
	s := topics.Identity{Name: "s"}
	old := b.g.Topic("A").Subscription(s).Serial
	g, _, _ := b.g.Unsubscribe("A", s, 0)
	g, _, err := g.Subscribe("A", topics.Subscription{Identity: s})
	if err != nil {
		t.Fatal(err)
	}
	g, removed, _ := g.Unsubscribe("A", s, old)
	if removed || g.Topic("A").Subscription(s) == nil {
		t.Error("an old verdict removed the new subscription")
	}
	if _, removed, _ = g.Unsubscribe("A", s, g.Topic("A").Subscription(s).Serial); !removed {
		t.Error("the right incarnation was not removed")
	}
}

func TestQoSIsCanonical(t *testing.T) {
	g, _, err := build(t).create("A").g.Subscribe("A", topics.Subscription{
		QoS: []topics.Setting{{Key: "b", Value: "1"}, {Key: "a", Value: "2"}, {Key: "b", Value: "3"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []topics.Setting{{Key: "a", Value: "2"}, {Key: "b", Value: "1"}}
	if diff := cmp.Diff(g.Topic("A").Subscriptions[0].QoS, want); diff != "" {
		t.Errorf("QoS (-got +want):\n%s", diff)
	}
}

func TestAllIsSortedBytewise(t *testing.T) {
	g := build(t).create("b", "", "ab", "a", "a/b", "é", "B").g
	var got []string
	for topic := range g.All() {
		got = append(got, topic.Name)
	}
	if want := []string{"", "B", "a", "a/b", "ab", "b", "é"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlanKnowsWhenItIsOutdated(t *testing.T) {
	b := build(t).create("A", "B", "C").link("A", "B", 0)
	p := b.g.Plan(b.g.Topic("A").ID)
	steps := map[string]struct {
		g    *topics.Graph
		want bool
	}{
		"same graph":          {b.g, true},
		"target subscribes":   {(&builder{t, b.g}).subscribe("B", "s").g, false},
		"unrelated subscribe": {(&builder{t, b.g}).subscribe("C", "s").g, true},
		"own subscribe":       {(&builder{t, b.g}).subscribe("A", "s").g, false},
		"new topic":           {(&builder{t, b.g}).create("D").g, true},
	}
	for name, s := range steps {
		if got := p.Current(s.g); got != s.want {
			t.Errorf("%s: current = %v, want %v", name, got, s.want)
		}
	}
}
