package api

// TopicTrace says what would become of an event, as the node that answers
// would deliver it.
type TopicTrace struct {
	Topic string `json:"topic"`
	// Cost is the event's cost; Node the one that would deliver it.
	Cost int32  `json:"cost"`
	Node string `json:"node"`
	// Receivers are the subscribers and links that would get it: those of the
	// topic, and those of topics that a link leads to.
	Receivers []TraceReceiver `json:"receivers"`
	// Links are those of the topic.
	Links []TraceLink `json:"links"`
	// Native are native subscribers of the topic and of those it reaches.
	Native []TraceNative `json:"native"`
	// Why says all of it in words.
	Why []string `json:"why"`
}

// TraceLink is a link of the topic, and whether it lets the event pass.
type TraceLink struct {
	To     string `json:"to"`
	Remote string `json:"remote,omitempty"`
	Cost   int32  `json:"cost"`
	Passes bool   `json:"passes"`
}

// TraceReceiver is who would get the event.
type TraceReceiver struct {
	// Topic is the one it subscribes to, or the link's target as lists show it.
	Topic string `json:"topic"`
	// Identity is the subscriber's; empty for a link that leaves the graph.
	Identity string `json:"identity,omitempty"`
	// Figures are those of the node that answers.
	*Figures
}

// TraceNative are native subscribers of a topic at a node. Of other nodes it
// is known only that there are some.
type TraceNative struct {
	Topic       string `json:"topic"`
	Node        string `json:"node"`
	Subscribers int    `json:"subscribers,omitempty"`
}
