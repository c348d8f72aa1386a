package fsm

import (
	"fmt"

	"floe/routing"
	"floe/routing/derive"
)

// Routes are the route table and the MEID map with what must be known of
// their past. The zero value is empty.
type Routes struct {
	// Loaded is what people loaded and set.
	Loaded routing.State
	// Facts are what the managers of a RIC said, and the routes that follow.
	Facts *derive.Facts
	// Version is the Raft index of the last change, 0 where there was none;
	// LoadedAt that of the last one of what people loaded.
	Version, LoadedAt uint64
	// Gone are the MEIDs that were deleted, each with the index at which it
	// was. Programs never forget an MEID unless they are told to.
	Gone *routing.Tombstones

	union routing.State
	loads []load // those under way, the longest idle first
}

// State returns what messages go by: the union of what was loaded and what
// is derived from facts, loaded first.
func (r Routes) State() routing.State { return r.union }

// empty tells whether there is nothing that a snapshot must hold.
func (r Routes) empty() bool { return r.Version == 0 && r.Gone.Len() == 0 && len(r.loads) == 0 }

// Condition limits a change of the routes to one version of them. The zero
// value is no condition.
type Condition struct {
	Given   bool   `codec:"g,omitempty"`
	Version uint64 `codec:"v,omitempty"`
}

// AtVersion is the condition that the routes are at a version; 0: that
// nothing was ever loaded.
func AtVersion(version uint64) Condition { return Condition{Given: true, Version: version} }

// Check returns a refusal of kind [ErrRoutesChanged] unless a condition holds.
func (r Routes) Check(c Condition) error {
	switch {
	case !c.Given, c.Version == r.Version, c.Version == 0 && r.LoadedAt == 0:
		return nil
	}
	return &Refusal{Kind: ErrRoutesChanged, Detail: fmt.Sprintf("they are at version %d, not %d", r.Version, c.Version)}
}

func (o ChangeRoutes) apply(d *draft) (Result, error) {
	if err := d.Routes.Check(o.If); err != nil {
		return Result{}, err
	}
	if err := d.checkBlocks(o.Blocks); err != nil {
		return Result{}, err
	}
	next, changes, err := d.Routes.Loaded.Apply(RouteUpdate(o.Blocks))
	if err != nil {
		return Result{}, &Refusal{Kind: ErrRoutes, Detail: err.Error()}
	}
	union := d.Routes.union.Merge(next, d.Routes.derived(), changes)
	d.setLoaded(next, union, changes.MEIDs, changes, holdsTable(o.Blocks))
	r := d.routesResult()
	r.Count = len(changes.Routes) + distinct(changes.MEIDs)
	return r, nil
}

// setLoaded puts loaded routes, and the union with them, in the place of
// others, and settles what of the MEIDs touched was deleted. The first whole
// table is a change even if it is empty: a seed must not come after it.
func (d *draft) setLoaded(next, union routing.State, touched []string, c routing.Changes, table bool) {
	r := &d.Routes
	if c.Empty() && (r.LoadedAt != 0 || !table) {
		return
	}
	r.Loaded, r.LoadedAt, r.loads = next, d.at, nil
	d.touch(&d.loaded, c)
	d.setUnion(union, touched)
}

// setUnion puts a union in the place of another.
func (d *draft) setUnion(union routing.State, touched []string) {
	r := &d.Routes
	r.union = union
	r.Gone = buried(r.Gone, d.at, touched, union.MEIDs)
	r.Version = d.at
}

func (d *draft) routesResult() Result {
	r := d.Routes
	return Result{Version: r.Version, Routes: r.Loaded.Table.Len(), MEIDs: r.Loaded.MEIDs.Len()}
}

// buried returns the tombstones after a change at an index. One that is there
// already keeps the index of its deletion.
func buried(gone *routing.Tombstones, at uint64, touched []string, now *routing.MEIDMap) *routing.Tombstones {
	var news []string
	for _, meid := range touched {
		if _, lives := now.Owner(meid); lives == gone.Has(meid) {
			news = append(news, meid)
		}
	}
	if len(news) == 0 {
		return gone
	}
	return gone.After(at, news, now)
}

func distinct(names []string) int {
	if len(names) < 2 {
		return len(names)
	}
	seen := make(map[string]struct{}, len(names))
	for _, n := range names {
		seen[n] = struct{}{}
	}
	return len(seen)
}
