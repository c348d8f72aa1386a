//go:build planted

package topics

import "floe/scripts/planted"

// Bugs for scripts/jepsen planted.
var (
	costIgnored = planted.Has("cost-ignored") // links let every event pass
	idReused    = planted.Has("id-reused")    // a new topic gets an id that a destroyed one had
)
