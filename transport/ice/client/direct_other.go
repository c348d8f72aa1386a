//go:build !unix

package client

import "net"

// direct writes to a socket without ever waiting; not here.
type direct struct{}

func newDirect(net.Conn) *direct { return nil }

func (*direct) write(net.Buffers) (int, error) { return 0, nil }
