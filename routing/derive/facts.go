package derive

import (
	"errors"
	"fmt"
	"slices"

	"floe/routing"
)

// ErrMoved is the kind of error of a whole set that was compared with facts
// which are not there any more: compare again.
var ErrMoved = errors.New("changed in the meantime")

// Facts are what the managers said, and what follows from it. They never
// change and may be shared freely; nil is no facts.
type Facts struct {
	config Config
	xapps  []XApp         // sorted
	subs   []Subscription // sorted by id, none empty
	e2ts   []string       // sorted
	hand   []Route        // sorted by key, those of one key in the order they came
	// rules are the records of configuration, E2Ts and xApps, by key, in the
	// order of the rules.
	rules   map[routing.Key][]routing.Record
	omitted []string // of rules
	state   routing.State
	touched routing.Changes // of state, while a change is carried out
}

var none = &Facts{}

// State returns the routes and MEIDs that follow. What a change did not
// touch is the same pointer before and after it.
func (f *Facts) State() routing.State {
	if f == nil {
		return routing.State{}
	}
	return f.state
}

// Config returns the configuration. Leave its lists unchanged.
func (f *Facts) Config() Config { return f.or().config }

// XApps returns all xApps, sorted by name. Leave the list unchanged.
func (f *Facts) XApps() []XApp { return f.or().xapps }

// Subscriptions returns all subscriptions, sorted by id. Leave the list
// unchanged.
func (f *Facts) Subscriptions() []Subscription { return f.or().subs }

// Routes returns the routes made by hand, sorted by key, those of one key in
// the order they came. Leave the list unchanged.
func (f *Facts) Routes() []Route { return f.or().hand }

func (f *Facts) or() *Facts {
	if f == nil {
		return none
	}
	return f
}

// Apply returns the facts after a change, or what is wrong with it, in words.
// A change that changes nothing returns f itself. The result shares no list
// with the change.
func (f *Facts) Apply(c Change) (*Facts, error) {
	next, _, err := f.ApplyAll([]Change{c})
	return next, err
}

// ApplyAll carries out changes one after the other, all or none, and also
// returns what became different in the state, as [routing.Edit.Commit] does.
func (f *Facts) ApplyAll(list []Change) (*Facts, routing.Changes, error) {
	now := f
	var all routing.Changes
	for i := range list {
		next, err := now.or().apply(&list[i])
		if err != nil {
			return nil, routing.Changes{}, changeError(list, i, err)
		}
		if next == nil {
			continue
		}
		now = next
		all.Routes = append(all.Routes, now.touched.Routes...)
		all.MEIDs = append(all.MEIDs, now.touched.MEIDs...)
		now.touched = routing.Changes{}
	}
	slices.SortFunc(all.Routes, routing.Key.Compare)
	all.Routes = slices.Compact(all.Routes)
	return now, all, nil
}

func changeError(list []Change, i int, err error) error {
	err = fmt.Errorf("%v: %w", list[i].Kind, err)
	if len(list) > 1 {
		return fmt.Errorf("change %d: %w", i+1, err)
	}
	return err
}

// apply returns nil if there is nothing to change.
func (f *Facts) apply(c *Change) (*Facts, error) {
	switch c.Kind {
	case SetConfig:
		return f.setConfig(c.Config)
	case SetXApps:
		return f.setXApps(c.XApps)
	case PutXApps, DropXApps:
		return f.changeXApps(c)
	case Subscribe, Unsubscribe:
		return f.subscribe(c)
	case SetSubscription:
		return f.setSubscription(Subscription{c.SubID, c.Endpoints})
	case SetSubscriptions:
		return f.setSubscriptions(c)
	case PutE2T, DropE2T:
		return f.changeE2T(c)
	case Associate, Dissociate:
		return f.associate(c)
	case SetE2Ts:
		return f.setE2Ts(c)
	case AddRoute, DeleteRoute:
		return f.changeHand(c)
	}
	return nil, errors.New("this program does not know it")
}

func (f *Facts) setConfig(c *Config) (*Facts, error) {
	if c == nil {
		return nil, errors.New("no configuration given")
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	next := *f
	if next.config = c.own(); next.config.equal(f.config) {
		return nil, nil
	}
	return next.deriveAll(f)
}

// changeXApps puts some xApps in the place of those of their names.
func (f *Facts) changeXApps(c *Change) (*Facts, error) {
	named := map[string]bool{}
	for _, x := range c.XApps {
		named[x.Name] = true
	}
	list := slices.DeleteFunc(slices.Clone(f.xapps), func(x XApp) bool { return named[x.Name] })
	if c.Kind == PutXApps {
		list = append(list, c.XApps...)
	}
	return f.setXApps(list)
}

func (f *Facts) setXApps(list []XApp) (*Facts, error) {
	next := *f
	if next.xapps = ownXApps(list); slices.EqualFunc(next.xapps, f.xapps, XApp.equal) {
		return nil, nil
	}
	return next.deriveRules(f)
}
