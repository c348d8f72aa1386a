package manager

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of tcp(7), which package syscall lacks.
const tcpUserTimeout = 18

// setUserTimeout bounds how long sent data may stay unacknowledged. Where it can't be
// set the system's own limit holds.
func setUserTimeout(tcp *net.TCPConn, d time.Duration) {
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds()))
		})
	}
}

// untaken returns how many of the bytes sent the other end's system has not taken, and
// how long ago it was last heard of.
func untaken(tcp *net.TCPConn) (bytes int, heard time.Duration) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, 0
	}
	_ = raw.Control(func(fd uintptr) {
		n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		if err != nil {
			return
		}
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return
		}
		bytes, heard = n, time.Duration(info.Last_ack_recv)*time.Millisecond
	})
	return bytes, heard
}
