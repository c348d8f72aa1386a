package fsm

import (
	"slices"

	"floe/topics"
)

// effect finds out what an op made different.
type effect struct {
	change        *Change
	before, after *View
	room          int // bytes that are left for details
}

// idle tells of an op that left everything as it was and that nobody would
// look for.
func (e *effect) idle(op Op) bool {
	switch o := op.(type) {
	case SetMember:
		was, known := e.before.Member(o.Member.ID)
		return known && was.Equal(o.Member)
	case ChangeRoutes, CommitRoutes, ChangeFacts:
		return e.before.Routes.Version == e.after.Routes.Version
	case Unsubscribe, Batch, Link:
		return !e.change.OfContent()
	}
	return false
}

// take tells whether there is room for one more detail.
func (e *effect) take(size int) bool {
	if e.change.Cut || size > e.room {
		e.change.Cut = true
		return false
	}
	e.room -= size
	return true
}

func (e *effect) graph(op Op) {
	if e.before.Graph == e.after.Graph || op.Kind() == KindCommitRestore {
		return
	}
	names := e.names(op)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		e.topic(name, e.before.Graph.Topic(name), e.after.Graph.Topic(name))
	}
}

// names are the topics whose own records an op may have changed.
func (e *effect) names(op Op) []string {
	switch o := op.(type) {
	case CreateTopic:
		return []string{o.Name}
	case DestroyTopic:
		names := []string{o.Name}
		if t := e.before.Graph.Topic(o.Name); t != nil {
			for _, id := range t.From {
				names = append(names, e.before.Graph.ByID(id).Name)
			}
		}
		return names
	case Link:
		return []string{o.From}
	case Unlink:
		return []string{o.From}
	case Subscribe:
		return []string{o.Topic}
	case Unsubscribe:
		return []string{o.Topic}
	case Reap:
		var names []string
		for _, v := range o.Verdicts {
			if t := e.before.Graph.ByID(v.Topic); t != nil {
				names = append(names, t.Name)
			}
		}
		return names
	case Batch:
		var names []string
		for _, part := range o.Ops {
			names = append(names, e.names(part)...)
		}
		return names
	}
	return nil
}

// topic compares a topic before and after; nil is none.
func (e *effect) topic(name string, was, is *topics.Topic) {
	if was == is {
		return
	}
	if was != nil && is != nil && was.ID == is.ID {
		e.links(name, was.Links, is.Links)
		e.subscriptions(name, was.Subscriptions, is.Subscriptions, false)
		return
	}
	if was != nil {
		e.made(TopicChange{Name: name, ID: was.ID})
		e.links(name, was.Links, nil)
		e.subscriptions(name, was.Subscriptions, nil, true)
	}
	if is != nil {
		e.made(TopicChange{Name: name, ID: is.ID, Made: true})
		e.links(name, nil, is.Links)
		e.subscriptions(name, nil, is.Subscriptions, false)
	}
}

func (e *effect) made(c TopicChange) {
	if e.take(c.size()) {
		e.change.Topics = append(e.change.Topics, c)
	}
}

// links compares two lists in the order of their serials.
func (e *effect) links(from string, was, is []topics.Link) {
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Serial < is[0].Serial:
			e.link(from, e.before, &was[0], nil)
			was = was[1:]
		case len(was) == 0 || is[0].Serial < was[0].Serial:
			e.link(from, e.after, nil, &is[0])
			is = is[1:]
		default:
			if !sameLink(&was[0], &is[0]) {
				e.link(from, e.after, &was[0], &is[0])
			}
			was, is = was[1:], is[1:]
		}
	}
}

func sameLink(a, b *topics.Link) bool {
	return a.Cost == b.Cost && (a.Remote == b.Remote || a.Remote != nil && b.Remote != nil && a.Remote.Identity == b.Remote.Identity &&
		string(a.Remote.Proxy) == string(b.Remote.Proxy) && a.Remote.Cluster == b.Remote.Cluster && a.Remote.Topic == b.Remote.Topic)
}

// link notes one link; v is the view that has it.
func (e *effect) link(from string, v *View, was, is *topics.Link) {
	c := LinkChange{From: from, Was: copied(was), Is: copied(is)}
	if target := c.Target(); target.Remote == nil {
		c.To = v.Graph.ByID(target.To).Name
	}
	if e.take(c.size()) {
		e.change.Links = append(e.change.Links, c)
	}
}

// copied returns a copy that does not hold on to the list it was in.
func copied[E any](e *E) *E {
	if e == nil {
		return nil
	}
	c := *e
	return &c
}

// subscriptions compares two lists in the order of their serials. With keep
// what is gone is noted whole.
func (e *effect) subscriptions(topic string, was, is []topics.Subscription, keep bool) {
	note := func(s *topics.Subscription, made bool) {
		c := SubscriptionChange{Topic: topic, Identity: s.Identity, Made: made}
		if keep {
			c.Was = copied(s)
		}
		if e.take(c.size()) {
			e.change.Subscriptions = append(e.change.Subscriptions, c)
		}
	}
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Serial < is[0].Serial:
			note(&was[0], false)
			was = was[1:]
		case len(was) == 0 || is[0].Serial < was[0].Serial:
			note(&is[0], true)
			is = is[1:]
		default:
			was, is = was[1:], is[1:]
		}
	}
}
