package ice

import (
	"net"
	"strconv"
	"sync"

	"floe/transport/ice/proto"
)

// Handler is told of each request. It must not keep what r refers to. It is
// called by one goroutine per connection.
type Handler func(r *proto.Request)

// Server answers every request with success, after its handler has seen it.
type Server struct {
	listener net.Listener
	handler  Handler

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	done   sync.WaitGroup
}

// Serve starts a server on a listener, which it then owns.
func Serve(l net.Listener, h Handler) *Server {
	s := &Server{listener: l, handler: h, conns: map[net.Conn]bool{}}
	s.done.Go(s.accept)
	return s
}

// Endpoint is where the server is reached.
func (s *Server) Endpoint() proto.Endpoint {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String()) // a TCP address always splits
	n, _ := strconv.ParseInt(port, 10, 32)
	return proto.Endpoint{Type: proto.EndpointTCP, Host: host, Port: int32(n), Timeout: proto.DefaultTimeout}
}

// Close ends the server and waits for its goroutines.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close() // its reader ends with this
	}
	s.mu.Unlock()
	_ = s.listener.Close() // accept ends with this
	s.done.Wait()
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		if !s.keep(conn) {
			return
		}
		s.done.Go(func() {
			s.serve(conn)
			s.drop(conn)
		})
	}
}

func (s *Server) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close() // nobody serves it
		return false
	}
	s.conns[c] = true
	return true
}

func (s *Server) drop(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	_ = c.Close() // the peer ended it, or broke the protocol
}

// serve reads requests until the connection ends. There is no deadline: a
// publisher that is paused or cut off comes back on the same connection.
func (s *Server) serve(conn net.Conn) {
	if _, err := conn.Write(proto.AppendValidate(nil)); err != nil {
		return
	}
	var header [proto.HeaderSize]byte
	var buffer, out []byte
	for {
		h, body, err := readMessage(conn, &header, &buffer)
		if err != nil {
			return
		}
		out, err = s.handle(h, body, out[:0])
		if err != nil {
			return
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

// handle deals with one message and appends the reply, if one is due.
func (s *Server) handle(h proto.Header, body, out []byte) ([]byte, error) {
	switch h.Type {
	case proto.MessageRequest:
		var r proto.Request
		if err := proto.ParseRequest(body, &r); err != nil {
			return out, err
		}
		s.handler(&r)
		if !r.Oneway() {
			out = proto.AppendEmptyReply(out, r.ID, proto.Encoding11)
		}
	case proto.MessageBatchRequest:
		batch, err := proto.ParseBatch(body)
		if err != nil {
			return out, err
		}
		var r proto.Request
		for batch.Next(&r) {
			s.handler(&r)
		}
		return out, batch.Err()
	case proto.MessageCloseConnection:
		return out, net.ErrClosed
	}
	return out, nil
}
