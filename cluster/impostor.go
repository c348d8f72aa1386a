package cluster

import (
	"net"
	"sync/atomic"
	"time"
)

// impostorEvery is how often a node logs that another one gives a wrong id.
const impostorEvery = 10 * time.Second

// impostors counts the callers that claimed to be another node than their
// certificate says.
type impostors struct {
	count atomic.Uint64
	said  atomic.Int64 // unix nanoseconds
}

// checkCaller refuses a call whose address knows better whose it is, as that
// of a connection with certificates does.
func (n *Node) checkCaller(from net.Addr, claimed, method string) error {
	caller, known := from.(interface{ NodeID() string })
	if !known || caller.NodeID() == claimed {
		return nil
	}
	count, now, said := n.methods.impostors.count.Add(1), time.Now().UnixNano(), n.methods.impostors.said.Load()
	if now-said > int64(impostorEvery) && n.methods.impostors.said.CompareAndSwap(said, now) {
		n.log.Warn("call refused: it says it is from another node than its certificate", "peer", from, "certificate", caller.NodeID(), "claims", claimed, "method", method, "so_far", count)
	}
	return refused(codeInvalid, "%s: the certificate is that of node %s, not %s", method, caller.NodeID(), claimed)
}
