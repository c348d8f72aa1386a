//go:build unix

package client

import (
	"errors"
	"net"
	"syscall"
)

// direct writes to a socket without ever waiting. It is for one goroutine at
// a time.
type direct struct {
	raw  syscall.RawConn
	call func(fd uintptr) bool // made once, so that a write allocates nothing
	buf  []byte
	n    int
	err  error
}

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

// write writes what the socket takes now; that may be nothing.
func (d *direct) write(b []byte) (int, error) {
	d.buf, d.n, d.err = b, 0, nil
	err := d.raw.Write(d.call)
	d.buf = nil
	if err == nil && !errors.Is(d.err, syscall.EAGAIN) {
		err = d.err
	}
	return d.n, err
}

func (d *direct) try(fd uintptr) bool {
	for len(d.buf) > 0 {
		n, err := syscall.Write(int(fd), d.buf)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			d.err = err
			break
		}
		d.n += n
		d.buf = d.buf[n:]
	}
	return true
}
