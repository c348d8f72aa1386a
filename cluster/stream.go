package cluster

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// streams shares one raft.StreamLayer between the Raft instances that a node
// runs one after the other: Raft closes the layer it is given.
type streams struct {
	layer raft.StreamLayer
	book  *addressBook
	group func() string
	conns chan net.Conn
	done  chan struct{}
}

func newStreams(layer raft.StreamLayer, book *addressBook, group func() string) *streams {
	return &streams{layer: layer, book: book, group: group, conns: make(chan net.Conn), done: make(chan struct{})}
}

// run accepts until stop, or until the layer is closed. Connections that no
// Raft wants within a second are closed.
func (s *streams) run() {
	for {
		conn, err := s.layer.Accept()
		if err != nil {
			return
		}
		select {
		case s.conns <- conn:
		case <-time.After(time.Second):
			conn.Close()
		case <-s.done:
			conn.Close()
			return
		}
	}
}

// streamLayer is the layer of one Raft instance.
type streamLayer struct {
	*streams
	id     string
	closed chan struct{}
	mu     sync.Mutex
	open   map[*streamConn]struct{}
}

func (s *streams) forRaft(id string) *streamLayer {
	return &streamLayer{streams: s, id: id, closed: make(chan struct{}), open: map[*streamConn]struct{}{}}
}

// Accept waits for a connection.
func (l *streamLayer) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		if mark := groupMark(l.group()); mark != nil {
			conn = &marked{Conn: conn, mark: mark}
		}
		return l.keep(conn), nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Dial connects to an address of the book.
func (l *streamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if !strings.Contains(string(address), ":") {
		return nil, fmt.Errorf("node %s: no address known", address)
	}
	conn, err := l.layer.Dial(address, timeout)
	if err != nil {
		l.book.failed(string(address))
		return nil, err
	}
	l.book.worked(string(address))
	if err := sendMark(conn, groupMark(l.group()), timeout); err != nil {
		conn.Close()
		return nil, err
	}
	return l.keep(conn), nil
}

// Addr is the node's id: Raft takes it for its own address.
func (l *streamLayer) Addr() net.Addr { return idAddr(l.id) }

// Close closes what Raft leaves open: its own Close lets connections live.
func (l *streamLayer) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		return nil
	default:
	}
	close(l.closed)
	for c := range l.open {
		c.Conn.Close()
	}
	return nil
}

func (l *streamLayer) keep(conn net.Conn) net.Conn {
	c := &streamConn{Conn: conn, layer: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		conn.Close()
	default:
		l.open[c] = struct{}{}
	}
	return c
}

type streamConn struct {
	net.Conn
	layer *streamLayer
}

// Close closes the connection and forgets it.
func (c *streamConn) Close() error {
	c.layer.mu.Lock()
	delete(c.layer.open, c)
	c.layer.mu.Unlock()
	return c.Conn.Close()
}

// idAddr is a node id in the place of a socket address.
type idAddr string

// Network is "floe".
func (idAddr) Network() string { return "floe" }

// String is the id.
func (a idAddr) String() string { return string(a) }
