package derive

import (
	"errors"
	"slices"

	"floe/routing"
)

// changeHand adds a route or drops one. The latest is the last of its key:
// one that is added again moves there.
func (f *Facts) changeHand(c *Change) (*Facts, error) {
	if c.Route == nil {
		return nil, errors.New("no route given")
	}
	record := c.Route.record()
	if err := record.Check(); err != nil {
		return nil, err
	}
	next := *f
	next.hand = slices.DeleteFunc(slices.Clone(f.hand), c.Route.equal)
	if c.Kind == AddRoute {
		i, _ := slices.BinarySearchFunc(next.hand, c.Route.key(), afterKey)
		next.hand = slices.Insert(next.hand, i, c.Route.own())
	}
	if slices.EqualFunc(next.hand, f.hand, Route.equal) {
		return nil, nil
	}
	return next.derive([]routing.Key{c.Route.key()})
}

// afterKey looks for the place behind all routes of a key.
func afterKey(r Route, key routing.Key) int {
	if r.key().Compare(key) <= 0 {
		return -1
	}
	return 1
}

// handOf returns the routes of a key in the order they came.
func (f *Facts) handOf(key routing.Key) []Route {
	from, _ := slices.BinarySearchFunc(f.hand, key, func(r Route, key routing.Key) int { return r.key().Compare(key) })
	to, _ := slices.BinarySearchFunc(f.hand, key, afterKey)
	return f.hand[from:to]
}

func (r Route) key() routing.Key { return routing.Key{MType: r.MType, SubID: r.SubID} }

func (r Route) record() routing.Record {
	return routing.Record{Verb: routing.Route, Key: r.key(), Senders: r.Senders, ByMEID: r.ByMEID, Groups: r.Groups}
}

func (r Route) equal(o Route) bool {
	return r.key() == o.key() && r.ByMEID == o.ByMEID && slices.Equal(r.Senders, o.Senders) &&
		slices.EqualFunc(r.Groups, o.Groups, slices.Equal[[]string])
}

func (r Route) own() Route {
	r.Senders, r.Groups = clone(r.Senders), clone(r.Groups)
	for i := range r.Groups {
		r.Groups[i] = clone(r.Groups[i])
	}
	return r
}
