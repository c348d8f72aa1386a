// Package topics is the topic graph: topics, the links between them with
// their costs, and the subscriptions, as IceStorm knows them.
//
// A [Graph] is an immutable value: every change returns a new one and leaves
// the old one as it was, so that a reader keeps what it holds without a lock
// and a snapshot costs nothing. The package knows no socket, disk, clock,
// randomness or Raft: the same calls give the same graph and the same
// [Digest] on every node.
//
// Two rules of the graph matter most. An event crosses at most one link, and
// a link with cost c carries an event of cost e if c is 0 or e <= c
// ([Passes]). [Graph.Plan] puts both into one answer: who gets an event
// that was published on a topic.
package topics
