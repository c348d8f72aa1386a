package fsm

import (
	"slices"

	"floe/routing"
)

// routes compares what was touched of two states.
func (e *effect) routes(was, is routing.State, c routing.Changes, derived bool) {
	e.change.NRoutes += len(c.Routes)
	e.change.NMEIDs += len(c.MEIDs)
	if 60*len(c.Routes)+50*len(c.MEIDs) > 2*maxChange {
		e.change.Cut = true // so many that looking at them would take long
		return
	}
	for _, key := range sortedKeys(c.Routes) {
		change := RouteChange{MType: key.MType, SubID: key.SubID, Derived: derived, Was: recordsOf(was.Table.Entries(key)), Is: recordsOf(is.Table.Entries(key))}
		if slices.EqualFunc(change.Was, change.Is, RouteRecord.Equal) {
			continue
		}
		if !e.take(change.size()) {
			return
		}
		e.change.Routes = append(e.change.Routes, change)
	}
	for _, meid := range union(c.MEIDs, nil) {
		change := MEIDChange{MEID: meid, Derived: derived}
		change.Was, _ = was.MEIDs.Owner(meid)
		if change.Is, _ = is.MEIDs.Owner(meid); change.Was == change.Is {
			continue
		}
		if !e.take(change.size()) {
			return
		}
		e.change.MEIDs = append(e.change.MEIDs, change)
	}
}

func sortedKeys(keys []routing.Key) []routing.Key {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, routing.Key.Compare)
	return slices.Compact(keys)
}

func recordsOf(entries []*routing.Entry) []RouteRecord {
	var records []RouteRecord
	for _, e := range entries {
		records = append(records, recordOfEntry(e))
	}
	return records
}
