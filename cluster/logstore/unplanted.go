//go:build !planted

package logstore

// Bugs for scripts/jepsen planted, which are not there.
const (
	voteForgotten = false // term and vote are not written to the disk
)
