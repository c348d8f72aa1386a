package api

import "floe/routing"

// Loaded is the answer to a route text that was loaded.
type Loaded struct {
	// Version is the version of the routes after it: the Raft index of their
	// last change.
	Version uint64 `json:"version"`
	// Routes and MEIDs are how many there are now.
	Routes int `json:"routes"`
	MEIDs  int `json:"meids"`
	// Changed is false where the routes said all of it before.
	Changed bool `json:"changed"`
	// Findings are the warnings.
	Findings []routing.Finding `json:"findings"`
}

// Checked is the answer to a route text that was checked.
type Checked struct {
	// OK says whether it could be loaded.
	OK bool `json:"ok"`
	// Routes and MEIDs are how many the text makes, 0 where it has an error.
	Routes   int               `json:"routes"`
	MEIDs    int               `json:"meids"`
	Findings []routing.Finding `json:"findings"`
}

// RoutesDiff is what a route text would change.
type RoutesDiff struct {
	// Version is the version of the routes it was compared with.
	Version uint64 `json:"version"`
	// Removed and Added are records of the text form, each MEID in a record
	// of its own.
	Removed []string `json:"removed"`
	Added   []string `json:"added"`
}

// RouteQuery is a message as far as its route goes.
type RouteQuery struct {
	MType int32
	// SubID is -1 for a message without a subscription id.
	SubID  int32
	MEID   string
	Sender string
}

// RouteFound says where a message goes, or why it goes nowhere.
type RouteFound struct {
	MType int32 `json:"mtype"`
	SubID int32 `json:"subid"`
	// Groups each get a copy; the members of one take turns. They are
	// missing where the MEID decides.
	Groups [][]string `json:"groups,omitempty"`
	// Owner is the owner of the MEID, where that decides.
	Owner string `json:"owner,omitempty"`
	// Record is the record of the table that decides, if there is one.
	Record string `json:"record,omitempty"`
	// Reason is empty where the message goes somewhere, else no_entry,
	// unknown_meid or dead_endpoint.
	Reason string `json:"reason,omitempty"`
	// Near are MEIDs spelled almost like an unknown one.
	Near []string `json:"near,omitempty"`
	// Why says each step in words.
	Why []string `json:"why"`
}

// MEID is one MEID with its owner.
type MEID struct {
	MEID  string `json:"meid"`
	Owner string `json:"owner"`
}

// SetMEIDs asks for MEIDs to be given to an owner.
type SetMEIDs struct {
	Owner string   `json:"owner"`
	MEIDs []string `json:"meids"`
}

// DeleteMEIDs asks for MEIDs to be deleted.
type DeleteMEIDs struct {
	MEIDs []string `json:"meids"`
}

// MEIDsChanged is the answer to a change of the MEID map.
type MEIDsChanged struct {
	// Version is the version of the routes after it.
	Version uint64 `json:"version"`
	// Changed is how many MEIDs have another owner than before, or none.
	Changed int `json:"changed"`
}
