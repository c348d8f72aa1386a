package api

import "time"

// Member is one node of the cluster as the asked node sees it.
type Member struct {
	ID string `json:"id"`
	// Address is the node's peer address.
	Address string `json:"address"`
	// Role is leader, follower, candidate, non-voter, unreachable, ...
	Role    string `json:"role"`
	Voter   bool   `json:"voter"`
	Version string `json:"version"`
	// Draining tells that the node was told to let go of its work.
	Draining bool `json:"draining"`
	// Addresses maps the other listeners to their addresses.
	Addresses map[string][]string `json:"addresses,omitempty"`
}

// Status is the state of the cluster as the asked node sees it.
type Status struct {
	ClusterID string `json:"cluster_id"`
	// Node is the id of the node that answers.
	Node string `json:"node"`
	// Leader is the leader's id, empty without one.
	Leader       string   `json:"leader"`
	Term         uint64   `json:"term"`
	AppliedIndex uint64   `json:"applied_index"`
	Digest       string   `json:"digest"`
	Members      []Member `json:"members"`
	// Problems say in words what is wrong.
	Problems []string `json:"problems"`
	// Nodes are what each node says of itself, sorted by id.
	Nodes []NodeReport `json:"nodes"`
	// Role is the role of the node that answers.
	Role string `json:"role"`
	// CommitIndex is the last index known to be committed.
	CommitIndex uint64 `json:"commit_index"`
	// ContactAge is how long ago the leader was heard, in seconds; -1: never.
	ContactAge float64 `json:"contact_age_seconds"`
	// Version is the program's version, ClusterVersion the cluster's.
	Version        string `json:"version"`
	ClusterVersion uint32 `json:"cluster_version"`
	// Instance is the category of the cluster's Ice identities.
	Instance  string            `json:"ice_instance"`
	Topics    int               `json:"topics"`
	Listeners map[string]string `json:"listeners"`
	// Plain has each listener in the clear, with the ranges of addresses beyond
	// its machine that may use it; none: only the machine itself may.
	Plain map[string][]string `json:"plain,omitempty"`
	// IceAllow says who may do what over Ice; empty: whoever reaches a listener.
	IceAllow string `json:"ice_allow,omitempty"`
	// RMRAllow says from where RMR messages of which types may come; empty: all
	// from whoever reaches a listener.
	RMRAllow      string  `json:"rmr_allow,omitempty"`
	Data          string  `json:"data"`
	UptimeSeconds float64 `json:"uptime_seconds"`
	// Certificate is that of the node that answers; nil: it has none.
	Certificate *Certificate `json:"certificate,omitempty"`
}

// Certificate says whom a node's certificate is for and until when.
type Certificate struct {
	// Cluster is the name the authority was made for.
	Cluster string    `json:"cluster"`
	Node    string    `json:"node"`
	Ends    time.Time `json:"ends"`
	// AuthorityEnds is when the first of the trusted authorities ends.
	AuthorityEnds time.Time `json:"authority_ends"`
}

// Join asks a node to enter the cluster found at one of the peer addresses.
type Join struct {
	Addresses []string `json:"addresses"`
	// Token is what the cluster's `floe token join` made; it may need none.
	Token string `json:"token,omitempty"`
}

// Remove asks for a node to be removed from the cluster.
type Remove struct {
	ID string `json:"id"`
	// Force removes it even where that costs quorum.
	Force bool `json:"force,omitempty"`
}

// Transfer asks the leader to hand over; an empty ID lets it choose.
type Transfer struct {
	ID string `json:"id,omitempty"`
}

// Drain asks a node to let go of leadership, connections and queues, or
// (Undo) to take part again.
type Drain struct {
	Undo bool `json:"undo,omitempty"`
}

// Done is the answer of calls that change membership: what was done, in words.
type Done struct {
	Message string `json:"message"`
}

// Setting is one value that can be changed while the node runs. It is kept
// until the node stops.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
