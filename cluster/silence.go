package cluster

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"floe/cluster/logstore"
)

// whySilent says in words why no answer came from a peer address. It holds
// nothing that differs from one try to the next, such as a port of ours or
// the time of day.
func whySilent(err error) string {
	var ended x509.CertificateInvalidError
	var name *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused, so no floe runs there"
	case errors.As(err, &ended) && ended.Reason == x509.Expired && ended.Cert != nil:
		return certificateSpan(ended.Cert, time.Now())
	case errors.As(err, &name):
		return fmt.Sprintf("the name %s can't be looked up: %s", name.Name, name.Err)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), codeOf(err) == "deadline":
		return "silent, so its process hangs, or its machine or the network is down"
	case errors.As(err, &op) && op.Op == "remote error": // TLS tells that way what the other side thinks
		return "it does not take this node's certificate: " + op.Err.Error()
	case errors.As(err, &op):
		return op.Err.Error()
	}
	// What comes before says which call it was, and to whom.
	text := err.Error()
	if _, rest, more := strings.Cut(text, ": not sent: "); more {
		text = rest
	}
	if at, rest, more := strings.Cut(text, ": "); more && strings.HasPrefix(at, "peer ") {
		text = rest
	}
	return text
}

// certificateSpan says when a certificate that is not good now would be.
func certificateSpan(c *x509.Certificate, now time.Time) string {
	if now.Before(c.NotBefore) {
		return "its certificate is good only from " + c.NotBefore.UTC().Format(time.RFC3339) + ": compare the clocks"
	}
	return "its certificate ended " + c.NotAfter.UTC().Format(time.RFC3339) + ": put a new one in its place there"
}

// fellows notes which nodes of the group don't answer, for the log. A node is
// told of once it was silent twice in turn. Only one goroutine uses it.
type fellows struct {
	n      *Node
	silent map[string]int // how often in turn
}

// note takes the answers of a round. It returns whether the next round should
// come soon, since a node was silent for the first time.
func (f *fellows) note(all []greeting) (soon bool) {
	here, why := map[string]bool{}, map[string]error{}
	for _, g := range all {
		if g.err == nil {
			here[g.info.ID] = true
		} else {
			why[g.address] = g.err
		}
	}
	before := f.silent
	f.silent = map[string]int{}
	for _, s := range f.n.View().Servers {
		address, _ := f.n.PeerAddress(s.ID)
		err := why[address]
		if s.ID == f.n.id || err == nil && !here[s.ID] { // nobody was asked there in this round
			continue
		}
		if here[s.ID] {
			if before[s.ID] > 1 {
				f.n.log.Info("node answers again", "node", s.ID)
			}
			continue
		}
		f.silent[s.ID] = before[s.ID] + 1
		soon = soon || before[s.ID] == 0
		if before[s.ID] == 1 {
			f.n.log.Warn("node can't be reached", "node", s.ID, "address", address, "reason", whySilent(err))
		}
	}
	return soon
}

// noteLeaderless has the problems say that there is no leader, how many voters
// answered a round of hellos, and what to do.
func (n *Node) noteLeaderless(infos []nodeInfo) {
	_, last, _ := n.leaders.get()
	voters := n.voters()
	q := NoQuorum{Voters: len(voters), LastLeader: last}
	here := map[string]bool{n.id: true}
	for _, info := range infos {
		if info.State == logstore.Member && info.Cluster == n.clusterID() {
			here[info.ID] = true
		}
	}
	for _, id := range voters {
		if here[id] {
			q.Reachable++
		}
	}
	n.setProblem("leader", "no leader: "+strings.TrimPrefix(q.Error(), "no quorum: ")+"; until there is one nothing can be changed, while events and messages go on")
}
