package topics

import "slices"

// ID names a topic for as long as it lives. It is never used for another
// topic, also not for a later one of the same name. 0 is no topic.
type ID uint64

// Identity names an Ice object: a name and a category, either of which may
// hold any text.
type Identity struct {
	Name     string `codec:"n,omitempty"`
	Category string `codec:"c,omitempty"`
}

// Setting is one quality-of-service entry of a subscription.
type Setting struct {
	Key   string `codec:"k"`
	Value string `codec:"v"`
}

// Topic is one topic with all that hangs on it. It is immutable: a change of
// the graph makes a new Topic, so that an unchanged pointer means an
// unchanged topic.
type Topic struct {
	ID   ID     `codec:"i"`
	Name string `codec:"n"`
	// Links leave this topic, in the order they were made.
	Links []Link `codec:"l,omitempty"`
	// From lists the topics of this graph that have a link to this one,
	// ascending, each once.
	From []ID `codec:"-"`
	// Subscriptions stand in the order they were made.
	Subscriptions []Subscription `codec:"s,omitempty"`
}

// Link leads from the topic that holds it to a topic of this graph (To) or
// to one outside of it (Remote).
type Link struct {
	// To is the target inside this graph, 0 if Remote is set.
	To ID `codec:"t,omitempty"`
	// Remote is the target outside this graph, nil if To is set.
	Remote *Remote `codec:"r,omitempty"`
	// Cost is the highest cost of an event that passes; 0 lets all pass.
	Cost int32 `codec:"c,omitempty"`
	// Serial is the link's incarnation: never used for another link or subscription.
	Serial uint64 `codec:"s"`
}

// Remote is a target outside this graph: a topic of a foreign IceStorm or of
// another floe cluster, or messages.
type Remote struct {
	// Identity tells this target from others of the same source topic, and
	// is what Ice tools show.
	Identity Identity `codec:"i"`
	// Proxy is the topic's proxy as it was handed in, in Ice encoding 1.1;
	// empty for any other target.
	Proxy []byte `codec:"p,omitempty"`
	// Cluster is the id of the other floe cluster, empty for any other target.
	Cluster string `codec:"c,omitempty"`
	// Topic is the topic's id in the other floe cluster.
	Topic ID `codec:"t,omitempty"`
	// Messages are what the events leave as, nil for a topic.
	Messages *Messages `codec:"m,omitempty"`
}

// Subscription is one receiver of a topic's events.
type Subscription struct {
	// Identity names the subscriber; a topic has it once.
	Identity Identity `codec:"i"`
	// Proxy says how to reach the subscriber, in Ice encoding 1.1. The
	// graph does not look inside.
	Proxy []byte `codec:"p,omitempty"`
	// QoS is sorted by key, each key once.
	QoS []Setting `codec:"q,omitempty"`
	// Serial is the subscription's incarnation: never used for another.
	Serial uint64 `codec:"s"`
}

// Setting returns the value of a QoS key, "" where it is absent.
func (s *Subscription) Setting(key string) string {
	for _, q := range s.QoS {
		if q.Key == key {
			return q.Value
		}
	}
	return ""
}

// Subscription returns the subscription of that identity, nil if there is none.
func (t *Topic) Subscription(id Identity) *Subscription {
	i := t.subscription(id)
	if i < 0 {
		return nil
	}
	return &t.Subscriptions[i]
}

func (t *Topic) subscription(id Identity) int {
	return slices.IndexFunc(t.Subscriptions, func(s Subscription) bool { return s.Identity == id })
}

// clone returns a copy whose slices may be replaced, not written to.
func (t *Topic) clone() *Topic {
	c := *t
	return &c
}

// without returns s without element i, leaving s as it is.
func without[E any](s []E, i int) []E {
	out := make([]E, 0, len(s)-1)
	return append(append(out, s[:i]...), s[i+1:]...)
}

// with returns s and e after it, leaving s as it is.
func with[E any](s []E, e E) []E {
	out := make([]E, 0, len(s)+1)
	return append(append(out, s...), e)
}
