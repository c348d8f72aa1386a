//go:build !planted

package wire

// Bugs for scripts/jepsen planted, which are not there.
const (
	checksumIgnored = false // damaged records are believed
)
