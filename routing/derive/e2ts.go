package derive

import (
	"fmt"
	"slices"

	"floe/routing"
)

// changeE2T makes an E2T known or forgets it.
func (f *Facts) changeE2T(c *Change) (*Facts, error) {
	if err := routing.CheckOwner(c.E2T); err != nil {
		return nil, err
	}
	i, found := slices.BinarySearch(f.e2ts, c.E2T)
	next := *f
	var err error
	if c.Kind == PutE2T {
		if !found {
			next.e2ts = slices.Insert(slices.Clip(f.e2ts), i, c.E2T)
		}
		err = next.assign(c.E2T, c.RANs)
	} else {
		if found {
			next.e2ts = slices.Delete(slices.Clone(f.e2ts), i, i+1)
		}
		err = next.release(next.ransOf(c.E2T))
	}
	switch {
	case err != nil:
		return nil, err
	case len(next.e2ts) != len(f.e2ts):
		return next.deriveRules(f)
	case next.state == f.state:
		return nil, nil
	}
	return &next, nil
}

// associate changes whose RANs are whose and leaves the routes alone.
func (f *Facts) associate(c *Change) (*Facts, error) {
	if err := routing.CheckOwner(c.E2T); err != nil {
		return nil, err
	}
	next := *f
	var err error
	if c.Kind == Associate {
		err = next.assign(c.E2T, c.RANs)
	} else {
		err = next.dissociate(c.E2T, c.RANs)
	}
	if err != nil {
		return nil, err
	}
	if next.state == f.state {
		return nil, nil
	}
	return &next, nil
}

// dissociate takes RANs from an E2T, none named: all it has. A RAN that
// belongs to another one by now is not taken from that one.
func (f *Facts) dissociate(e2t string, rans []string) error {
	if len(rans) == 0 {
		return f.release(f.ransOf(e2t))
	}
	var its []string
	for _, ran := range rans {
		if err := routing.CheckMEID(ran); err != nil {
			return err
		}
		if owner, _ := f.state.MEIDs.Owner(ran); owner == e2t {
			its = append(its, ran)
		}
	}
	return f.release(its)
}

// setE2Ts puts E2Ts and owners in the place of all others. Of two E2Ts that
// list a RAN the later holds.
func (f *Facts) setE2Ts(c *Change) (*Facts, error) {
	if c.Base != "" && c.Base != f.Mark(SetE2Ts) {
		return nil, ErrMoved
	}
	next := *f
	next.e2ts = nil
	owner := map[string]string{}
	for i, t := range append(slices.Clip(c.E2Ts), c.Owners...) {
		if err := routing.CheckOwner(t.Address); err != nil {
			return nil, err
		}
		if i < len(c.E2Ts) {
			next.e2ts = append(next.e2ts, t.Address)
		}
		for _, ran := range t.RANs {
			owner[ran] = t.Address
		}
	}
	next.e2ts = sorted(next.e2ts)
	if err := next.setOwners(owner); err != nil {
		return nil, err
	}
	switch {
	case !slices.Equal(next.e2ts, f.e2ts):
		return next.deriveRules(f)
	case next.state == f.state:
		return nil, nil
	}
	return &next, nil
}

// setOwners makes owner all there is of RANs.
func (f *Facts) setOwners(owner map[string]string) error {
	var gone []string
	for ran := range f.state.MEIDs.All() {
		if _, ok := owner[ran]; !ok {
			gone = append(gone, ran)
		}
	}
	lists := map[string][]string{}
	for ran, e2t := range owner {
		if now, ok := f.state.MEIDs.Owner(ran); !ok || now != e2t {
			lists[e2t] = append(lists[e2t], ran)
		}
	}
	slices.Sort(gone)
	if err := f.release(gone); err != nil {
		return err
	}
	for _, e2t := range keysOf(lists) {
		slices.Sort(lists[e2t])
		if err := f.assign(e2t, lists[e2t]); err != nil {
			return err
		}
	}
	return nil
}

func (f *Facts) assign(e2t string, rans []string) error {
	if len(rans) == 0 {
		return nil
	}
	return f.edit(&routing.Record{Verb: routing.Assign, Owner: e2t, MEIDs: rans})
}

func (f *Facts) release(rans []string) error {
	if len(rans) == 0 {
		return nil
	}
	return f.edit(&routing.Record{Verb: routing.Release, MEIDs: rans})
}

func (f *Facts) edit(r *routing.Record) error {
	e := f.state.Edit()
	if err := e.Add(r); err != nil {
		return err
	}
	f.commit(e)
	return nil
}

// ransOf returns what an E2T owns, sorted. It looks through all RANs.
func (f *Facts) ransOf(e2t string) []string {
	var rans []string
	for ran, owner := range f.state.MEIDs.All() {
		if owner == e2t {
			rans = append(rans, ran)
		}
	}
	slices.Sort(rans)
	return rans
}

// E2Ts returns all E2Ts that are known, sorted by address, each with the RANs
// it owns, sorted. It looks through all RANs once.
func (f *Facts) E2Ts() []E2T {
	f = f.or()
	owned := map[string][]string{}
	for ran, owner := range f.state.MEIDs.Sorted() {
		owned[owner] = append(owned[owner], ran)
	}
	list := make([]E2T, len(f.e2ts))
	for i, address := range f.e2ts {
		list[i] = E2T{address, owned[address]}
	}
	return list
}

// Mark tells versions of a whole set apart, for [Change.Base]: k is SetE2Ts
// or SetSubscriptions. Equal content has equal marks.
func (f *Facts) Mark(k Kind) string {
	f = f.or()
	h := newHash()
	switch k {
	case SetE2Ts:
		for _, t := range f.e2ts {
			h.add(t)
		}
		h.add(f.state.MEIDs.Digest().String())
	case SetSubscriptions:
		for _, s := range f.subs {
			h.add(fmt.Sprint(s.SubID))
			h.add(s.Endpoints...)
		}
	}
	return h.String()
}
