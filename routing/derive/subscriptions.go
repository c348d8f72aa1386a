package derive

import (
	"cmp"
	"fmt"
	"slices"

	"floe/routing"
)

// fromSubmgr are the messages of a subscription that its manager sends.
var fromSubmgr = []string{"RIC_SUB_RESP", "RIC_SUB_FAILURE", "RIC_SUB_DEL_RESP", "RIC_SUB_DEL_FAILURE"}

// fromRAN are those that come from anyone.
var fromRAN = []string{"RIC_INDICATION", "RIC_CONTROL_ACK", "RIC_CONTROL_FAILURE"}

// subscribe adds an endpoint to a subscription or takes it away.
func (f *Facts) subscribe(c *Change) (*Facts, error) {
	var endpoints []string
	if i, ok := f.findSubscription(c.SubID); ok {
		endpoints = clone(f.subs[i].Endpoints)
	}
	if c.Kind == Subscribe {
		endpoints = append(endpoints, c.Endpoint)
	} else {
		endpoints = slices.DeleteFunc(endpoints, func(e string) bool { return e == c.Endpoint })
	}
	return f.setSubscription(Subscription{c.SubID, endpoints})
}

func (f *Facts) setSubscription(s Subscription) (*Facts, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	s.Endpoints = sorted(s.Endpoints)
	i, found := f.findSubscription(s.SubID)
	next := *f
	switch {
	case !found && len(s.Endpoints) == 0:
		return nil, nil
	case !found:
		next.subs = slices.Insert(slices.Clip(f.subs), i, s)
	case len(s.Endpoints) == 0:
		next.subs = slices.Delete(slices.Clone(f.subs), i, i+1)
	case slices.Equal(f.subs[i].Endpoints, s.Endpoints):
		return nil, nil
	default:
		next.subs = slices.Clone(f.subs)
		next.subs[i] = s
	}
	return next.derive(f.config.subscriptionKeys(s.SubID))
}

func (f *Facts) setSubscriptions(c *Change) (*Facts, error) {
	if c.Base != "" && c.Base != f.Mark(SetSubscriptions) {
		return nil, ErrMoved
	}
	list, err := ownSubscriptions(c.Subscriptions)
	if err != nil {
		return nil, err
	}
	var keys []routing.Key
	for _, s := range f.subs {
		if i, ok := find32(list, s.SubID); !ok || !slices.Equal(list[i].Endpoints, s.Endpoints) {
			keys = append(keys, f.config.subscriptionKeys(s.SubID)...)
		}
	}
	for _, s := range list {
		if _, ok := f.findSubscription(s.SubID); !ok {
			keys = append(keys, f.config.subscriptionKeys(s.SubID)...)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	next := *f
	next.subs = list
	return next.derive(keys)
}

// ownSubscriptions returns a sorted copy, without empty ones; what is listed
// twice is put together.
func ownSubscriptions(list []Subscription) ([]Subscription, error) {
	list = clone(list)
	slices.SortStableFunc(list, func(a, b Subscription) int { return cmp.Compare(a.SubID, b.SubID) })
	var own []Subscription
	for _, s := range list {
		if n := len(own); n > 0 && own[n-1].SubID == s.SubID {
			own[n-1].Endpoints = append(own[n-1].Endpoints, s.Endpoints...)
		} else if len(s.Endpoints) > 0 {
			own = append(own, Subscription{s.SubID, clone(s.Endpoints)})
		}
	}
	for i := range own {
		if err := own[i].check(); err != nil {
			return nil, err
		}
		own[i].Endpoints = sorted(own[i].Endpoints)
	}
	return own, nil
}

func (s Subscription) check() error {
	if s.SubID < 0 {
		return fmt.Errorf("subscription id %d is negative", s.SubID)
	}
	if len(s.Endpoints) > routing.MaxGroups {
		return fmt.Errorf("%d xApps in subscription %d, at most %d", len(s.Endpoints), s.SubID, routing.MaxGroups)
	}
	for _, e := range s.Endpoints {
		if err := checkProgram(e); err != nil {
			return fmt.Errorf("subscription %d: %w", s.SubID, err)
		}
	}
	return nil
}

func (f *Facts) findSubscription(id int32) (int, bool) { return find32(f.subs, id) }

func find32(list []Subscription, id int32) (int, bool) {
	return slices.BinarySearchFunc(list, id, func(s Subscription, id int32) int { return cmp.Compare(s.SubID, id) })
}

// subscriptionKeys returns the keys that a subscription makes records of.
func (c Config) subscriptionKeys(id int32) []routing.Key {
	keys := make([]routing.Key, 0, len(fromSubmgr)+len(fromRAN))
	for _, list := range [][]string{fromSubmgr, fromRAN} {
		for _, m := range list {
			n, _ := c.number(m) // all are well known
			keys = append(keys, routing.Key{MType: n, SubID: id})
		}
	}
	return keys
}

// subscriptionRecords returns the records of a key that its subscription
// makes. Where several xApps share the subscription each gets a copy.
func (f *Facts) subscriptionRecords(key routing.Key) []routing.Record {
	i, ok := f.findSubscription(key.SubID)
	if !ok {
		return nil
	}
	r := ruling{config: f.config, records: map[routing.Key][]routing.Record{}}
	groups := each(f.subs[i].Endpoints)
	for _, m := range fromSubmgr {
		if n, _ := f.config.number(m); n != key.MType {
			continue
		}
		if at, known := f.config.component(submgr); known {
			r.add(m, key.SubID, where{sender: at, groups: groups})
		}
	}
	for _, m := range fromRAN {
		if n, _ := f.config.number(m); n == key.MType {
			r.add(m, key.SubID, where{groups: groups})
		}
	}
	return r.records[key]
}

func (f *Facts) omittedSubscriptions() []string {
	if _, ok := f.config.component(submgr); ok {
		return nil
	}
	var lines []string
	for _, s := range f.subs {
		for _, m := range fromSubmgr {
			lines = append(lines, omission(m, s.SubID, unknownComponent(submgr)))
		}
	}
	return lines
}
