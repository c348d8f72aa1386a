package topics

import (
	"slices"
	"strings"
)

// Subscribe adds a subscription to a topic and returns its serial; s.Serial
// is ignored. Errors: ErrNoTopic, ErrSubscribed (the identity subscribes to
// the topic already, or the topic has a link to it), ErrLimit.
func (g *Graph) Subscribe(topic string, s Subscription) (*Graph, uint64, error) {
	t := g.Topic(topic)
	if t == nil {
		return g, 0, refuse(ErrNoTopic, topic)
	}
	if t.subscription(s.Identity) >= 0 || g.findLink(t, s.Identity) >= 0 {
		return g, 0, refuse(ErrSubscribed, s.Identity.Name)
	}
	if len(t.Subscriptions) >= MaxFanout {
		return g, 0, &Error{Kind: ErrLimit, Name: topic, Detail: "a topic has at most 10000 subscriptions"}
	}
	s.Serial = g.serial + 1
	s.QoS = canonicalQoS(s.QoS)
	changed := t.clone()
	changed.Subscriptions = with(t.Subscriptions, s)
	next := g.put(changed)
	next.serial++
	next.digest = next.digest.add(hashSubscription(t, &s))
	return next, s.Serial, nil
}

// Unsubscribe removes the subscription of that identity from a topic and
// says whether there was one. With serial not 0 only that incarnation is
// removed, so that a verdict on an old subscription never hits a new one.
// Error: ErrNoTopic.
func (g *Graph) Unsubscribe(topic string, id Identity, serial uint64) (*Graph, bool, error) {
	t := g.Topic(topic)
	if t == nil {
		return g, false, refuse(ErrNoTopic, topic)
	}
	i := t.subscription(id)
	if i < 0 || serial != 0 && t.Subscriptions[i].Serial != serial {
		return g, false, nil
	}
	changed := t.clone()
	changed.Subscriptions = without(t.Subscriptions, i)
	next := g.put(changed)
	next.digest = next.digest.sub(hashSubscription(t, &t.Subscriptions[i]))
	return next, true, nil
}

// canonicalQoS sorts by key and keeps the first of equal keys, as Ice does
// with a dictionary that names a key twice.
func canonicalQoS(qos []Setting) []Setting {
	qos = slices.Clone(qos)
	slices.SortStableFunc(qos, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(qos, func(a, b Setting) bool { return a.Key == b.Key })
}
