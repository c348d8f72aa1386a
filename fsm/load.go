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
	id    uint64
	last  uint64 // index of its last part
	parts [][]RouteBlock
	edit  *loadEdit
}

// pruned returns the loads that are still waited for at an index.
func pruned(loads []load, at uint64) []load {
	for len(loads) > 0 && loads[0].last+loadLife < at { // the first is the oldest
		loads = loads[1:]
	}
	return loads
}

// find returns the place of a load that has so many parts. Whether they can
// be committed is known once the last of them is worked in: a trial does not
// wait for that.
func (r Routes) find(id uint64, parts int, trial bool) (int, error) {
	i := slices.IndexFunc(r.loads, func(l load) bool { return l.id == id })
	switch {
	case i < 0:
		return 0, &Refusal{Kind: ErrNoLoad, Detail: "it was dropped, as the routes changed or others came in between"}
	case len(r.loads[i].parts) != parts:
		return 0, &Refusal{Kind: ErrNoLoad, Detail: fmt.Sprintf("it has %d parts, not %d", len(r.loads[i].parts), parts)}
	case trial:
		return i, nil
	}
	if err := r.loads[i].edit.wait(); err != nil {
		return 0, &Refusal{Kind: ErrRoutes, Detail: err.Error()}
	}
	return i, nil
}

func (o StageRoutes) apply(d *draft) (Result, error) {
	if err := d.checkBlocks(o.Blocks); err != nil {
		return Result{}, err
	}
	r := &d.Routes
	if o.Part == 0 {
		r.loads = append(slices.Clone(r.loads), r.begin(o.Load, o.MEIDs))
	}
	i, err := r.find(o.Load, o.Part, d.trial)
	if err != nil || d.trial { // what else can go wrong is found when it is applied
		return Result{}, err
	}
	rest := slices.Delete(slices.Clone(r.loads), i, i+1)
	if len(rest) == maxLoads {
		rest = rest[1:]
	}
	r.loads = append(rest, r.loads[i].with(o.Blocks, r.derived(), d.at))
	return Result{Version: r.Version}, nil
}

// begin returns a load without parts. It is made from the routes as they are;
// meids is how many it will name, 0 where that is unknown.
func (r Routes) begin(id uint64, meids int) load {
	e := &loadEdit{half: r.Loaded.Edit()}
	e.union = e.half.Union(r.union, r.derived())
	if meids > 0 {
		e.do(func() error {
			e.half.Expect(meids)
			e.union.Expect(meids)
			return nil
		})
	}
	return load{id: id, edit: e}
}

// with returns the load after one more part.
func (l load) with(blocks []RouteBlock, derived routing.State, at uint64) load {
	l.last = at
	l.parts = append(slices.Clip(l.parts), blocks)
	l.edit.do(func() error {
		u := RouteUpdate(blocks)
		if err := l.edit.half.Do(u); err != nil {
			return err
		}
		l.edit.union.Follow(derived)
		l.edit.union.Do(u)
		return nil
	})
	return l
}

func (o CommitRoutes) apply(d *draft) (Result, error) {
	if err := d.Routes.Check(o.If); err != nil {
		return Result{}, err
	}
	i, err := d.Routes.find(o.Load, o.Parts, d.trial)
	if err != nil || d.trial {
		return Result{}, err
	}
	l := d.Routes.loads[i]
	d.Routes.loads = slices.Delete(slices.Clone(d.Routes.loads), i, i+1)
	next, union, changes := l.edit.commit(d.Routes)
	touched := l.buriedOrRaised(d.Routes)
	d.setLoaded(next, union, touched, changes, slices.ContainsFunc(l.parts, holdsTable))
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
