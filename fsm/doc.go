// Package fsm is floe's replicated state: the commands that change it, how a
// command is applied, and the read-only [View] everybody reads.
//
// [State] is what Raft applies committed entries to. Applying a command is a
// pure function of the command and the state: no clock, no randomness, no map
// order; times, ids and random choices are taken by the proposer and travel
// in the [Command]. After each batch of entries State publishes a new View.
// A View never changes, so that forwarding reads it without a lock, a
// snapshot costs nothing to take, and whoever waits for an index can do so
// ([State.Wait]).
//
// A command is an envelope around an [Op]; every kind of op is one type here.
// The state holds a cluster version: ops newer than it are not proposed, so a
// group with old members never meets a kind it can't read. What can't be
// decoded all the same is never skipped: the State halts at that index, goes
// on serving its last View, and says so.
package fsm
