package topics

import (
	"fmt"
	"slices"
)

// Restore builds a graph from what [Graph.All] yielded and [Graph.Serial]
// said, in one go. Topic.From is worked out anew. An error means that the
// topics don't make a graph: an id or a name used twice, a link to nowhere.
func Restore(instance string, serial uint64, all []Topic) (*Graph, error) {
	g := New(instance)
	g.serial = serial
	byName, byID := g.byName.Txn(), g.byID.Txn()
	records := make(map[ID]*Topic, len(all))
	for i := range all {
		t := &all[i]
		t.From = nil
		if err := CheckName(t.Name); err != nil {
			return nil, err
		}
		if _, used := byName.Insert(nameKey(t.Name), t); used || t.ID == 0 || records[t.ID] != nil {
			return nil, fmt.Errorf("topic %q with id %d is there twice", t.Name, t.ID)
		}
		byID.Insert(idKey(t.ID), t)
		records[t.ID] = t
	}
	for i := range all {
		if err := g.adopt(&all[i], records); err != nil {
			return nil, err
		}
	}
	g.byName, g.byID = byName.Commit(), byID.Commit()
	return g, nil
}

// adopt adds a topic's share of the digest and makes it known to the targets
// of its links.
func (g *Graph) adopt(t *Topic, records map[ID]*Topic) error {
	g.digest = g.digest.add(hashTopic(t))
	for i := range t.Subscriptions {
		g.digest = g.digest.add(hashSubscription(t, &t.Subscriptions[i]))
	}
	for _, l := range t.Links {
		g.digest = g.digest.add(hashLink(t, l))
		if l.Remote != nil {
			if err := l.Remote.check(); err != nil {
				return fmt.Errorf("link of topic %q: %w", t.Name, err)
			}
			continue
		}
		target := records[l.To]
		if target == nil {
			return fmt.Errorf("topic %q has a link to topic id %d, which does not exist", t.Name, l.To)
		}
		if i, found := slices.BinarySearch(target.From, t.ID); !found {
			target.From = slices.Insert(target.From, i, t.ID)
		}
	}
	return nil
}
