//go:build !planted

package topics

// Bugs for scripts/jepsen planted, which are not there.
const (
	costIgnored = false // links let every event pass
	idReused    = false // a new topic gets an id that a destroyed one had
)
