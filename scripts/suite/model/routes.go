package model

import (
	"fmt"
	"maps"
	"strings"

	"floe/fsm"
	"floe/routing"
)

func routeKey(mtype, subID int32) string { return fmt.Sprintf("%d|%d", mtype, subID) }

func groupText(byMEID bool, groups [][]string) string {
	if byMEID {
		return "%meid"
	}
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = strings.Join(g, ",")
	}
	return strings.Join(texts, ";")
}

// Lines are the routes as records of a text.
func (m *Model) Lines() []string {
	var out []string
	for key, groups := range m.Routes {
		out = append(out, "mse|"+key+"|"+groups)
	}
	return out
}

func (m *Model) changeRoutes(blocks []fsm.RouteBlock, only fsm.Condition) (bool, error) {
	if only.Given && only.Version != m.Version && (only.Version != 0 || m.Loaded) {
		return false, nil
	}
	routes, owners, whole := maps.Clone(m.Routes), maps.Clone(m.Owners), false
	for _, b := range blocks {
		if b.Kind == routing.FullTable {
			clear(routes)
			whole = true
		}
		for i := range b.Records {
			if err := change(routes, owners, &b.Records[i]); err != nil {
				return false, err
			}
		}
	}
	if maps.Equal(routes, m.Routes) && maps.Equal(owners, m.Owners) && (m.Loaded || !whole) {
		return true, nil
	}
	m.Routes, m.Owners, m.Version, m.Loaded = routes, owners, m.Index, true
	m.loads, m.parts = nil, nil // they were made from other routes
	return true, nil
}

func change(routes, owners map[string]string, r *fsm.RouteRecord) error {
	if len(r.Senders) > 0 {
		return fmt.Errorf("the model knows no routes of some senders alone")
	}
	switch r.Verb {
	case routing.Route:
		routes[routeKey(r.MType, r.SubID)] = groupText(r.ByMEID, r.Groups)
	case routing.Unroute:
		delete(routes, routeKey(r.MType, r.SubID))
	case routing.Assign:
		for _, meid := range r.MEIDs {
			owners[meid] = r.Owner
		}
	case routing.Release:
		for _, meid := range r.MEIDs {
			delete(owners, meid)
		}
	}
	return nil
}

// stage keeps a part of a large change, where it is the next one.
func (m *Model) stage(o fsm.StageRoutes) {
	if m.loads == nil {
		m.loads, m.parts = map[uint64][]fsm.RouteBlock{}, map[uint64]int{}
	}
	if m.parts[o.Load] == o.Part {
		m.loads[o.Load] = append(m.loads[o.Load], o.Blocks...)
		m.parts[o.Load]++
	}
}

// commit carries a large change out, where all of its parts are there.
func (m *Model) commit(o fsm.CommitRoutes) (bool, error) {
	if m.parts[o.Load] != o.Parts {
		return false, nil
	}
	return m.changeRoutes(m.loads[o.Load], o.If)
}
