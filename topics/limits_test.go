package topics_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"floe/topics"
)

// full is a graph with as many topics as there may be. Its first topic has as many links and its second as many
// subscriptions as one may have.
func full(t *testing.T) *topics.Graph {
	t.Helper()
	all := make([]topics.Topic, topics.MaxTopics)
	for i := range all {
		all[i] = topics.Topic{ID: topics.ID(i + 1), Name: fmt.Sprintf("t%06d", i)}
	}
	serial := uint64(len(all))
	for i := range topics.MaxFanout {
		serial += 2
		all[0].Links = append(all[0].Links, topics.Link{To: all[i+1].ID, Serial: serial - 1})
		all[1].Subscriptions = append(all[1].Subscriptions, topics.Subscription{Identity: topics.Identity{Name: fmt.Sprint("s", i)}, Serial: serial})
	}
	g, err := topics.Restore("IceStorm", serial, all)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A graph takes as much as its bounds say, nothing beyond them, and goes on once there is room again.
func TestBoundsOfTheGraph(t *testing.T) {
	g := full(t)
	create := func(g *topics.Graph) (*topics.Graph, error) {
		next, _, err := g.Create("one more")
		return next, err
	}
	link := func(g *topics.Graph) (*topics.Graph, error) {
		next, _, err := g.Link("t000000", "t050000", 0, false)
		return next, err
	}
	subscribe := func(g *topics.Graph) (*topics.Graph, error) {
		next, _, err := g.Subscribe("t000001", topics.Subscription{Identity: topics.Identity{Name: "one more"}})
		return next, err
	}
	for name, c := range map[string]struct {
		add, room func(*topics.Graph) (*topics.Graph, error)
		text      string
	}{
		"topics": {create, func(g *topics.Graph) (*topics.Graph, error) { return g.Destroy("t099999") }, "100000"},
		"links": {link, func(g *topics.Graph) (*topics.Graph, error) {
			return g.Unlink("t000000", topics.Identity{Name: "topic.t000007", Category: "IceStorm"})
		}, "10000"},
		"subscriptions": {subscribe, func(g *topics.Graph) (*topics.Graph, error) {
			next, _, err := g.Unsubscribe("t000001", topics.Identity{Name: "s7"}, 0)
			return next, err
		}, "10000"},
	} {
		next, err := c.add(g)
		if !errors.Is(err, topics.ErrLimit) || !strings.Contains(err.Error(), c.text) || next != g {
			t.Errorf("%s: one more gives %v, want a refusal that says %s, and the graph as it was", name, err, c.text)
		}
		roomy, err := c.room(g)
		if err != nil || roomy == g {
			t.Fatalf("%s: %v", name, err)
		}
		if again, err := c.add(roomy); err != nil || again == roomy {
			t.Errorf("%s: with room again: %v", name, err)
		}
	}
	if _, _, err := g.Link("t000002", "t050000", 0, false); err != nil {
		t.Errorf("a link of another topic: %v", err)
	}
	if _, _, err := g.Link("t000000", "t000007", 3, true); err != nil {
		t.Errorf("another cost of a link that is there: %v", err)
	}
}
