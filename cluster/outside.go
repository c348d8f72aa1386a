package cluster

import "context"

// HandleOpen is [Node.Handle] for a method that nodes of other clusters may
// call as well.
func (n *Node) HandleOpen(name string, handler Handler) {
	n.methods.add(name, method{handler: handler, open: true})
}

// Ask calls a method that is open to other clusters at a peer address,
// whoever lives there. Errors are as for [Node.Call].
func (n *Node) Ask(ctx context.Context, address, name string, body []byte) ([]byte, error) {
	return n.callAddress(ctx, address, name, body)
}
