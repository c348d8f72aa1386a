package api

// Publish asks for one event to be published.
type Publish struct {
	Topic string `json:"topic"`
	// Operation is the operation's name, "message" where empty.
	Operation string `json:"operation,omitempty"`
	// Context goes along unchanged; its entry "cost" is the event's cost.
	Context map[string]string `json:"context,omitempty"`
	// Data is the payload. It reaches Ice subscribers as one sequence<byte>,
	// or as one string where AsString is set.
	Data     []byte `json:"data,omitempty"`
	AsString bool   `json:"as_string,omitempty"`
}

// Event is one line of the event stream: the first says that the
// subscription stands, the others carry events, count missed ones, or are
// empty and only show that the node is alive.
type Event struct {
	// Subscribed is true in the first line.
	Subscribed bool `json:"subscribed,omitempty"`
	// Missed is how many events were dropped since the line before.
	Missed uint64 `json:"missed,omitempty"`
	// Gap says in words why an unknown number of events may be missing.
	Gap string `json:"gap,omitempty"`
	// Received is the event, nil in other lines.
	Received *Received `json:"event,omitempty"`
	// Error ends the stream.
	Error *Error `json:"error,omitempty"`
}

// Received is one event as a native subscriber gets it.
type Received struct {
	Topic     string            `json:"topic"`
	Operation string            `json:"operation"`
	Cost      int32             `json:"cost"`
	Context   map[string]string `json:"context"`
	// Data is the payload where it is one sequence<byte> in encoding 1.1,
	// else the whole Ice encapsulation.
	Data []byte `json:"data"`
	// Encapsulation is true where Data is a whole Ice encapsulation.
	Encapsulation bool `json:"encapsulation,omitempty"`
}
