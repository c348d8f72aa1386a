package manager

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"floe/transport/rmr/proto"
)

const (
	// maxFrame is the longest frame that is taken: requests and
	// acknowledgements have some hundred bytes, of which a few may be rubbish.
	maxFrame = 1 << 20
	// frameTime is how long a frame may take from its first byte to its last.
	frameTime = 30 * time.Second
	// firstTime is how long a client may take until it says something.
	firstTime = time.Minute
	// deadAfter is when a connection ends whose other end is gone.
	deadAfter = 9 * time.Second
)

// conn is a connection with an app, whoever opened it.
type conn struct {
	m        *Manager
	nc       net.Conn
	accepted bool
	since    time.Time     // it was opened
	done     chan struct{} // closed when it has ended
	app      string        // the reader's: who asked here
	proven   atomic.Bool   // the app acknowledged something here

	mu      sync.Mutex
	session *session // gets the acknowledgements
	pushed  bool     // a session had it: tables were sent here
}

func newConn(m *Manager, nc net.Conn) *conn {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: deadAfter / 3, Interval: deadAfter / 3, Count: 2})
		setUserTimeout(tcp, deadAfter)
	}
	return &conn{m: m, nc: nc, since: time.Now(), done: make(chan struct{})}
}

func (c *conn) belongsTo(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
	c.pushed = true
}

func (c *conn) owner() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// strange tells whether no table was ever sent here.
func (c *conn) strange() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.pushed
}

// read takes messages until the connection ends. It waits for nobody: a
// program whose acknowledgement does not fit into the socket never sends
// another one.
func (c *conn) read() {
	defer close(c.done)
	defer c.m.drop(c)
	in := &timed{nc: c.nc}
	in.frames = proto.NewReader(in, maxFrame)
	if c.accepted {
		_ = c.nc.SetReadDeadline(time.Now().Add(firstTime))
		in.set = true
	}
	for {
		frame, err := in.frames.Next()
		in.running = false
		var m proto.Message
		if err == nil {
			err = proto.Parse(frame, &m)
		}
		if err != nil {
			c.ended(err)
			return
		}
		c.m.arrived(c, frame, &m)
	}
}

// ended counts a connection that ended for what its peer sent.
func (c *conn) ended(err error) {
	if !errors.Is(err, proto.ErrFrame) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	c.m.counts.badInput.Add(1)
	c.m.complain.warn("connection closed for what came on it", "peer", c.nc.RemoteAddr(), "error", err)
}

// timed is a connection with a deadline for each frame, from its first byte on.
type timed struct {
	nc      net.Conn
	frames  *proto.Reader
	running bool // the deadline of this frame
	set     bool // some deadline is set
	begun   bool // something came
}

// Read reads as the connection does.
func (t *timed) Read(b []byte) (int, error) {
	switch inside := t.frames.Buffered() > 0; {
	case inside && !t.running:
		t.running, t.set = true, true
		_ = t.nc.SetReadDeadline(time.Now().Add(frameTime))
	case !inside && t.set && t.begun:
		t.set = false
		_ = t.nc.SetReadDeadline(time.Time{})
	}
	n, err := t.nc.Read(b)
	t.begun = t.begun || n > 0
	return n, err
}

var errMayNot = errors.New("this node may push no more")

// write sends one message with a text that is not copied; limit is how long its
// other end may take nothing, left how long it may go on as of now. After an
// error the connection is of no use: half a frame may be out.
func (c *conn) write(head, text []byte, limit time.Duration, left func() time.Duration) error {
	parts := net.Buffers{head, text}
	for moved := time.Now(); ; {
		now, may := time.Now(), left()
		if may <= 0 {
			return errMayNot
		}
		_ = c.nc.SetWriteDeadline(now.Add(min(may, moved.Add(limit).Sub(now))))
		n, err := parts.WriteTo(c.nc)
		if n > 0 {
			moved = time.Now()
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(moved) >= limit {
			return err
		}
	}
}

// patience bounds how long the system waits for its other end to take anything of
// what was sent, also when this process has ended.
func (c *conn) patience(d time.Duration) {
	if tcp, ok := c.nc.(*net.TCPConn); ok {
		setUserTimeout(tcp, d)
	}
}

// stuck tells whether part of what was sent was not taken, and whether the
// other end's system was heard of since.
func (c *conn) stuck(since time.Duration) (stuck, lives bool) {
	tcp, ok := c.nc.(*net.TCPConn)
	if !ok {
		return false, false
	}
	bytes, heard := untaken(tcp)
	return bytes > 0, heard < since
}

// untaken tells whether the other end's system lacks part of what was sent.
func (c *conn) untaken() bool {
	stuck, _ := c.stuck(0)
	return stuck
}

// abort closes the connection and has the system forget what was not sent:
// nothing of it must come after what a later connection brings.
func (c *conn) abort() {
	if tcp, ok := c.nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.nc.Close()
}

// lingerTime is how long a connection is kept open for an acknowledgement.
const lingerTime = 30 * time.Second

// linger keeps the connection open for a while. Its answer is told to who serves
// the app then.
func (c *conn) linger() {
	c.belongsTo(nil)
	time.AfterFunc(lingerTime, c.abort)
}

// over tells whether the connection has ended.
func (c *conn) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}
