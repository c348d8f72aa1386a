package history

// Type says what an event is about.
type Type string

// The types of event. An operation has one Invoke and at most one of the next
// three; without one its outcome is unknown, as with Info.
const (
	Invoke Type = "invoke"
	OK     Type = "ok"   // the client saw success, or a read's answer
	Fail   Type = "fail" // it did not and will never take effect
	Info   Type = "info" // unknown: it may take effect at any time from its invocation on
	Note   Type = "note" // no operation: a fault, a phase, an election
)

// Event is one line of a history.
type Event struct {
	// Time is in nanoseconds since the log was opened.
	Time int64 `json:"ns"`
	// Process is the client; it has one operation under way at most.
	Process string `json:"p"`
	// Op numbers the operations; 0 for notes.
	Op   uint64 `json:"op,omitempty"`
	Type Type   `json:"t"`
	// Func names the operation, or the kind of note.
	Func string `json:"f"`
	// Key is the record it is about: a topic, or FROM>TO.
	Key  string `json:"k,omitempty"`
	Node string `json:"node,omitempty"`
	// Value holds what was asked for (Invoke) or seen.
	Value *Value `json:"v,omitempty"`
	// Error says why, for Fail and Info; for a note, what happened.
	Error string `json:"err,omitempty"`
}

// Value is an operation's argument or result; which fields are set depends on
// the operation.
type Value struct {
	// ID is a topic's id.
	ID uint64 `json:"id,omitempty"`
	// Cost is a link's cost.
	Cost int32 `json:"cost,omitempty"`
	// Absent says that the record is not there.
	Absent bool `json:"absent,omitempty"`
	// Refused says that the service refused a change because of the state
	// it found, which makes the operation a read.
	Refused bool `json:"refused,omitempty"`
	// Text is a proxy or a digest.
	Text string `json:"text,omitempty"`
	// Index is a Raft index, or a term in notes about the leader.
	Index uint64 `json:"index,omitempty"`
	// Term is a Raft term.
	Term uint64 `json:"term,omitempty"`
	// Topics maps names to ids, Links FROM>TO to costs.
	Topics map[string]uint64 `json:"topics,omitempty"`
	Links  map[string]int32  `json:"links,omitempty"`
	// Table is the number of a route table, Was that of the one before a
	// conditional change, Mixed what in it belongs to another one.
	Table uint64 `json:"table,omitempty"`
	Was   uint64 `json:"was,omitempty"`
	Mixed string `json:"mixed,omitempty"`
	// Version is that of the routes.
	Version uint64 `json:"version,omitempty"`
	// Owner is that of an MEID, Owners maps MEIDs to theirs.
	Owner  string            `json:"owner,omitempty"`
	Owners map[string]string `json:"owners,omitempty"`
	// Session numbers the connections that a client read on.
	Session uint64 `json:"session,omitempty"`
	// Voters are ids of members that vote.
	Voters []string `json:"voters,omitempty"`
}
