package manager

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"floe/routing"
	"floe/transport/rmr/proto"
)

// ask is a table request.
type ask struct {
	conn    *conn
	control []string // addresses of the control port, the best first
}

// maxRequest is the longest payload of a request.
const maxRequest = 1024

// arrived deals with one message of a client: requests and acknowledgements are
// all that is taken here.
func (m *Manager) arrived(c *conn, frame []byte, msg *proto.Message) {
	var err error
	switch msg.Type {
	case proto.TypeRequest:
		err = m.requested(c, frame, msg)
	case proto.TypeAck:
		m.counts.acks.Add(1)
		m.acknowledged(c, msg)
	case proto.TypeTable:
		err = errors.New("table data: a route manager takes none")
	default:
		err = fmt.Errorf("message of type %d: only table requests (21) and acknowledgements (22) are taken here", msg.Type)
	}
	if err != nil {
		m.counts.badInput.Add(1)
		m.complain.warn("message refused", "peer", c.nc.RemoteAddr(), "source", string(msg.Src), "reason", err)
	}
}

func (m *Manager) requested(c *conn, frame []byte, msg *proto.Message) error {
	name, err := checkRequest(c, frame, msg)
	if err != nil {
		return err
	}
	if !m.cfg.Member() {
		_ = c.nc.Close() // its name may lead to another node the next time
		return fmt.Errorf("table request of %s: this node belongs to no cluster", name)
	}
	c.app = name
	m.counts.requests.Add(1)
	a := &ask{conn: c, control: m.controls(c, msg)}
	if !m.post(name, a) {
		return fmt.Errorf("table request of %s: %d apps are served already", name, m.cfg.Apps)
	}
	return nil
}

// checkRequest returns the name of who asks.
func checkRequest(c *conn, frame []byte, msg *proto.Message) (string, error) {
	if !c.accepted {
		return "", errors.New("table request on a connection that a table was sent on")
	}
	if proto.SourceTooLong(frame) {
		return "", fmt.Errorf("table request whose source has more than %d bytes", proto.MaxSource)
	}
	if len(msg.Payload) > maxRequest {
		return "", fmt.Errorf("table request of %d bytes, at most %d", len(msg.Payload), maxRequest)
	}
	r, err := proto.ParseTableRequest(msg.Payload)
	if err != nil {
		return "", err
	}
	if len(r.Name) > proto.MaxSource {
		return "", fmt.Errorf("table request of a name of %d bytes, at most %d", len(r.Name), proto.MaxSource)
	}
	if err := routing.CheckOwner(r.Name); err != nil {
		return "", fmt.Errorf("table request of %q, which is no endpoint", r.Name)
	}
	if c.app != "" && c.app != r.Name {
		return "", fmt.Errorf("table request of %s on the connection of %s", r.Name, c.app)
	}
	return r.Name, nil
}

// controls returns where the app that sent a message takes tables: the port
// is in both of its sources, which may name a host that is not known here or an address
// that can't be reached from here; the one it came from is the best guess.
func (m *Manager) controls(c *conn, msg *proto.Message) []string {
	var out []string
	add := func(host, port string) {
		address := net.JoinHostPort(host, port)
		if routing.CheckOwner(address) == nil && !slices.Contains(out, address) {
			out = append(out, address)
		}
	}
	for _, source := range []string{string(msg.SrcIP), string(msg.Src)} {
		if _, port, err := net.SplitHostPort(source); err == nil {
			add(hostOf(c.nc).String(), port)
		}
	}
	for _, source := range []string{string(msg.SrcIP), string(msg.Src)} {
		if host, port, err := net.SplitHostPort(source); err == nil {
			add(host, port)
		}
	}
	return out
}

// listensAt tells whether an address is a listener for requests of a node,
// which an app behind a translated address may seem to be.
func (m *Manager) listensAt(address string) bool {
	for _, member := range m.cfg.Group.View().Members {
		if slices.Contains(member.Addresses[Listener], address) {
			return true
		}
	}
	return false
}
