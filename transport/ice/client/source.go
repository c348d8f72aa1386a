package client

import (
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// source is what sends over a connection: a sender of events or a call.
type source interface {
	// place returns where the connection keeps what it knows of the source.
	place() *place
	// fill appends what is to be sent now and reports whether there is more.
	// It is called by the connection's writer.
	fill(b *batch) (more bool)
	// written says that the entries were handed to the kernel.
	written(entries []entry)
	// unwritten says that the entries were not, or not wholly. The
	// connection is lost, see lost.
	unwritten(entries []entry)
	// reply hands over the answer to the request of that id. What it gives to
	// send is gathered in b.
	reply(r *proto.Reply, b *delivery.Burst)
	// lost says that the connection ended, and why. It is called once for
	// each source attached, after all else.
	lost(c *conn, cause error)
}

// place is guarded by the lock of the connection the source is attached to.
type place struct {
	listed bool // stands among those that are ready
}
