package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Handler answers a call of another node. fromID is the caller's node id.
type Handler = func(ctx context.Context, fromID string, body []byte) ([]byte, error)

// methods is what others may call.
type methods struct {
	mu sync.RWMutex
	by map[string]method

	impostors impostors
	joinToken atomic.Pointer[string] // of UseJoinToken
}

type method struct {
	handler Handler
	// open methods answer nodes that belong to no cluster or to another one.
	open bool
}

func (m *methods) add(name string, h method) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = make(map[string]method)
	}
	m.by[name] = h
}

func (m *methods) get(name string) (method, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	h, ok := m.by[name]
	return h, ok
}

// Handle has handler answer the calls of other nodes of this cluster to a
// method. Names that begin with "cluster." are the package's own.
func (n *Node) Handle(name string, handler Handler) { n.methods.add(name, method{handler: handler}) }

// Call calls a method of the node of that id, this one included. Errors are
// those of [Caller], and *Refused from a handler that gave a code.
func (n *Node) Call(ctx context.Context, nodeID, name string, body []byte) ([]byte, error) {
	if nodeID == n.id {
		h, ok := n.methods.get(name)
		if !ok {
			return nil, refused(CodeUnknownMethod, "no method %s", name)
		}
		return h.handler(ctx, n.id, body)
	}
	address, ok := n.book.pick(nodeID)
	if !ok {
		return nil, &unsentError{fmt.Errorf("node %s: no address known", nodeID)}
	}
	reply, err := n.callAddress(ctx, address, name, body)
	if notSent(err) {
		n.book.failed(address)
	}
	return reply, err
}

// unsentError is an error of a call that never left.
type unsentError struct{ error }

func (e *unsentError) NotSent() bool { return true }
func (e *unsentError) Unwrap() error { return e.error }

func (n *Node) callAddress(ctx context.Context, address, name string, body []byte) ([]byte, error) {
	reply, err := n.cfg.Network.Caller.Call(ctx, address, name, seal(n.id, n.clusterID(), body))
	if err != nil {
		return nil, refusedBy(err)
	}
	return reply, nil
}

// A request begins with its format and the caller's node and cluster id,
// each with its length.
const requestFormat = 1

func seal(node, cluster string, body []byte) []byte {
	b := make([]byte, 0, 3+len(node)+len(cluster)+len(body))
	b = append(b, requestFormat, byte(len(node)))
	b = append(b, node...)
	b = append(b, byte(len(cluster)))
	b = append(b, cluster...)
	return append(b, body...)
}

var errRequest = errors.New("not a request between floe nodes")

func unseal(b []byte) (node, cluster string, body []byte, err error) {
	if len(b) < 2 || b[0] != requestFormat {
		return "", "", nil, errRequest
	}
	node, b, ok := cutText(b[1:])
	if !ok || node == "" || CheckID(node) != nil {
		return "", "", nil, errRequest
	}
	cluster, b, ok = cutText(b)
	if !ok {
		return "", "", nil, errRequest
	}
	return node, cluster, b, nil
}

func cutText(b []byte) (string, []byte, bool) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return "", nil, false
	}
	end := 1 + int(b[0])
	return string(b[1:end]), b[end:], true
}

// serve is what Network.Server calls.
func (n *Node) serve(ctx context.Context, from net.Addr, name string, request []byte) ([]byte, error) {
	node, cluster, body, err := unseal(request)
	if err != nil {
		return nil, refused(codeInvalid, "%s: %v", name, err)
	}
	if err := n.checkCaller(from, node, name); err != nil {
		return nil, err
	}
	m, ok := n.methods.get(name)
	if !ok {
		return nil, refused(CodeUnknownMethod, "no method %s", name)
	}
	if ours := n.clusterID(); !m.open && (cluster != ours || ours == "") {
		return nil, refused(CodeOtherCluster, "node %s belongs to cluster %q, this is node %s of cluster %q", node, cluster, n.id, ours)
	}
	return m.handler(ctx, node, body)
}

// maxControl bounds the messages below, which are JSON.
const maxControl = 1 << 20

// typed makes a Handler of a function of values.
func typed[Request, Reply any](f func(ctx context.Context, from string, request Request) (Reply, error)) Handler {
	return func(ctx context.Context, from string, body []byte) ([]byte, error) {
		var request Request
		if len(body) > maxControl {
			return nil, refused(codeInvalid, "a request of %d bytes", len(body))
		}
		if err := json.Unmarshal(body, &request); err != nil {
			return nil, refused(codeInvalid, "request: %v", err)
		}
		reply, err := f(ctx, from, request)
		if err != nil {
			return nil, err
		}
		return json.Marshal(reply)
	}
}

// ask calls a typed method at an address; askNode at a node.
func ask[Reply any](ctx context.Context, n *Node, address, name string, request any) (Reply, error) {
	return exchange[Reply](request, func(body []byte) ([]byte, error) { return n.callAddress(ctx, address, name, body) })
}

func askNode[Reply any](ctx context.Context, n *Node, node, name string, request any) (Reply, error) {
	return exchange[Reply](request, func(body []byte) ([]byte, error) { return n.Call(ctx, node, name, body) })
}

func exchange[Reply any](request any, call func([]byte) ([]byte, error)) (Reply, error) {
	var reply Reply
	body, err := json.Marshal(request)
	if err != nil {
		return reply, err
	}
	answer, err := call(body)
	if err != nil {
		return reply, err
	}
	if len(answer) > maxControl {
		return reply, fmt.Errorf("a reply of %d bytes", len(answer))
	}
	return reply, json.Unmarshal(answer, &reply)
}

// pause waits, and tells whether ctx is still good.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
