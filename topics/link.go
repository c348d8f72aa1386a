package topics

import "slices"

// Link adds a link between two topics of the graph. With replace, a link
// that is there already gets the new cost in this one step. It returns the
// link's serial. Errors: ErrNoTopic, ErrLinkExists, ErrLimit.
func (g *Graph) Link(from, to string, cost int32, replace bool) (*Graph, uint64, error) {
	target := g.Topic(to)
	if target == nil {
		if g.Topic(from) == nil {
			return g, 0, refuse(ErrNoTopic, from)
		}
		return g, 0, refuse(ErrNoTopic, to)
	}
	return g.link(from, to, Link{To: target.ID, Cost: cost}, g.Identity(target), replace)
}

// LinkRemote adds a link to a target outside the graph, as [Graph.Link] does.
// Error beside those: ErrTarget.
func (g *Graph) LinkRemote(from string, to Remote, cost int32, replace bool) (*Graph, uint64, error) {
	if err := to.check(); err != nil {
		return g, 0, err
	}
	return g.link(from, TopicName(to.Identity), Link{Remote: &to, Cost: cost}, to.Identity, replace)
}

func (g *Graph) link(from, name string, l Link, target Identity, replace bool) (*Graph, uint64, error) {
	t := g.Topic(from)
	if t == nil {
		return g, 0, refuse(ErrNoTopic, from)
	}
	if i := g.findLink(t, target); i >= 0 {
		if !replace {
			return g, 0, refuse(ErrLinkExists, name)
		}
		return g.relink(t, i, l), t.Links[i].Serial, nil
	}
	if t.subscription(target) >= 0 {
		return g, 0, refuse(ErrLinkExists, name)
	}
	if len(t.Links) >= MaxFanout {
		return g, 0, &Error{Kind: ErrLimit, Name: from, Detail: "a topic has at most 10000 links"}
	}
	l.Serial = g.serial + 1
	return g.addLink(t, l), l.Serial, nil
}

func (g *Graph) addLink(t *Topic, l Link) *Graph {
	source := t.clone()
	source.Links = with(t.Links, l)
	next := g.put(source)
	if l.Remote == nil {
		next = next.rememberSource(l.To, t.ID)
	}
	next.serial = max(next.serial, l.Serial)
	next.digest = next.digest.add(hashLink(t, l))
	return next
}

// rememberSource notes at the target that source has a link to it.
func (g *Graph) rememberSource(target, source ID) *Graph {
	t := g.ByID(target)
	i, found := slices.BinarySearch(t.From, source)
	if found {
		return g
	}
	t = t.clone()
	t.From = slices.Insert(slices.Clone(t.From), i, source)
	return g.put(t)
}

// relink gives link i of t the cost and the remote address of l. The link
// keeps its serial and its place: it is the same link.
func (g *Graph) relink(t *Topic, i int, l Link) *Graph {
	old := t.Links[i]
	l.Serial = old.Serial
	source := t.clone()
	source.Links = slices.Clone(t.Links)
	source.Links[i] = l
	next := g.put(source)
	next.digest = next.digest.sub(hashLink(t, old)).add(hashLink(t, l))
	return next
}

// Unlink removes the link of a topic to the target of that identity.
// Errors: ErrNoTopic, ErrNoLink.
func (g *Graph) Unlink(from string, target Identity) (*Graph, error) {
	t := g.Topic(from)
	if t == nil {
		return g, refuse(ErrNoTopic, from)
	}
	i := g.findLink(t, target)
	if i < 0 {
		return g, refuse(ErrNoLink, TopicName(target))
	}
	return g.unlinkAt(t, i), nil
}

func (g *Graph) unlinkAt(t *Topic, i int) *Graph {
	l := t.Links[i]
	source := t.clone()
	source.Links = without(t.Links, i)
	if l.To == t.ID {
		source.From = slices.DeleteFunc(slices.Clone(t.From), func(id ID) bool { return id == t.ID })
	}
	next := g.put(source)
	if l.Remote == nil && l.To != t.ID {
		target := next.ByID(l.To).clone()
		target.From = slices.DeleteFunc(slices.Clone(target.From), func(id ID) bool { return id == t.ID })
		next = next.put(target)
	}
	next.digest = next.digest.sub(hashLink(t, l))
	return next
}

// findLink returns the place of the link to that identity, -1 if there is none.
func (g *Graph) findLink(t *Topic, target Identity) int {
	return slices.IndexFunc(t.Links, func(l Link) bool { return g.TargetIdentity(l) == target })
}

// TopicName returns the topic's name from its Ice identity: IceStorm's rule
// is to cut "topic." off.
func TopicName(id Identity) string {
	const prefix = "topic."
	if len(id.Name) >= len(prefix) && id.Name[:len(prefix)] == prefix {
		return id.Name[len(prefix):]
	}
	return id.Name
}
