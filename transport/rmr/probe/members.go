package probe

import (
	"slices"

	"floe/routing"
)

// members are the endpoints that can be withdrawn from a table: those of
// groups that have several.
type members struct {
	table     *routing.Table
	endpoints []string   // sorted
	groups    [][]string // of several members
}

func membersOf(t *routing.Table) *members {
	m := &members{table: t}
	for e := range t.All() {
		for _, g := range e.Groups {
			g = slices.DeleteFunc(slices.Clone(g), isTopic)
			slices.Sort(g)
			if g = slices.Compact(g); len(g) > 1 {
				m.groups = append(m.groups, g)
				m.endpoints = append(m.endpoints, g...)
			}
		}
	}
	slices.Sort(m.endpoints)
	m.endpoints = slices.Compact(m.endpoints)
	return m
}

func isTopic(endpoint string) bool {
	_, is := routing.Topic(endpoint)
	return is
}

func (m *members) has(endpoint string) bool {
	_, found := slices.BinarySearch(m.endpoints, endpoint)
	return found
}

// sparing returns the dead without those that are the last of a group: of
// a group that is dead as a whole, the first member stays.
func (m *members) sparing(dead map[string]bool) []string {
	spared := map[string]bool{}
	for _, g := range m.groups {
		if !slices.ContainsFunc(g, func(e string) bool { return !dead[e] || spared[e] }) {
			spared[g[0]] = true
		}
	}
	var out []string
	for _, e := range m.endpoints {
		if dead[e] && !spared[e] {
			out = append(out, e)
		}
	}
	return out
}
