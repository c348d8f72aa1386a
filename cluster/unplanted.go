//go:build !planted

package cluster

// Bugs for scripts/jepsen planted, which are not there.
const (
	ackBeforeCommit = false // the leader answers before a majority has the change
	readUnverified  = false // a node does not ask the leader whether its copy is the newest
)
