package derive

import (
	"fmt"
	"slices"

	"floe/routing"
)

// Export is facts as a snapshot holds them. It is canonical: equal facts
// give equal exports.
type Export struct {
	Config        Config         `codec:"c"`
	XApps         []XApp         `codec:"x,omitempty"`
	Subscriptions []Subscription `codec:"u,omitempty"`
	E2Ts          []string       `codec:"t,omitempty"`
	// Owners are who owns RANs, whether there is such an E2T or not, sorted.
	Owners []E2T   `codec:"o,omitempty"`
	Routes []Route `codec:"r,omitempty"`
}

// Empty says whether there are no facts at all.
func (f *Facts) Empty() bool {
	f = f.or()
	return f.config.equal(Config{}) && len(f.xapps)+len(f.subs)+len(f.e2ts)+len(f.hand)+f.state.MEIDs.Len() == 0
}

// Export returns the facts in full. Leave its lists unchanged.
func (f *Facts) Export() Export {
	f = f.or()
	x := Export{Config: f.config, XApps: f.xapps, Subscriptions: clone(f.subs), E2Ts: clone(f.e2ts), Routes: clone(f.hand)}
	owned := map[string][]string{}
	for ran, owner := range f.state.MEIDs.Sorted() {
		owned[owner] = append(owned[owner], ran)
	}
	for _, owner := range keysOf(owned) {
		x.Owners = append(x.Owners, E2T{owner, owned[owner]})
	}
	return x
}

// Import returns the facts that an export was made of, or an error if it was
// made of none.
func Import(x Export) (*Facts, error) {
	f := &Facts{config: x.Config.own(), xapps: ownXApps(x.XApps), e2ts: sorted(x.E2Ts)}
	var err error
	if f.subs, err = ownSubscriptions(x.Subscriptions); err != nil {
		return nil, err
	}
	for _, r := range x.Routes {
		f.hand = append(f.hand, r.own())
	}
	slices.SortStableFunc(f.hand, func(a, b Route) int { return a.key().Compare(b.key()) })
	if err := f.config.Check(); err != nil {
		return nil, err
	}
	for _, t := range x.E2Ts {
		if err := routing.CheckOwner(t); err != nil {
			return nil, err
		}
	}
	for _, o := range x.Owners {
		if err := f.assign(o.Address, o.RANs); err != nil {
			return nil, fmt.Errorf("RANs of %s: %w", o.Address, err)
		}
	}
	f, err = f.deriveAll(none)
	if err != nil {
		return nil, err
	}
	f.touched = routing.Changes{}
	return f, nil
}
