package routing

import (
	"slices"
	"strings"
)

// Limits of the library: what goes beyond stays in the last item, or is
// dropped.
const (
	readSenders = 127 // items of the sender field, the type being the first
	readGroups  = 64
	readItems   = 64 // items of a group before those that are the program's own are taken out
	readMEIDs   = 128
)

func (r *Reader) rte(fields []field) string {
	if r.open == nil {
		return ""
	}
	if len(fields) < 3 {
		return "rte with fewer than three fields"
	}
	r.open.updates++
	subID := AnySubID
	if len(fields) > 3 {
		subID = atoi(fields[3].text)
	}
	r.route(clipped(fields[1]), subID, clipped(fields[2]))
	return ""
}

func (r *Reader) mse(fields []field) {
	if r.open == nil || len(fields) < 4 {
		return
	}
	r.open.updates++
	r.route(clipped(fields[1]), atoi(fields[2].text), clipped(fields[3]))
}

func (r *Reader) del(fields []field) {
	if r.open == nil || len(fields) < 3 {
		return
	}
	r.open.updates++
	if who := clipped(fields[1]); r.mine(who) {
		delete(r.open.routes, Key{atoi(who), atoi(fields[2].text)})
	}
}

// mine says whether a type field, with its senders, is for this program.
func (r *Reader) mine(who string) bool {
	if !strings.Contains(who, ",") {
		return true
	}
	return slices.ContainsFunc(strings.SplitN(who, ",", readSenders), func(item string) bool {
		return item != "" && (item == r.Name || slices.Contains(r.Addresses, item))
	})
}

// route adds an entry as build_entry in rt_generic_static.c does: the
// program's own endpoints are left out, groups without members close up,
// and a key that is there is replaced.
func (r *Reader) route(who string, subID int32, groups string) {
	if !r.mine(who) || groups == "" {
		return
	}
	e := &Entry{Key: Key{atoi(who), subID}}
	split := strings.SplitN(groups, ";", readGroups)
	if e.ByMEID = split[0] == marker; !e.ByMEID {
		for _, g := range split {
			if members := r.members(g); len(members) > 0 {
				e.Groups = append(e.Groups, members)
			}
		}
	}
	r.open.routes[e.Key] = e
}

func (r *Reader) members(group string) []string {
	if group == "" {
		return nil
	}
	var members []string
	for _, m := range strings.SplitN(group, ",", readItems) {
		own := m != "" && (m == r.Name || slices.Contains(r.Addresses, m))
		if !own && len(members) < MaxMembers {
			members = append(members, strings.Clone(m))
		}
	}
	return members
}

func (r *Reader) assign(owner, meids string) {
	r.open.mapped++
	if owner == "" || meids == "" {
		return
	}
	owner = strings.Clone(owner)
	for _, meid := range strings.SplitN(meids, " ", readMEIDs) {
		r.open.meids[strings.Clone(meid)] = owner
	}
}

func (r *Reader) release(meids string) {
	r.open.mapped++
	if meids == "" {
		return
	}
	for _, meid := range strings.SplitN(meids, " ", readMEIDs) {
		delete(r.open.meids, meid)
	}
}
