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
	addr    netip.AddrPort
}

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
