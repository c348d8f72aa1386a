package fsm

import (
	"fmt"
	"slices"

	"floe/routing"
)

// Bounds of loads under way.
const (
	// loadLife is how many log entries may pass since the last part of a
	// load before it is dropped: nobody will commit it any more.
	loadLife = 4096
	// maxLoads is how many loads may be under way; a further one drops that
	// which has been idle for longest.
	maxLoads = 4
)

// load is a change too large for one log entry, on its way. It is made from
// the routes as they stand: once those change, all loads are dropped.
type load struct {
	id     uint64
	last   uint64 // index of its last part
	parts  [][]RouteBlock
	failed string // why it can't be committed
	// edit is the one thing in a View that changes: only Apply touches it,
	// in the order of the log, so that no part is carried out twice. A
	// snapshot holds the parts, and the edit is made anew from them.
	edit *routing.Edit
}

// pruned returns the loads that are still waited for at an index.
func pruned(loads []load, at uint64) []load {
	for len(loads) > 0 && loads[0].last+loadLife < at { // the first is the oldest
		loads = loads[1:]
	}
	return loads
}

// find returns the place of a load that has so many parts.
func (r Routes) find(id uint64, parts int) (int, error) {
	i := slices.IndexFunc(r.loads, func(l load) bool { return l.id == id })
	switch {
	case i < 0:
		return 0, &Refusal{Kind: ErrNoLoad, Detail: "it was dropped, as the routes changed or others came in between"}
	case len(r.loads[i].parts) != parts:
		return 0, &Refusal{Kind: ErrNoLoad, Detail: fmt.Sprintf("it has %d parts, not %d", len(r.loads[i].parts), parts)}
	case r.loads[i].failed != "":
		return 0, &Refusal{Kind: ErrRoutes, Detail: r.loads[i].failed}
	}
	return i, nil
}

func (o StageRoutes) apply(d *draft) (Result, error) {
	if err := d.checkBlocks(o.Blocks); err != nil {
		return Result{}, err
	}
	r := &d.Routes
	if o.Part == 0 {
		r.loads = append(slices.Clone(r.loads), load{id: o.Load, edit: r.Loaded.Edit()})
	}
	i, err := r.find(o.Load, o.Part)
	if err != nil || d.trial { // what else can go wrong is found when it is applied
		return Result{}, err
	}
	rest := slices.Delete(slices.Clone(r.loads), i, i+1)
	if len(rest) == maxLoads {
		rest = rest[1:]
	}
	r.loads = append(rest, r.loads[i].with(o.Blocks, d.at))
	return Result{Version: r.Version}, nil
}

// with returns the load after one more part.
func (l load) with(blocks []RouteBlock, at uint64) load {
	l.last = at
	l.parts = append(slices.Clip(l.parts), blocks)
	if err := l.edit.Do(RouteUpdate(blocks)); err != nil {
		l.edit, l.failed = nil, err.Error()
	}
	return l
}

func (o CommitRoutes) apply(d *draft) (Result, error) {
	if err := d.Routes.Check(o.If); err != nil {
		return Result{}, err
	}
	i, err := d.Routes.find(o.Load, o.Parts)
	if err != nil || d.trial {
		return Result{}, err
	}
	l := d.Routes.loads[i]
	d.Routes.loads = slices.Delete(slices.Clone(d.Routes.loads), i, i+1)
	next, changes := l.edit.Commit()
	touched := l.buriedOrRaised(d.Routes)
	d.setLoaded(next, touched, changes, slices.ContainsFunc(l.parts, holdsTable))
	r := d.routesResult()
	r.Count = len(changes.Routes) + len(changes.MEIDs)
	return r, nil
}

// buriedOrRaised returns the MEIDs that the load can have deleted, or given
// an owner again. All that it touched would be too many to look at, at once.
func (l load) buriedOrRaised(r Routes) []string {
	var meids []string
	for _, blocks := range l.parts {
		for _, b := range blocks {
			for i := range b.Records {
				if b.Records[i].Verb == routing.Release {
					meids = append(meids, b.Records[i].MEIDs...)
				}
			}
		}
	}
	meids = slices.DeleteFunc(meids, func(m string) bool { _, lived := r.Loaded.MEIDs.Owner(m); return !lived })
	for meid := range r.Gone.All() {
		meids = append(meids, meid)
	}
	return meids
}
