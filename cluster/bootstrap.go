package cluster

import (
	"context"
	"time"

	"floe/cluster/logstore"
)

// promise is a fresh node's word to let another found the cluster. It is
// exclusive, lives in memory, and keeps the node from founding one itself.
type promise struct {
	to      string // nonce of the process that has it
	until   time.Time
	seeking bool // this node collects promises itself
}

// promiseFor is how long a promise holds. It is longer than a round of
// collecting takes; a founder who comes later asks again.
const promiseFor = 10 * time.Second

type promiseRequest struct {
	ID    string `json:"id"`
	Nonce string `json:"nonce"`
	// Release takes the promise back.
	Release bool `json:"release,omitempty"`
}

type promiseReply struct {
	Given bool `json:"given"`
}

// givePromise answers another fresh node.
func (n *Node) givePromise(_ context.Context, _ string, r promiseRequest) (promiseReply, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Identity().State != logstore.New || n.promise.seeking || n.cfg.BootstrapExpect == 0 || r.ID >= n.id {
		return promiseReply{}, nil
	}
	free := n.promise.to == "" || n.promise.to == r.Nonce || time.Now().After(n.promise.until)
	if !free {
		return promiseReply{}, nil
	}
	if r.Release {
		n.promise = promise{}
		return promiseReply{}, nil
	}
	n.promise = promise{to: r.Nonce, until: time.Now().Add(promiseFor)}
	return promiseReply{Given: true}, nil
}

// seek marks this node as one that collects promises, unless it gave one.
func (n *Node) seek(yes bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if yes && n.promise.to != "" && time.Now().Before(n.promise.until) {
		return false
	}
	n.promise = promise{seeking: yes}
	return true
}

// tryFound founds the cluster if this is the smallest of the fresh nodes
// expected and all others promise to enter it.
func (n *Node) tryFound(ctx context.Context, infos []nodeInfo) (done bool, err error) {
	expect := n.cfg.BootstrapExpect
	if expect == 0 {
		return false, nil
	}
	others := map[string]nodeInfo{}
	for _, info := range infos {
		if info.Cluster != "" {
			return false, nil // there is one: join it
		}
		if info.State != logstore.New || info.Expect != expect {
			continue
		}
		if info.ID < n.id {
			return false, nil // its turn
		}
		others[info.ID] = info
	}
	if len(others) < expect-1 || !n.seek(true) {
		return false, nil
	}
	defer n.seek(false)
	if !n.collect(ctx, others, expect-1) {
		return false, nil
	}
	return true, n.found()
}

// collect asks all others for their promises and tells whether enough gave
// one in time.
func (n *Node) collect(ctx context.Context, others map[string]nodeInfo, need int) bool {
	ctx, cancel := context.WithTimeout(ctx, promiseFor/4)
	defer cancel()
	given := 0
	for _, info := range others {
		reply, err := ask[promiseReply](ctx, n, info.Address, "cluster.promise", promiseRequest{ID: n.id, Nonce: n.nonce})
		if err == nil && reply.Given {
			given++
		}
	}
	return given >= need && ctx.Err() == nil
}
