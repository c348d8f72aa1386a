package topics_test

import (
	"fmt"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"floe/topics"
)

// model is the graph written down naively, with nothing shared with the
// package but its types.
type model struct {
	topics map[string]bool
	links  map[[2]string]int32
	subs   map[[2]string]bool
}

func (m *model) dump() []string {
	var out []string
	for name := range m.topics {
		out = append(out, "topic "+name)
	}
	for l, cost := range m.links {
		out = append(out, fmt.Sprintf("link %s to %s cost %d", l[0], l[1], cost))
	}
	for s := range m.subs {
		out = append(out, fmt.Sprintf("sub %s on %s", s[1], s[0]))
	}
	sort.Strings(out)
	return out
}

func dump(g *topics.Graph) []string {
	var out []string
	for t := range g.All() {
		out = append(out, "topic "+t.Name)
		for _, l := range t.Links {
			out = append(out, fmt.Sprintf("link %s to %s cost %d", t.Name, g.ByID(l.To).Name, l.Cost))
		}
		for _, s := range t.Subscriptions {
			out = append(out, fmt.Sprintf("sub %s on %s", s.Identity.Name, t.Name))
		}
	}
	sort.Strings(out)
	return out
}

// reach says who gets an event, by the two rules alone.
func (m *model) reach(topic string, cost int32) []string {
	var out []string
	for s := range m.subs {
		if s[0] == topic {
			out = append(out, topic+":"+s[1])
		}
		if linkCost, linked := m.links[[2]string{topic, s[0]}]; linked && (linkCost == 0 || cost <= linkCost) {
			out = append(out, s[0]+":"+s[1])
		}
	}
	sort.Strings(out)
	return out
}

func TestGraphIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := topics.New("IceStorm")
		m := &model{topics: map[string]bool{}, links: map[[2]string]int32{}, subs: map[[2]string]bool{}}
		ids := map[topics.ID]string{}
		name := rapid.SampledFrom([]string{"", "a", "ab", "b", "c/d"})
		cost := rapid.Int32Range(-2, 2)
		same := func(err error, want bool) {
			if (err == nil) != want {
				t.Fatalf("got %v, the model says %v", err, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				n := name.Draw(t, "name")
				next, id, err := g.Create(n)
				same(err, !m.topics[n])
				if err == nil {
					if former, used := ids[id]; used {
						t.Fatalf("id %d of %q was %q's", id, n, former)
					}
					ids[id], m.topics[n] = n, true
				}
				g = next
			},
			"destroy": func(t *rapid.T) {
				n := name.Draw(t, "name")
				next, err := g.Destroy(n)
				same(err, m.topics[n])
				g = next
				delete(m.topics, n)
				for l := range m.links {
					if l[0] == n || l[1] == n {
						delete(m.links, l)
					}
				}
				for s := range m.subs {
					if s[0] == n {
						delete(m.subs, s)
					}
				}
			},
			"link": func(t *rapid.T) {
				a, b, c, replace := name.Draw(t, "from"), name.Draw(t, "to"), cost.Draw(t, "cost"), rapid.Bool().Draw(t, "replace")
				_, linked := m.links[[2]string{a, b}]
				next, _, err := g.Link(a, b, c, replace)
				same(err, m.topics[a] && m.topics[b] && (replace || !linked))
				if err == nil {
					m.links[[2]string{a, b}] = c
				}
				g = next
			},
			"unlink": func(t *rapid.T) {
				a, b := name.Draw(t, "from"), name.Draw(t, "to")
				_, linked := m.links[[2]string{a, b}]
				next, err := g.Unlink(a, topics.Identity{Name: "topic." + b, Category: "IceStorm"})
				same(err, linked)
				delete(m.links, [2]string{a, b})
				g = next
			},
			"subscribe": func(t *rapid.T) {
				n, s := name.Draw(t, "topic"), rapid.SampledFrom([]string{"s1", "s2"}).Draw(t, "subscriber")
				next, _, err := g.Subscribe(n, topics.Subscription{Identity: topics.Identity{Name: s}})
				same(err, m.topics[n] && !m.subs[[2]string{n, s}])
				if err == nil {
					m.subs[[2]string{n, s}] = true
				}
				g = next
			},
			"unsubscribe": func(t *rapid.T) {
				n, s := name.Draw(t, "topic"), rapid.SampledFrom([]string{"s1", "s2"}).Draw(t, "subscriber")
				next, removed, err := g.Unsubscribe(n, topics.Identity{Name: s}, 0)
				same(err, m.topics[n])
				if removed != m.subs[[2]string{n, s}] {
					t.Fatalf("unsubscribe %s from %s: removed = %v", s, n, removed)
				}
				delete(m.subs, [2]string{n, s})
				g = next
			},
			"": func(t *rapid.T) { check(t, g, m) },
		})
	})
}

func check(t *rapid.T, g *topics.Graph, m *model) {
	if got, want := dump(g), m.dump(); !slices.Equal(got, want) {
		t.Fatalf("graph %v\nmodel %v", got, want)
	}
	for n := range m.topics {
		for c := int32(-2); c <= 2; c++ {
			got := receivers(g, n, c)
			sort.Strings(got)
			if want := m.reach(n, c); !slices.Equal(got, want) {
				t.Fatalf("event of cost %d on %q reaches %v, want %v", c, n, got, want)
			}
		}
	}
	var all []topics.Topic
	for t := range g.All() {
		all = append(all, *t)
	}
	again, err := topics.Restore("IceStorm", g.Serial(), all)
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest() != g.Digest() || !slices.Equal(dump(again), dump(g)) {
		t.Fatalf("restored: digest %v, want %v", again.Digest(), g.Digest())
	}
	for topic := range g.All() {
		if got, want := again.ByID(topic.ID).From, topic.From; !slices.Equal(got, want) {
			t.Fatalf("restored %q: sources %v, want %v", topic.Name, got, want)
		}
	}
}

func BenchmarkPlanCurrent(b *testing.B) {
	g := topics.New("IceStorm")
	for i := range 10_000 {
		g, _, _ = g.Create(fmt.Sprintf("topic-%05d", i))
	}
	for i := range 8 {
		g, _, _ = g.Link("topic-00000", fmt.Sprintf("topic-%05d", i*1000+1), 0, false)
	}
	p := g.Plan(g.Topic("topic-00000").ID)
	b.ReportAllocs()
	for b.Loop() {
		if !p.Current(g) {
			b.Fatal("not current")
		}
	}
}
