// Package cluster makes one process a node of a floe cluster: Raft and gossip
// around the replicated state of package fsm.
//
// [Open] reads the data directory and serves the last applied state at once;
// [Node.Run] then does what the directory and the configuration ask for:
// found a cluster, enter one, take its place again, or idle because the node
// left or was removed. A change goes in with [Node.Propose] on any node, and
// [Node.Read] is a linearizable look at the state.
//
// A node is known by its id. Raft's configuration holds ids in the place of
// addresses; the address book finds the socket address of an id when a
// connection is made, so that a node may come back anywhere. Gossip is
// advice: it fills the address book and never adds or removes a member.
//
// The package moves bytes: it encodes commands, hands them to Raft and knows
// no topic. What it needs of the network it says with [Network]. DESIGN.md
// gives the reasons.
package cluster
