package topics

import "slices"

// Create adds a topic and returns its id. Errors: ErrName, ErrExists, ErrLimit.
func (g *Graph) Create(name string) (*Graph, ID, error) {
	if err := CheckName(name); err != nil {
		return g, 0, err
	}
	if g.Topic(name) != nil {
		return g, 0, refuse(ErrExists, name)
	}
	if g.Len() >= MaxTopics {
		return g, 0, &Error{Kind: ErrLimit, Name: name, Detail: "a cluster holds at most 100000 topics"}
	}
	t := &Topic{ID: ID(g.serial + 1), Name: name}
	if idReused {
		for t.ID = 1; g.ByID(t.ID) != nil; t.ID++ {
		}
	}
	next := g.put(t)
	next.serial++
	next.digest = next.digest.add(hashTopic(t))
	return next, t.ID, nil
}

// Destroy removes a topic, its subscriptions and its links in both
// directions. Error: ErrNoTopic.
func (g *Graph) Destroy(name string) (*Graph, error) {
	t := g.Topic(name)
	if t == nil {
		return g, refuse(ErrNoTopic, name)
	}
	next := g
	for _, from := range t.From {
		next = next.unlinkAll(from, t.ID)
	}
	t = next.ByID(t.ID)
	for _, l := range t.Links {
		next = next.dropLink(t, l)
	}
	digest := next.digest.sub(hashTopic(t)) // next may still be g, which must not change
	for i := range t.Subscriptions {
		digest = digest.sub(hashSubscription(t, &t.Subscriptions[i]))
	}
	next = next.drop(t)
	next.digest = digest
	return next, nil
}

// unlinkAll removes every link from one topic of the graph to another.
func (g *Graph) unlinkAll(from, to ID) *Graph {
	t := g.ByID(from)
	for i := len(t.Links) - 1; i >= 0; i-- {
		if t.Links[i].To == to {
			g = g.unlinkAt(t, i)
			t = g.ByID(from)
		}
	}
	return g
}

// dropLink forgets a link of a topic that goes away: the target's memory of
// it and its share of the digest.
func (g *Graph) dropLink(t *Topic, l Link) *Graph {
	next := *g
	if l.Remote == nil && l.To != t.ID {
		target := g.ByID(l.To).clone()
		if i, found := slices.BinarySearch(target.From, t.ID); found {
			target.From = without(target.From, i)
		}
		next = *g.put(target)
	}
	next.digest = next.digest.sub(hashLink(t, l))
	return &next
}
