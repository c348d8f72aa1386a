// Package logstore is the durable half of a floe node: the Raft log and stable
// store, the snapshots, and the file that says who the node is.
//
// [Open] wraps raft-boltdb and adds what it lacks: a CRC32C on every entry and
// every stable value, the commit index written atomically with each append, a
// latch that ends all service after the first error, and the age of the
// operation that is hanging now. [OpenSnapshots] does the same for snapshots.
// Both may share one [Health], so that one error stops both.
//
// hashicorp/raft panics where some store calls fail. It is therefore handed
// [Store.ForRaft] rather than the Store; DESIGN.md says why, and in which
// order a node has to open, check and replay its files.
package logstore
