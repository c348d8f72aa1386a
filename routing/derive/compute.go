package derive

import (
	"cmp"
	"maps"
	"slices"

	"floe/routing"
)

// deriveRules makes the records of configuration, E2Ts and xApps again.
func (f *Facts) deriveRules(was *Facts) (*Facts, error) {
	r := ruling{config: f.config, records: map[routing.Key][]routing.Record{}}
	for _, p := range f.config.Routes {
		r.platform(p)
	}
	r.e2ts(f.e2ts)
	r.xapps(f.xapps)
	f.rules, f.omitted = r.records, r.omitted
	keys := slices.Collect(maps.Keys(f.rules))
	return f.derive(slices.AppendSeq(keys, maps.Keys(was.rules)))
}

// deriveAll makes everything again: the configuration, which says what the
// numbers of messages are, changed.
func (f *Facts) deriveAll(was *Facts) (*Facts, error) {
	next, err := f.deriveRules(was)
	if err != nil {
		return nil, err
	}
	keys := was.state.Table.Keys()
	for _, s := range next.subs {
		keys = append(keys, next.config.subscriptionKeys(s.SubID)...)
	}
	for i := range next.hand {
		keys = append(keys, next.hand[i].key())
	}
	return next.derive(keys)
}

// derive makes the entries of keys again, which may be named more than once
// and in any order, from all records of each in the order of the rules.
func (f *Facts) derive(keys []routing.Key) (*Facts, error) {
	slices.SortFunc(keys, routing.Key.Compare)
	e := f.state.Edit()
	for _, key := range slices.Compact(keys) {
		if err := e.Add(&routing.Record{Verb: routing.Unroute, Key: key}); err != nil {
			return nil, err
		}
		for _, r := range f.records(key) {
			if err := e.Add(&r); err != nil {
				return nil, err
			}
		}
	}
	f.commit(e)
	return f, nil
}

// commit ends an edit of the state. Table and map keep their identity unless
// they changed, also where there are none yet.
func (f *Facts) commit(e *routing.Edit) {
	next, changes := e.Commit()
	if len(changes.Routes) > 0 {
		f.state.Table = next.Table
	}
	if len(changes.MEIDs) > 0 {
		f.state.MEIDs = next.MEIDs
	}
	f.touched.Routes = append(f.touched.Routes, changes.Routes...)
	f.touched.MEIDs = append(f.touched.MEIDs, changes.MEIDs...)
}

// records returns what the rules say about a key: platform, E2Ts and xApps,
// then subscriptions, then what people added. Of records for the same sender
// the last holds.
func (f *Facts) records(key routing.Key) []routing.Record {
	records := slices.Clip(f.rules[key])
	records = append(records, f.subscriptionRecords(key)...)
	for _, h := range f.handOf(key) {
		records = append(records, h.record())
	}
	return records
}

// Omitted returns the records that were left out because a component or
// message name is unknown or an endpoint is unusable, one line each.
func (f *Facts) Omitted() []string {
	f = f.or()
	return append(slices.Clip(f.omitted), f.omittedSubscriptions()...)
}

func keysOf[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
