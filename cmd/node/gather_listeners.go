package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"floe/transport/http/api"
	"floe/transport/ice/server"
	"floe/transport/nbi"
	"floe/transport/rmr/relay"
)

var (
	badInput    = counter("floe_bad_input_total", "Connections and datagrams that were closed or dropped for what they sent.", "listener")
	connections = gauge("floe_connections", "Connections that are open.", "listener")
	iceRefused  = counter("floe_ice_requests_refused_total", "Requests over Ice that --ice-allow kept out, by the word of its rules.", "what")
	httpErrors  = counter("floe_http_errors_total", "Calls over HTTP that were answered with an error, by its kind.", "kind")
	nbiCalls    = counter("floe_nbi_calls_total", "Calls at the port of the old route manager, by outcome: done, refused for what they said, or failed.", "outcome")
	refused     = counter("floe_connections_refused_total", "Connections refused because there were too many.", "listener")

	packetsDropped = counter("floe_peer_packets_dropped_total", "Gossip packets dropped because this node was too slow.")
	callsRefused   = counter("floe_peer_calls_refused_total", "Calls of other nodes that were refused because there were too many at a time.")
	acceptErrors   = counter("floe_peer_accept_errors_total", "Connections to the peer port that could not be accepted, for want of file descriptors for example.")
)

// listenerStats are the figures of the listeners of one name.
type listenerStats struct {
	name              string
	badInput, refused uint64
	connections       int
	// received counts RMR messages.
	received uint64
	// peer has what only the peer port counts; nil for others.
	peer *peerStats
}

type peerStats struct{ droppedPackets, acceptErrors, refusedCalls uint64 }

// listenerFigures returns them for every listener, by name.
func (n *node) listenerFigures() []listenerStats {
	peer, api, rtg, nbi := n.port.Stats(), n.http.Stats(), n.manager.Stats(), n.nbi.Stats()
	all := []listenerStats{
		{name: "peer", badInput: peer.BadInput, refused: peer.RefusedConns, connections: peer.Conns, peer: &peerStats{peer.DroppedPackets, peer.AcceptErrors, peer.RefusedCalls}},
		{name: "http", badInput: api.BadInput, refused: api.Refused, connections: api.Connections},
		{name: "rtg", badInput: rtg.BadInput, refused: rtg.RefusedConns, connections: rtg.Connections},
		{name: "nbi", badInput: nbi.BadInput + nbi.BadConns, refused: nbi.Refused, connections: nbi.Connections},
	}
	return append(append(all, sumByName(n.face.Stats())...), messageListeners(n.relay.Stats().Listeners)...)
}

// messageListeners sums up those of the relay by name.
func messageListeners(stats []relay.ListenerStats) []listenerStats {
	sums := []listenerStats{{name: "rmr"}, {name: "rmr-topics"}}
	for _, l := range stats {
		sum := &sums[0]
		if l.Topics {
			sum = &sums[1]
		}
		sum.badInput += l.BadInput
		sum.refused += l.Refused
		sum.connections += l.Connections
		sum.received += l.Received
	}
	return sums
}

// sumByName sums up listeners of one name.
func sumByName(stats []server.Stats) []listenerStats {
	by := map[string]listenerStats{}
	for _, s := range stats {
		sum := by[s.Listener]
		sum.name = s.Listener
		sum.badInput += s.BadInput
		sum.refused += s.Refused
		sum.connections += s.Connections
		by[s.Listener] = sum
	}
	return slices.SortedFunc(maps.Values(by), func(a, b listenerStats) int { return cmp.Compare(a.name, b.name) })
}

// calls are those over HTTP that had errors, and those at the port of the old
// route manager.
func (s samples) calls(errors map[api.Kind]uint64, old nbi.Stats) {
	for kind, n := range errors {
		s.put(httpErrors, float64(n), string(kind))
	}
	for outcome, n := range map[string]uint64{"done": old.Accepted, "refused": old.BadInput, "failed": old.Failed} {
		s.put(nbiCalls, float64(n), outcome)
	}
}

func (s samples) listeners(all []listenerStats, kept map[string]uint64) {
	for what, n := range kept {
		s.put(iceRefused, float64(n), what)
	}
	for _, l := range all {
		s.put(badInput, float64(l.badInput), l.name)
		s.put(refused, float64(l.refused), l.name)
		s.put(connections, float64(l.connections), l.name)
		if strings.HasPrefix(l.name, "rmr") {
			s.put(messagesReceived, float64(l.received), l.name)
		}
		if l.peer != nil {
			s.put(packetsDropped, float64(l.peer.droppedPackets))
			s.put(acceptErrors, float64(l.peer.acceptErrors))
			s.put(callsRefused, float64(l.peer.refusedCalls))
		}
	}
}
