package fsm

import (
	"errors"
	"fmt"

	"floe/routing"
	"floe/routing/derive"
)

// ChangeFacts changes what the managers of a RIC said, from which routes are
// derived: all changes or none. The result is like that of [ChangeRoutes].
type ChangeFacts struct {
	Changes []derive.Change `codec:"c"`
}

// Kind returns the number the op travels under.
func (ChangeFacts) Kind() Kind { return KindChangeFacts }

func (o ChangeFacts) apply(d *draft) (Result, error) {
	next, changes, err := d.Routes.Facts.ApplyAll(o.Changes)
	switch {
	case errors.Is(err, derive.ErrMoved):
		return Result{}, &Refusal{Kind: ErrRoutesChanged, Detail: err.Error()}
	case err != nil:
		return Result{}, &Refusal{Kind: ErrRoutes, Detail: err.Error()}
	}
	if err := d.checkDerived(next.State(), changes); err != nil {
		return Result{}, err
	}
	d.Routes.Facts = next
	if !changes.Empty() {
		d.touch(&d.derived, changes)
		d.setUnion(d.Routes.union.Merge(d.Routes.Loaded, next.State(), changes), changes.MEIDs)
	}
	r := d.routesResult()
	r.Count = len(changes.Routes) + distinct(changes.MEIDs)
	return r, nil
}

// checkDerived is checkBlocks for what follows from facts.
func (d *draft) checkDerived(s routing.State, c routing.Changes) error {
	own := d.ownListeners()
	for _, key := range c.Routes {
		for _, e := range s.Table.Entries(key) {
			r := recordOfEntry(e)
			if err := checkRecord(&r, own); err != nil {
				return &Refusal{Kind: ErrRoutes, Detail: err.Error()}
			}
		}
	}
	for _, meid := range c.MEIDs {
		if owner, ok := s.MEIDs.Owner(meid); ok && own[owner] != "" {
			return &Refusal{Kind: ErrRoutes, Detail: fmt.Sprintf("owner %s is a listener of node %s of this cluster", owner, own[owner])}
		}
	}
	return nil
}

// derived returns what follows from the facts.
func (r Routes) derived() routing.State { return r.Facts.State() }

// united returns the routes with the union of both halves made anew.
func (r Routes) united() Routes {
	derived := r.derived()
	touched := routing.Changes{Routes: derived.Table.Keys()}
	for meid := range derived.MEIDs.All() {
		touched.MEIDs = append(touched.MEIDs, meid)
	}
	r.union = r.Loaded.Merge(r.Loaded, derived, touched)
	return r
}
