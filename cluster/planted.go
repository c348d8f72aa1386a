//go:build planted

package cluster

import "floe/scripts/planted"

// Bugs for scripts/jepsen planted.
var (
	ackBeforeCommit = planted.Has("ack-before-commit") // the leader answers before a majority has the change
	readUnverified  = planted.Has("read-unverified")   // a node does not ask the leader whether its copy is the newest
)
