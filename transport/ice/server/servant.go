package server

import (
	"context"
	"net/netip"

	"floe/transport/ice/proto"
)

// Servant answers the requests to one object. Safe for concurrent use.
// [Interface.Bind] makes one with typed operations.
type Servant interface {
	// Inline tells whether Dispatch of r never waits, so that the
	// connection's own goroutine may run it.
	Inline(r *Request) bool
	// Dispatch executes r and appends its reply, a whole message, to dst.
	// What is appended for a oneway request is thrown away. Neither r nor
	// what it points to may be kept.
	Dispatch(ctx context.Context, r *Request, dst []byte) []byte
}

// Lasting is a servant that a connection may keep and use again without
// asking Objects, for as long as it is alive.
type Lasting interface {
	Servant
	// Alive tells whether the object still exists.
	Alive() bool
}

// Request is a request on its way to a servant.
type Request struct {
	proto.Request
	peer    string
	session Session
	addr    netip.AddrPort // of a datagram
	client  client         // of a connection
}

// client is who is at the other end of a connection.
type client struct {
	addr netip.Addr
	// certified: it showed a certificate that was checked, with this common name.
	certified bool
	name      string
}

// From returns the client's address; the zero value where it has none.
func (r *Request) From() netip.Addr {
	if r.addr.IsValid() {
		return r.addr.Addr().Unmap().WithZone("")
	}
	return r.client.addr.WithZone("")
}

// Certificate returns the common name in the client's certificate, and whether
// it showed one. Only a Transport whose TLS asks for it gets any.
func (r *Request) Certificate() (name string, shown bool) { return r.client.name, r.client.certified }

// Session returns what Config.NewSession made for the connection; nil where
// there is none, as for requests that are not run inline.
func (r *Request) Session() Session { return r.session }

// Peer returns the client's address, for people.
func (r *Request) Peer() string {
	if r.peer == "" && r.addr.IsValid() {
		return r.addr.String()
	}
	return r.peer
}

// Encoding returns the encoding version of the parameters.
func (r *Request) Encoding() proto.Version { return proto.EncapsulationVersion(r.Encaps) }
