package check

// Ways of a message.
const (
	ByTable = "table" // by the table of the application that sends it
	ByNode  = "node"  // the node forwards it
)

// Message is one RMR message as it was sent, or as it arrived: one line of
// messages.jsonl.
type Message struct {
	Time   int64  `json:"ns"`
	Number uint64 `json:"no"`
	Sent   bool   `json:"sent,omitempty"`
	Via    string `json:"via"`
	// Node is where it was sent, or that which forwards it.
	Node string `json:"node"`
	Type int32  `json:"mtype"`
	MEID string `json:"meid,omitempty"`
	// SentAt, Side and Sink are of one that arrived: when it was sent, and
	// where it came to.
	SentAt int64  `json:"sent_ns,omitempty"`
	Side   string `json:"side,omitempty"`
	Sink   string `json:"sink,omitempty"`
}
