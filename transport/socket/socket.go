//go:build linux

package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxVector is the most pieces of one writev (IOV_MAX).
const maxVector = 1024

// Conn is a plain TCP connection. One goroutine may read while another
// writes; neither Read nor Write is safe for concurrent use by itself.
type Conn struct {
	*net.TCPConn
	in  reader
	out writer
}

// Wrap returns a Conn, nil where nc is not a plain TCP connection.
func Wrap(nc net.Conn) *Conn {
	tcp, plain := nc.(*net.TCPConn)
	if !plain {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	c := &Conn{TCPConn: tcp, in: reader{raw: raw}, out: writer{raw: raw}}
	c.in.call, c.out.call = c.in.try, c.out.try
	return c
}

// Read reads as net.Conn does.
func (c *Conn) Read(b []byte) (int, error) { return c.in.read(b) }

// Push writes what the socket takes at once, which may be nothing, and
// returns how much that was. It never waits. It may change v.
func (c *Conn) Push(v net.Buffers) (int, error) { return c.out.push(v) }

// Bounds of [Conn.Silent].
const (
	// silentTries is how often what was sent is sent again in vain before the
	// other host counts as silent: the fifth time is about 6 s after the first.
	// The network would try on at ever longer intervals, and still be silent for
	// a minute after the way is free again.
	silentTries = 5
	// silentRest is how long ago the last try is by then, so that nothing is on
	// its way any more that could arrive after what is sent on another connection.
	silentRest = 500 * time.Millisecond
)

// Silent tells whether the other host is gone: it acknowledged nothing of what
// was sent, again and again. A host that only takes nothing more, as its
// program is slow, acknowledges that; it is not silent.
func (c *Conn) Silent() (silent bool) {
	c.out.raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			silent = isSilent(int(info.Retransmits), time.Duration(info.Last_data_sent)*time.Millisecond)
		}
	})
	return silent
}

func isSilent(tries int, last time.Duration) bool { return tries >= silentTries && last >= silentRest }

// reader keeps what one read needs, so that reading allocates nothing.
type reader struct {
	raw   syscall.RawConn
	call  func(fd uintptr) bool
	buf   []byte
	n     int
	errno syscall.Errno
}

func (r *reader) read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	r.buf, r.n, r.errno = b, 0, 0
	err := r.raw.Read(r.call)
	r.buf = nil
	switch {
	case err != nil:
		return 0, err
	case r.errno != 0:
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", r.errno)}
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// try reports false to be called again once there is something to read.
func (r *reader) try(fd uintptr) bool {
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(r.buf))), uintptr(len(r.buf)))
		switch errno {
		case 0:
			r.n = int(n)
			return true
		case syscall.EAGAIN:
			return false
		case syscall.EINTR:
		default:
			r.errno = errno
			return true
		}
	}
}

// writer keeps what one write needs.
type writer struct {
	raw  syscall.RawConn
	call func(fd uintptr) bool
	v    net.Buffers
	iov  []unix.Iovec
	n    int
	err  error
}

func (w *writer) push(v net.Buffers) (int, error) {
	w.v, w.n, w.err = v, 0, nil
	err := w.raw.Write(w.call)
	w.v = nil
	if err == nil && !errors.Is(w.err, syscall.EAGAIN) {
		err = w.err
	}
	return w.n, err
}

func (w *writer) try(fd uintptr) bool {
	for len(w.v) > 0 {
		n, err := w.once(fd)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			w.err = err
			break
		}
		w.n += n
		w.v = Rest(w.v, n)
	}
	return true
}

func (w *writer) once(fd uintptr) (n int, err error) {
	if len(w.v) > 1 {
		return w.vector(fd)
	}
	b := w.v[0]
	return result(syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b))))
}

func (w *writer) vector(fd uintptr) (int, error) {
	w.iov = w.iov[:0]
	for _, b := range w.v[:min(len(w.v), maxVector)] {
		v := unix.Iovec{Base: unsafe.SliceData(b)}
		v.SetLen(len(b))
		w.iov = append(w.iov, v)
	}
	n, err := result(syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(unsafe.SliceData(w.iov))), uintptr(len(w.iov))))
	clear(w.iov)
	return n, err
}

func result(n, _ uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
