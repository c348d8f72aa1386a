package manager

import (
	"slices"

	"floe/fsm"
	"floe/routing"
)

// Listeners of nodes, as fsm.Member.Addresses has them.
const (
	Listener      = "rtg"        // where apps ask for tables
	relayListener = "rmr"        // takes messages that floe routes
	topicListener = "rmr-topics" // takes messages for topics
)

// outline says how groups are written: with relays and topics in place, and
// without the dead.
type outline struct {
	relay  fsm.Relay
	relays []string // this node's first, then those of the others that are not out
	topics []string
	dead   []string // sorted
}

func newOutline(v *fsm.View, node string) *outline {
	return &outline{
		relay:  v.Distribution.Relay,
		relays: addresses(v, node, relayListener),
		topics: addresses(v, node, topicListener),
		dead:   v.Distribution.Dead,
	}
}

// addresses returns those of a listener on nodes that are not out.
func addresses(v *fsm.View, node, listener string) []string {
	var own, others []string
	for _, m := range v.Members {
		switch address := m.Address(listener); {
		case address == "" || v.Distribution.IsOut(m.ID):
		case m.ID == node:
			own = append(own, address)
		default:
			others = append(others, address)
		}
	}
	return append(own, others...)
}

func (o *outline) equal(p *outline) bool {
	return o.relay.Equal(p.relay) && slices.Equal(o.relays, p.relays) && slices.Equal(o.topics, p.topics) && slices.Equal(o.dead, p.dead)
}

// groups returns what to write as the groups of an entry. A relay that no
// node has a listener for is none. Of several groups of topics one is
// written: a message that arrives there serves them all.
func (o *outline) groups(e *routing.Entry) (groups [][]string, byMEID bool) {
	if o.relay.On(e.Key.MType) && len(o.relays) > 0 {
		return [][]string{o.relays}, false
	}
	if e.ByMEID || len(o.dead) == 0 && !slices.ContainsFunc(e.Groups, hasTopic) {
		return e.Groups, e.ByMEID
	}
	topics := false
	for _, g := range e.Groups {
		switch {
		case !hasTopic(g):
			groups = append(groups, o.alive(g))
		case slices.ContainsFunc(g, isEndpoint):
			groups = append(groups, o.alive(o.inPlace(g)))
		case !topics:
			topics = true
			groups = append(groups, o.topics) // an empty group is not written
		}
	}
	return groups, false
}

// inPlace returns a group with this node's topic listener, or that of
// another one, where it names topics, which are left out if there is none.
func (o *outline) inPlace(group []string) []string {
	var out []string
	for _, m := range group {
		switch {
		case isEndpoint(m):
			out = append(out, m)
		case len(o.topics) > 0:
			out = append(out, o.topics[0])
		}
	}
	return out
}

// alive returns a group without those found dead; all of it if all are.
func (o *outline) alive(group []string) []string {
	if !slices.ContainsFunc(group, o.isDead) {
		return group
	}
	left := slices.DeleteFunc(slices.Clone(group), o.isDead)
	if len(left) == 0 {
		return group
	}
	return left
}

func (o *outline) isDead(endpoint string) bool {
	_, found := slices.BinarySearch(o.dead, endpoint)
	return found
}

func hasTopic(group []string) bool {
	return slices.ContainsFunc(group, func(m string) bool { return !isEndpoint(m) })
}

func isEndpoint(member string) bool {
	_, topic := routing.Topic(member)
	return !topic
}
