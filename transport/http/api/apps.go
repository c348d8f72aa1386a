package api

// App is a program that asked for a route table, and what it has of it.
type App struct {
	// Name is what it calls itself: HOST:PORT, with the port of its messages.
	Name string `json:"name"`
	// Address is where it takes tables, HOST:PORT.
	Address string `json:"address"`
	// Node is the id of the node that serves it.
	Node string `json:"node"`
	// VersionSent is the version of the table that was sent last, and
	// VersionAcked of the one that it acknowledged last; 0: none.
	VersionSent  uint64 `json:"version_sent"`
	VersionAcked uint64 `json:"version_acked"`
	// AgeSeconds is how long ago it acknowledged or, if it never did, asked.
	AgeSeconds float64 `json:"age_seconds"`
	// Error is what went wrong last, empty if nothing did since.
	Error string `json:"error"`
}

// Relay says the messages of which types go through floe.
type Relay struct {
	// All is what holds for types that are no exception.
	All bool `json:"all"`
	// Except are the types for which the opposite holds, sorted.
	Except []int32 `json:"except"`
	// Version is the version of what apps are sent.
	Version uint64 `json:"version"`
}

// SetRelay switches the relay for one message type, or for all.
type SetRelay struct {
	On bool `json:"on"`
	// MType is the message type; missing: all.
	MType *int32 `json:"mtype,omitempty"`
}
