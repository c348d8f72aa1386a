package fsm

import (
	"slices"
	"strings"

	"floe/topics"
)

// View is the whole state as it stands at one applied index. It never
// changes and may be kept and shared freely.
type View struct {
	// Index is the Raft index of the last entry applied, 0 at the start.
	Index uint64
	// ClusterID is a UUID, empty before the first command of the cluster.
	ClusterID string
	// Version is the cluster version.
	Version uint32
	// Graph holds topics, links and subscriptions.
	Graph *topics.Graph
	// Members are the nodes that made themselves known, sorted by id.
	Members []Member
	// Clusters are the other floe clusters we know, sorted by name.
	Clusters []Peer
	// Routes holds route table and MEID map.
	Routes Routes
	// Apps are the programs that asked for a route table, sorted by name.
	Apps []App
	// Distribution decides with the routes what apps are sent.
	Distribution Distribution
	// Tokens give rights, or let nodes join, sorted by name. They are no part of
	// the digest, and of no backup.
	Tokens []Token
	// History is how all this came about.
	History History
	// Servers are the nodes of the Raft group, sorted by id.
	Servers []Server
	// UserChanges counts the applied changes that somebody asked for, as
	// opposed to those the nodes make by themselves.
	UserChanges uint64
	// Shift is added to Raft's index wherever the state notes when something
	// happened. It is not 0 in a cluster that was restored from a backup: what
	// happens there comes after all that the backup notes.
	Shift uint64

	restore *staged // under way; nil: none
}

// Member is one node as the others know it.
type Member struct {
	// ID is stable for the node's life.
	ID string `codec:"id"`
	// Incarnation grows each time an emptied or recovered node enters anew.
	Incarnation uint64 `codec:"inc"`
	// Addresses maps a listener ("peer", "ice", "http", ...) to the
	// addresses others reach it at: host:port for all but "ice", which has
	// endpoint strings in Ice's own form.
	Addresses map[string][]string `codec:"addr,omitempty"`
	// Program is the program's version, for people.
	Program string `codec:"prog,omitempty"`
	// Supports is the newest cluster version the program can work with.
	Supports uint32 `codec:"sup"`
	// NonVoter says that the node is to stay without a vote.
	NonVoter bool `codec:"nv,omitempty"`
}

// Address returns the first address of a listener, "" where it has none.
func (m Member) Address(listener string) string {
	if a := m.Addresses[listener]; len(a) > 0 {
		return a[0]
	}
	return ""
}

// Equal tells whether two members are alike in everything.
func (m Member) Equal(o Member) bool {
	if m.ID != o.ID || m.Incarnation != o.Incarnation || m.Program != o.Program || m.Supports != o.Supports || m.NonVoter != o.NonVoter || len(m.Addresses) != len(o.Addresses) {
		return false
	}
	for listener, addresses := range m.Addresses {
		if !slices.Equal(addresses, o.Addresses[listener]) {
			return false
		}
	}
	return true
}

// Server is one node of the Raft group.
type Server struct {
	ID    string `codec:"id"`
	Voter bool   `codec:"v,omitempty"`
}

// Peer is another floe cluster.
type Peer struct {
	// Name is what our users call it.
	Name string `codec:"n"`
	// ID is its cluster id.
	ID string `codec:"id"`
	// Instance is the category of its Ice identities.
	Instance string `codec:"ice,omitempty"`
	// Addresses are peer addresses (host:port) of any of its nodes; more
	// are learnt from those.
	Addresses []string `codec:"addr,omitempty"`
}

// Member returns the node of that id and whether it is known.
func (v *View) Member(id string) (Member, bool) {
	i, found := slices.BinarySearchFunc(v.Members, id, func(m Member, id string) int { return strings.Compare(m.ID, id) })
	if !found {
		return Member{}, false
	}
	return v.Members[i], true
}

// Cluster returns the other floe cluster of that name and whether it is known.
func (v *View) Cluster(name string) (Peer, bool) {
	i, found := slices.BinarySearchFunc(v.Clusters, name, func(p Peer, name string) int { return strings.Compare(p.Name, name) })
	if !found {
		return Peer{}, false
	}
	return v.Clusters[i], true
}

// Voters returns the number of nodes that count for quorum.
func (v *View) Voters() int {
	n := 0
	for _, s := range v.Servers {
		if s.Voter {
			n++
		}
	}
	return n
}
