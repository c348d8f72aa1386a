//go:build planted

package planted

import "os"

// Has tells whether the bug of that name is active.
func Has(name string) bool { return os.Getenv("FLOE_PLANTED") == name }
