package ice

import (
	"fmt"
	"slices"

	"floe/fsm"
	"floe/transport/ice/proto"
)

// maxNodes is how many nodes a proxy names at most.
const maxNodes = 5

// addresses are the endpoints of the cluster's nodes as one view has them.
type addresses struct {
	members *fsm.Member // first of the view's, tells an older list from this
	servers *fsm.Server
	count   [2]int

	// stream are the endpoints for calls, all has those for datagrams too:
	// this node's first, then those of other voters.
	stream, all []proto.Endpoint
	// voters and members hold the stream endpoints by node id.
	voters  []nodeEndpoints
	ofNodes map[hostPort]bool
}

type nodeEndpoints struct {
	id        string
	endpoints []proto.Endpoint
}

// hostPort tells whether an endpoint leads to one of our nodes.
type hostPort struct {
	host string
	port int32
}

// addressesIn returns the addresses in a view. They are worked out once for
// each change of members or servers.
func (f *Face) addressesIn(v *fsm.View) *addresses {
	if a := f.addresses.Load(); a != nil && a.current(v) {
		return a
	}
	a := f.compile(v)
	f.addresses.Store(a)
	return a
}

func (a *addresses) current(v *fsm.View) bool {
	return a.members == first(v.Members) && a.servers == first(v.Servers) && a.count == [2]int{len(v.Members), len(v.Servers)}
}

func first[E any](s []E) *E {
	if len(s) == 0 {
		return nil
	}
	return &s[0]
}

func (f *Face) compile(v *fsm.View) *addresses {
	a := &addresses{
		members: first(v.Members),
		servers: first(v.Servers),
		count:   [2]int{len(v.Members), len(v.Servers)},
		all:     slices.Clone(f.own),
		ofNodes: make(map[hostPort]bool),
	}
	a.note(f.own)
	nodes := 1
	for _, m := range v.Members {
		a.note(f.endpointsOf(v, m.ID))
	}
	for _, id := range f.ring(v) {
		endpoints := f.endpointsOf(v, id)
		a.voters = append(a.voters, nodeEndpoints{id, streams(endpoints)})
		if id != f.config.Node && len(endpoints) > 0 && nodes < maxNodes {
			a.all = append(a.all, endpoints...)
			nodes++
		}
	}
	a.stream = streams(a.all)
	return a
}

func (a *addresses) note(endpoints []proto.Endpoint) {
	for _, e := range endpoints {
		a.ofNodes[hostPort{e.Host, e.Port}] = true
	}
}

// ring returns the voters from this node on, in the order of their ids, so
// that the nodes of a large cluster name different ones. This node is the
// first, whether it is a voter or not.
func (f *Face) ring(v *fsm.View) []string {
	ids := []string{f.config.Node}
	var before []string
	for _, s := range v.Servers {
		switch {
		case !s.Voter || s.ID == f.config.Node:
		case s.ID < f.config.Node:
			before = append(before, s.ID)
		default:
			ids = append(ids, s.ID)
		}
	}
	return append(ids, before...)
}

// endpointsOf returns a node's endpoints. Another node's that can't be read
// are left out: its program may be newer.
func (f *Face) endpointsOf(v *fsm.View, id string) []proto.Endpoint {
	if id == f.config.Node {
		return f.own
	}
	m, _ := v.Member(id)
	endpoints, err := parseEndpoints(m.Addresses["ice"])
	if err != nil {
		f.log.Debug("endpoints of another node can't be read", "node", id, "error", err)
		return nil
	}
	return endpoints
}

func parseEndpoints(list []string) ([]proto.Endpoint, error) {
	var out []proto.Endpoint
	for _, s := range list {
		e, err := proto.ParseEndpoints(s)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s, err)
		}
		out = append(out, e...)
	}
	return out, nil
}

// streams returns the endpoints that calls can use.
func streams(endpoints []proto.Endpoint) []proto.Endpoint {
	var out []proto.Endpoint
	for _, e := range endpoints {
		if e.Type != proto.EndpointUDP {
			out = append(out, e)
		}
	}
	return out
}

// ours tells whether any of the endpoints leads to a node of this cluster.
func (a *addresses) ours(endpoints []proto.Endpoint) bool {
	return slices.ContainsFunc(endpoints, func(e proto.Endpoint) bool {
		return !e.Opaque() && a.ofNodes[hostPort{e.Host, e.Port}]
	})
}
