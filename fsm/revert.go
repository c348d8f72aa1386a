package fsm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"floe/routing"
	"floe/topics"
)

// Kinds of refusal of a revert.
const (
	// ErrNoRevert: what was there before is not known any more.
	ErrNoRevert topics.Kind = "can't be brought back"
	// ErrChanged: graph or routes changed since they were looked at.
	ErrChanged topics.Kind = "changed meanwhile"
)

// Revert heads the batch that brings graph and routes back to how they were
// at an index. It changes nothing itself, and refuses the batch unless the
// last change of graph or routes was at the index Seen.
type Revert struct {
	To   uint64 `codec:"t"`
	Seen uint64 `codec:"s"`
}

// Kind returns the number the op travels under.
func (Revert) Kind() Kind { return KindRevert }

func (o Revert) apply(d *draft) (Result, error) {
	if last := d.History.Last(); last != o.Seen {
		return Result{}, &Refusal{Kind: ErrChanged, Detail: fmt.Sprintf("graph or routes changed at index %d, after this was worked out", last)}
	}
	return Result{}, nil
}

// revertedTo returns the index that a batch brings graph and routes back to,
// 0 for all other ops.
func revertedTo(op Op) uint64 {
	if b, ok := op.(Batch); ok && len(b.Ops) > 0 {
		if r, ok := b.Ops[0].(Revert); ok {
			return r.To
		}
	}
	return 0
}

// RevertTo returns the batch that brings topics, links, costs, loaded routes
// and MEIDs back to how they were at an index; one without ops where they are
// so. Subscriptions stay, but those of a topic that comes back come with it.
// The topic has another id. Facts, and what follows from them, stay. The
// error is a *[Refusal] of kind [ErrNoRevert].
func (v *View) RevertTo(index uint64) (Batch, error) {
	if index > v.Index {
		return Batch{}, noRevert("index %d is to come: this is index %d", index, v.Index)
	}
	changes, whole := v.History.After(index)
	if !whole {
		return Batch{}, noRevert("the history begins after index %d, and what was at %d is forgotten", v.History.Floor(), index)
	}
	p := former{view: v, topics: map[string]bool{}, links: map[linkKey]LinkChange{}, subscribers: map[string][]topics.Subscription{},
		routes: map[routing.Key][]RouteRecord{}, meids: map[string]string{}}
	for _, c := range slices.Backward(changes) {
		if c.Cut {
			return Batch{}, noRevert("the change at index %d was too large to be kept: floe history shows it; a backup, or the file of that time, brings it back", c.Index)
		}
		p.undo(c)
	}
	ops, err := p.ops()
	if err != nil || len(ops) == 0 {
		return Batch{}, err
	}
	return Batch{Ops: append([]Op{Revert{To: index, Seen: v.History.Last()}}, ops...)}, nil
}

func noRevert(format string, args ...any) error {
	return &Refusal{Kind: ErrNoRevert, Detail: fmt.Sprintf(format, args...)}
}

// former is how things were before the changes that were undone.
type former struct {
	view        *View
	topics      map[string]bool // whether there was one
	links       map[linkKey]LinkChange
	subscribers map[string][]topics.Subscription // of topics destroyed
	routes      map[routing.Key][]RouteRecord
	meids       map[string]string
}

type linkKey struct {
	from   string
	target topics.Identity
}

// undo goes back over one change.
func (p *former) undo(c *Change) {
	for _, t := range slices.Backward(c.Topics) {
		if p.topics[t.Name] = !t.Made; !t.Made {
			delete(p.subscribers, t.Name)
		}
	}
	for _, l := range slices.Backward(c.Links) {
		target := l.Target()
		key := linkKey{l.From, topics.Identity{Name: "topic." + l.To, Category: p.view.Graph.Instance()}}
		if target.Remote != nil {
			key.target = target.Remote.Identity
		}
		p.links[key] = l
	}
	for _, s := range c.Subscriptions {
		if s.Was != nil {
			p.subscribers[s.Topic] = append(p.subscribers[s.Topic], *s.Was)
		}
	}
	for i := range c.Routes {
		if r := &c.Routes[i]; !r.Derived {
			p.routes[r.Key()] = r.Was
		}
	}
	for _, m := range c.MEIDs {
		if !m.Derived {
			p.meids[m.MEID] = m.Was
		}
	}
}

// ops lead from what is there now to what was: first routes, which may lead
// to topics that go, then links before their topics, and the other way round
// for what comes back.
func (p *former) ops() ([]Op, error) {
	var ops []Op
	if blocks := p.blocks(); len(blocks) > 0 {
		ops = append(ops, ChangeRoutes{Blocks: blocks})
	}
	links, err := p.linkOps()
	if err != nil {
		return nil, err
	}
	ops = append(ops, links[:p.unlinks(links)]...)
	back := []string{}
	for _, name := range slices.Sorted(maps.Keys(p.topics)) {
		switch was, is := p.topics[name], p.view.Graph.Topic(name) != nil; {
		case is && !was:
			ops = append(ops, DestroyTopic{Name: name})
		case was && !is:
			back = append(back, name)
			ops = append(ops, CreateTopic{Name: name})
		}
	}
	ops = append(ops, links[p.unlinks(links):]...)
	for _, name := range back {
		for _, s := range p.subscribers[name] {
			ops = append(ops, Subscribe{Topic: name, Subscription: s})
		}
	}
	return ops, nil
}

// unlinks tells how many ops at the begin of a list are of that kind.
func (p *former) unlinks(ops []Op) int {
	n := slices.IndexFunc(ops, func(op Op) bool { return op.Kind() != KindUnlink })
	if n < 0 {
		return len(ops)
	}
	return n
}

// linkOps returns those that unlink, then those that link.
func (p *former) linkOps() (ops []Op, err error) {
	var made []Op
	keys := slices.SortedFunc(maps.Keys(p.links), func(a, b linkKey) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.target.Category, b.target.Category), cmp.Compare(a.target.Name, b.target.Name))
	})
	for _, key := range keys {
		c, now := p.links[key], p.now(key)
		switch {
		case c.Was == nil && now != nil:
			ops = append(ops, Unlink{From: key.from, Target: key.target})
		case c.Was != nil && (now == nil || !sameLink(c.Was, now)):
			if err := p.reachable(c); err != nil {
				return nil, err
			}
			made = append(made, Link{From: key.from, To: c.To, Remote: c.Was.Remote, Cost: c.Was.Cost, Replace: now != nil})
		}
	}
	return append(ops, made...), nil
}

// now returns the link as it is, nil where there is none.
func (p *former) now(key linkKey) *topics.Link {
	t := p.view.Graph.Topic(key.from)
	if t == nil {
		return nil
	}
	for i := range t.Links {
		if p.view.Graph.TargetIdentity(t.Links[i]) == key.target {
			return &t.Links[i]
		}
	}
	return nil
}

func (p *former) reachable(c LinkChange) error {
	r := c.Was.Remote
	if r == nil || r.Cluster == "" || slices.ContainsFunc(p.view.Clusters, func(o Peer) bool { return o.ID == r.Cluster }) {
		return nil
	}
	return noRevert("topic %q had a link to cluster %s, which is not known any more: floe clusters add makes it known", c.From, r.Cluster)
}

// blocks bring routes and MEIDs back.
func (p *former) blocks() (blocks []RouteBlock) {
	table, owners := RouteBlock{Kind: routing.TableDelta}, RouteBlock{Kind: routing.MapUpdate}
	loaded := p.view.Routes.Loaded
	for _, key := range slices.SortedFunc(maps.Keys(p.routes), routing.Key.Compare) {
		was, is := p.routes[key], recordsOf(loaded.Table.Entries(key))
		if slices.EqualFunc(was, is, RouteRecord.Equal) {
			continue
		}
		table.Records = append(append(table.Records, RouteRecord{Verb: routing.Unroute, MType: key.MType, SubID: key.SubID}), was...)
	}
	for _, meid := range slices.Sorted(maps.Keys(p.meids)) {
		is, _ := loaded.MEIDs.Owner(meid)
		if was := p.meids[meid]; was != is {
			owners.Records = append(owners.Records, ownerRecord(meid, was))
		}
	}
	for _, b := range []RouteBlock{table, owners} {
		if len(b.Records) > 0 {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

func ownerRecord(meid, owner string) RouteRecord {
	if owner == "" {
		return RouteRecord{Verb: routing.Release, MEIDs: []string{meid}}
	}
	return RouteRecord{Verb: routing.Assign, Owner: owner, MEIDs: []string{meid}}
}
