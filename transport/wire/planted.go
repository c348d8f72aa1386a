//go:build planted

package wire

import "floe/scripts/planted"

// Bugs for scripts/jepsen planted.
var (
	checksumIgnored = planted.Has("checksum-ignored") // damaged records are believed
)
