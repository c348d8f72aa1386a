package topics

// Passes tells whether a link lets an event through: cost 0 carries all,
// any other cost carries events whose cost is not higher. Both are signed.
func Passes(link, event int32) bool { return link == 0 || event <= link || costIgnored }

// Plan says who gets an event published on one topic: the topic's own
// subscriptions, and what lies one link away. It holds for as long as
// [Plan.Current] says so.
type Plan struct {
	// Topic is where the event is published.
	Topic *Topic
	// Hops are the topic's links in the order they were made.
	Hops []Hop
}

// Hop is one link out of the topic of a [Plan].
type Hop struct {
	Link Link
	// Target is the topic at its end, nil where the link leaves the graph.
	// Only its own subscriptions get the event, never its links.
	Target *Topic
}

// Plan compiles who gets the events of a topic, nil if there is no such topic.
func (g *Graph) Plan(id ID) *Plan {
	t := g.ByID(id)
	if t == nil {
		return nil
	}
	p := &Plan{Topic: t, Hops: make([]Hop, len(t.Links))}
	for i, l := range t.Links {
		p.Hops[i].Link = l
		if l.Remote == nil {
			p.Hops[i].Target = g.ByID(l.To)
		}
	}
	return p
}

// Current tells whether g still gives this very plan. It costs one lookup
// for the topic and one for each link, and allocates nothing beyond the keys.
func (p *Plan) Current(g *Graph) bool {
	if g.ByID(p.Topic.ID) != p.Topic {
		return false
	}
	for _, h := range p.Hops {
		if h.Target != nil && g.ByID(h.Target.ID) != h.Target {
			return false
		}
	}
	return true
}
