package cluster

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
)

// MemberInfo is one node as [Node.Members] lists it.
type MemberInfo struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	// Role is leader, follower, candidate, non-voter, joining, unreachable, left or removed.
	Role        string `json:"role"`
	Voter       bool   `json:"voter"`
	Version     string `json:"version"`
	Incarnation uint64 `json:"incarnation"`
	// Applied is how far the node's copy is, 0 where it can't be told.
	Applied  uint64 `json:"applied_index"`
	Draining bool   `json:"draining,omitempty"`
}

// Members lists the nodes of the cluster, sorted by id, asking each of them
// at once. It needs no leader. Where ctx has no deadline an answer takes a
// second at most.
func (n *Node) Members(ctx context.Context) []MemberInfo {
	members, _ := n.lookAt(ctx)
	return members
}

// lookAt is Members, and says why nodes did not answer.
func (n *Node) lookAt(ctx context.Context) (members []MemberInfo, failed map[string]error) {
	view := n.View()
	all := map[string]MemberInfo{}
	for _, m := range view.Members {
		all[m.ID] = MemberInfo{ID: m.ID, Address: m.Address("peer"), Role: "joining", Version: m.Program, Incarnation: m.Incarnation}
	}
	for _, s := range view.Servers {
		m := all[s.ID]
		m.ID, m.Voter, m.Role = s.ID, s.Voter, "unreachable"
		all[s.ID] = m
	}
	if _, ok := all[n.id]; !ok {
		all[n.id] = MemberInfo{ID: n.id, Incarnation: incarnationOf(n.Identity())}
	}
	infos, failed := n.askAll(ctx, slices.Collect(maps.Keys(all)))
	for id, m := range all {
		if address, ok := n.PeerAddress(id); ok {
			m.Address = address
		}
		if info, ok := infos[id]; ok {
			m.Role, m.Version, m.Address = info.Role, info.Program, info.Address
			m.Applied, m.Draining, m.Incarnation = info.Applied, info.Draining, info.Incarnation
			m.Voter = m.Voter && info.State != logstore.Left && info.State != logstore.Removed // its view is older
		}
		all[id] = m
	}
	return slices.SortedFunc(maps.Values(all), func(a, b MemberInfo) int { return compare(a.ID, b.ID) }), failed
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// role says in a word what this node is.
func (n *Node) role() string {
	switch id := n.Identity(); id.State {
	case logstore.Member:
	case logstore.New:
		return "joining"
	default:
		return string(id.State)
	}
	h := n.half.Load()
	if h == nil {
		return "out of service"
	}
	for _, s := range n.View().Servers {
		if s.ID == n.id && !s.Voter {
			return "non-voter"
		}
	}
	switch h.raft.State() {
	case raft.Leader:
		return "leader"
	case raft.Candidate:
		return "candidate"
	}
	return "follower"
}

// Term is the Raft term this node is in, 0 outside a cluster.
func (n *Node) Term() uint64 {
	if h := n.half.Load(); h != nil {
		return h.raft.CurrentTerm()
	}
	return 0
}

// Status is one look at a node.
type Status struct {
	ClusterID    string       `json:"cluster_id"`
	Node         string       `json:"node"`
	Leader       string       `json:"leader"`
	Term         uint64       `json:"term"`
	AppliedIndex uint64       `json:"applied_index"`
	Digest       string       `json:"digest"`
	Version      uint32       `json:"cluster_version"`
	Members      []MemberInfo `json:"members"`
	// Problems are texts for people; none is empty.
	Problems []string `json:"problems"`
}

// Status looks at this node and asks the others how they are.
func (n *Node) Status(ctx context.Context) Status {
	view := n.View()
	members, failed := n.lookAt(ctx)
	s := Status{
		ClusterID: clusterOf(n.clusterID()), Node: n.id, Leader: n.LeaderID(), Term: n.Term(), AppliedIndex: view.Index,
		Digest: view.Digest().String(), Version: view.Version, Members: members, Problems: n.Problems(),
	}
	for _, m := range s.Members {
		if m.Role == "unreachable" {
			text := "node " + m.ID + " can't be reached"
			if err := failed[m.ID]; err != nil {
				text += " at " + m.Address + ": " + whySilent(err)
			}
			s.Problems = append(s.Problems, text)
		}
	}
	return s
}

// Problems says in words what is wrong with this node, as far as it knows by
// itself.
func (n *Node) Problems() []string {
	all := n.listProblems()
	if err := n.Ready(); err != nil && len(all) == 0 {
		all = append(all, "not ready: "+err.Error())
	}
	return all
}

// LastContact returns how long ago this node heard of its leader, 0 on the
// leader itself, and false where it never did.
func (n *Node) LastContact() (time.Duration, bool) {
	h := n.half.Load()
	if h == nil {
		return 0, false
	}
	if h.raft.State() == raft.Leader {
		return 0, true
	}
	at := h.raft.LastContact()
	return time.Since(at), !at.IsZero()
}

// serveMethods takes the calls of others.
func (n *Node) serveMethods() {
	open := func(name string, h Handler) { n.methods.add(name, method{handler: h, open: true}) }
	open("cluster.hello", typed(n.hello))
	open("cluster.promise", typed(n.givePromise))
	open("cluster.join", typed(n.join))
	open("cluster.outlived", typed(n.outlived))
	n.Handle("cluster.belongs", typed(n.belongs))
	n.Handle("cluster.remove", typed(n.remove))
	n.Handle("cluster.transfer", typed(n.transfer))
	n.Handle("cluster.propose", n.propose)
	n.Handle("cluster.read", n.readIndex)
	n.Handle("cluster.recheck", n.recheck)
	n.Handle("cluster.keys", typed(n.obeyKeys))
	n.cfg.Network.Server.Serve(n.serve)
}
