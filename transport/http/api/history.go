package api

import "time"

// History is the latest changes.
type History struct {
	// Index is the Raft index the answer holds at.
	Index uint64 `json:"index"`
	// Floor is the index after which every change is remembered.
	Floor uint64 `json:"floor"`
	// Changes are sorted by index.
	Changes []Record `json:"changes"`
}

// Record is one change: what was made different at one index, all at once.
type Record struct {
	Index uint64 `json:"index"`
	// Time is by the clock of the node that was asked; missing for a change
	// of the group.
	Time time.Time `json:"time,omitzero"`
	// From says who asked: a face and an address.
	From string `json:"from,omitempty"`
	// ByNode is true for what a node did by itself.
	ByNode bool `json:"by_node,omitempty"`
	// Op says in a word what was asked for, Text in words what came of it.
	Op   string `json:"op"`
	Text string `json:"text"`
	// Topics are those it has to do with, sorted.
	Topics []string `json:"topics"`
	// Graph are the changes of topics, links and subscriptions.
	Graph []Change `json:"graph"`
	// Removed and Added are records of the text form of routes and MEIDs, all
	// entries of each key that changed.
	Removed []string `json:"removed"`
	Added   []string `json:"added"`
	// Members are the nodes whose part in the group changed.
	Members []MemberChange `json:"members,omitempty"`
	// Cut says that the change was too large to be kept whole: Graph, Removed
	// and Added are only part of it.
	Cut bool `json:"cut,omitempty"`
}

// MemberChange is a node of the group: "", voter or non-voter, before and
// after.
type MemberChange struct {
	ID  string `json:"id"`
	Was string `json:"was"`
	Is  string `json:"is"`
}

// Gap says that changes are not known any more: whoever follows them reads
// the state anew, at Index or later, and goes on from there.
type Gap struct {
	// From is the index that was asked for, Floor the one after which every
	// change is remembered.
	From    uint64 `json:"from"`
	Floor   uint64 `json:"floor"`
	Index   uint64 `json:"index"`
	Message string `json:"message"`
}

// Progress says that there is no change up to an index that was not told.
type Progress struct {
	Index uint64 `json:"index"`
	Node  string `json:"node"`
}

// Revert asks for graph and routes to be brought back to how they were.
type Revert struct {
	To uint64 `json:"to"`
	// Seen, if not 0, is the Seen of an answer that was looked at: anything
	// that changed since refuses the call.
	Seen uint64 `json:"seen,omitempty"`
	// Check changes nothing; the answer says what would change.
	Check bool `json:"check,omitempty"`
}

// Reverted is the answer to Revert.
type Reverted struct {
	To uint64 `json:"to"`
	// Seen is the index of the last change of graph or routes.
	Seen uint64 `json:"seen"`
	// Graph are the changes of topics and links, and the subscriptions that
	// come back with their topics.
	Graph   []Change `json:"graph"`
	Removed []string `json:"removed"`
	Added   []string `json:"added"`
	// Applied is true where the changes were made, or none were needed.
	Applied bool `json:"applied"`
	// Index is the Raft index the answer holds at.
	Index uint64 `json:"index"`
}
