package ice

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"floe/transport/ice/proto"
)

// ErrNotSent is wrapped by errors of requests that no server has seen.
var ErrNotSent = errors.New("not sent")

// Conn is one connection to a server. It has one request under way at most and
// belongs to one goroutine. After an error other than a reply's it is of no
// further use.
type Conn struct {
	conn    net.Conn
	lastID  int32
	header  [proto.HeaderSize]byte
	message []byte
}

// Dial connects and waits for the server's ValidateConnection. Errors wrap
// ErrNotSent.
func Dial(address string, limit time.Duration) (*Conn, error) {
	conn, err := net.DialTimeout("tcp", address, limit)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	c := &Conn{conn: conn}
	_ = conn.SetDeadline(time.Now().Add(limit)) // fails only on a closed connection, as the next read does
	h, _, err := c.read()
	if err == nil && h.Type != proto.MessageValidateConnection {
		err = fmt.Errorf("the server began with %s", h.Type)
	}
	if err != nil {
		_ = conn.Close() // the first error counts
		return nil, fmt.Errorf("%w: %s: %w", ErrNotSent, address, err)
	}
	return c, nil
}

// Close closes the connection without a farewell.
func (c *Conn) Close() { _ = c.conn.Close() } // nothing is owed on it

// Request is what a client asks of an object.
type Request struct {
	Identity  proto.Identity
	Operation string
	Mode      byte
	Context   map[string]string
	Encaps    []byte // nil: no parameters
}

// Call sends a twoway request and waits for its reply. A *proto.UserException
// and the like are errors of the reply; anything else means that the outcome
// is unknown, unless it wraps ErrNotSent.
func (c *Conn) Call(r Request, limit time.Duration) (*proto.Reply, error) {
	c.lastID++
	if err := c.send(r, c.lastID, limit); err != nil {
		return nil, err
	}
	for {
		h, body, err := c.read()
		if err != nil {
			return nil, err
		}
		switch h.Type {
		case proto.MessageValidateConnection: // a heartbeat
		case proto.MessageCloseConnection: // sent only when no reply is owed: the request was not read
			return nil, fmt.Errorf("%w: the server closed the connection", ErrNotSent)
		case proto.MessageReply:
			return c.reply(body)
		default:
			return nil, fmt.Errorf("a server sent %s", h.Type)
		}
	}
}

func (c *Conn) reply(body []byte) (*proto.Reply, error) {
	var reply proto.Reply
	if err := proto.ParseReply(body, &reply); err != nil {
		return nil, err
	}
	if reply.ID != c.lastID {
		return nil, fmt.Errorf("reply to request %d, asked was %d", reply.ID, c.lastID)
	}
	return &reply, reply.Err()
}

// Send sends a oneway request. Nobody says what became of it; a later Call on
// the connection that succeeds says that it was read.
func (c *Conn) Send(r Request, limit time.Duration) error { return c.send(r, 0, limit) }

func (c *Conn) send(r Request, id int32, limit time.Duration) error {
	_ = c.conn.SetDeadline(time.Now().Add(limit)) // fails only on a closed connection, as the write does
	b := proto.AppendRequest(nil, &proto.Request{ID: id, Identity: r.Identity, Operation: []byte(r.Operation),
		Mode: r.Mode, Context: proto.NewContext(r.Context), Encaps: r.Encaps})
	n, err := c.conn.Write(b)
	if err != nil && n == 0 {
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return err
}

// read reads one message. The body is valid until the next read.
func (c *Conn) read() (proto.Header, []byte, error) {
	return readMessage(c.conn, &c.header, &c.message)
}

func readMessage(r io.Reader, header *[proto.HeaderSize]byte, buffer *[]byte) (proto.Header, []byte, error) {
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return proto.Header{}, nil, err
	}
	h, err := proto.ParseHeader(header[:], 16<<20)
	if err != nil {
		return h, nil, err
	}
	n := h.Size - proto.HeaderSize
	if cap(*buffer) < n {
		*buffer = make([]byte, n)
	}
	body := (*buffer)[:n]
	if _, err := io.ReadFull(r, body); err != nil {
		return h, nil, err
	}
	if h.Compressed() {
		body, err = proto.Decompress(body, 16<<20)
	}
	return h, body, err
}
