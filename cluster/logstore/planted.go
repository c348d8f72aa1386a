//go:build planted

package logstore

import "floe/scripts/planted"

// Bugs for scripts/jepsen planted.
var (
	voteForgotten = planted.Has("vote-forgotten") // term and vote are not written to the disk
)
