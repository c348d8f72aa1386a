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

// membersOf looks at each group once: a large table has few that differ.
func membersOf(t *routing.Table) *members {
	m := &members{table: t}
	seen := map[string]bool{}
	var name []byte
	for g := range t.Groups() {
		name = name[:0]
		for _, endpoint := range g {
			name = append(append(name, endpoint...), ',')
		}
		if seen[string(name)] {
			continue
		}
		seen[string(name)] = true
		m.add(g)
	}
	slices.SortFunc(m.groups, slices.Compare[[]string])
	m.groups = slices.CompactFunc(m.groups, slices.Equal[[]string])
	slices.Sort(m.endpoints)
	m.endpoints = slices.Compact(m.endpoints)
	return m
}

func (m *members) add(group []string) {
	group = slices.DeleteFunc(slices.Clone(group), isTopic)
	slices.Sort(group)
	if group = slices.Compact(group); len(group) > 1 {
		m.groups = append(m.groups, group)
		m.endpoints = append(m.endpoints, group...)
	}
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
