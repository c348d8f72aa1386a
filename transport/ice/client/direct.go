//go:build unix

package client

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// direct writes to a socket without ever waiting. It is for one goroutine at
// a time.
type direct struct {
	raw  syscall.RawConn
	call func(fd uintptr) bool // made once, so that a write allocates nothing
	v    net.Buffers
	n    int
	err  error
}

// maxVector is the most pieces of one writev (IOV_MAX).
const maxVector = 1024

// newDirect returns nil where nc is not a plain TCP connection.
func newDirect(nc net.Conn) *direct {
	tcp, plain := nc.(*net.TCPConn)
	if !plain {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{raw: raw}
	d.call = d.try
	return d
}

// write writes what the socket takes now; that may be nothing. It may change v.
func (d *direct) write(v net.Buffers) (int, error) {
	d.v, d.n, d.err = v, 0, nil
	err := d.raw.Write(d.call)
	d.v = nil
	if err == nil && !errors.Is(d.err, syscall.EAGAIN) {
		err = d.err
	}
	return d.n, err
}

func (d *direct) try(fd uintptr) bool {
	for len(d.v) > 0 {
		n, err := d.once(int(fd))
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			d.err = err
			break
		}
		d.n += n
		d.v = after(d.v, n)
	}
	return true
}

func (d *direct) once(fd int) (int, error) {
	if len(d.v) == 1 {
		return syscall.Write(fd, d.v[0])
	}
	return unix.Writev(fd, d.v[:min(len(d.v), maxVector)])
}
