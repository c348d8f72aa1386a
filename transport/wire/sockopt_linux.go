package wire

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of tcp(7), which package syscall lacks.
const tcpUserTimeout = 18

// setUserTimeout bounds how long sent data may stay unacknowledged.
func setUserTimeout(tcp *net.TCPConn, d time.Duration) error {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return set
}

// unacknowledged returns how many written bytes the peer has not acknowledged
// (SIOCOUTQ of tcp(7)).
func unacknowledged(tcp *net.TCPConn) (int, error) {
	return ask(tcp, func(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.SIOCOUTQ) })
}

// idleRTT returns the shortest round trip time of the last minutes, 0 where
// that is not known.
func idleRTT(tcp *net.TCPConn) time.Duration {
	micro, err := ask(tcp, func(fd int) (int, error) {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil || info.Min_rtt == ^uint32(0) {
			return 0, err
		}
		return int(info.Min_rtt), nil
	})
	if err != nil {
		return 0
	}
	return time.Duration(micro) * time.Microsecond
}

func ask(tcp *net.TCPConn, question func(fd int) (int, error)) (int, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, err
	}
	var answer int
	var failed error
	if err := raw.Control(func(fd uintptr) { answer, failed = question(int(fd)) }); err != nil {
		return 0, err
	}
	return answer, failed
}
