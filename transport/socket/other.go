//go:build !linux

package socket

import "net"

// Conn is a plain TCP connection; there are none on this system.
type Conn struct{ *net.TCPConn }

// Wrap returns nil: connections are used as they are.
func Wrap(net.Conn) *Conn { return nil }

// Silent is never called.
func (*Conn) Silent() bool { return false }

// Push is never called.
func (*Conn) Push(net.Buffers) (int, error) { return 0, net.ErrClosed }
