// Package federation lets topics of different floe clusters be linked.
//
// A link names the other cluster's id and the topic's id there, never an
// address: [Federation.LinkProxy] learns the address anew from any node of
// the other cluster whenever a connection has to be made, so links survive
// nodes that move. Which nodes may be asked is in the replicated state
// (fsm.Peer); what they answer is remembered here as well, so that one node
// of the other cluster at its old address is enough to find all.
//
// The questions travel over the peer port: "federation.hello" (who are you,
// where are your nodes), "federation.topic" (the id of a topic) and
// "federation.link" (the Ice proxy that takes events for a topic id), each a
// small JSON document in both directions.
package federation
