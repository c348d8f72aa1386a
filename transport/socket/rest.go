package socket

import "net"

// Rest returns what follows the first n bytes of v. It may change v.
func Rest(v net.Buffers, n int) net.Buffers {
	for len(v) > 0 && n >= len(v[0]) {
		n -= len(v[0])
		v = v[1:]
	}
	if n > 0 {
		v[0] = v[0][n:]
	}
	return v
}
