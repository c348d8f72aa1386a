package e2e

import (
	"fmt"
	"net"
	"syscall"
	"testing"
)

// fullListener listens with the shortest queue there is and never accepts. Fill keeps a connection in the queue until
// the test ends.
func fullListener(t testing.TB) (address string, fill func(net.Conn)) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port), func(c net.Conn) {
		t.Cleanup(func() { c.Close() })
	}
}
