package api

// Traffic are the events that the node that answers counted by topic and
// link since it started; two answers make a rate.
type Traffic struct {
	// Node is the id of the node that answers.
	Node string `json:"node"`
	// Topics are those that an event came to, sorted by name.
	Topics []TopicTraffic `json:"topics"`
}

// TopicTraffic is one topic's part of it.
type TopicTraffic struct {
	Name string `json:"name"`
	// Published counts the events published on it at this node, Arrived those
	// that came over links from outside the cluster, or as messages.
	Published uint64 `json:"published"`
	Arrived   uint64 `json:"arrived"`
	// Offered, Delivered, Dropped and Queued sum up its present subscribers
	// and the links that leave the cluster.
	Offered   uint64 `json:"offered"`
	Delivered uint64 `json:"delivered"`
	Dropped   uint64 `json:"dropped"`
	Queued    uint64 `json:"queued"`
	// Failing is how many of those can't be reached now.
	Failing int `json:"failing"`
	// Links are those that let an event pass.
	Links []LinkTraffic `json:"links,omitempty"`
}

// LinkTraffic is what one link let pass.
type LinkTraffic struct {
	// To and Remote name the target as [Link] does.
	To     string `json:"to"`
	Remote string `json:"remote,omitempty"`
	// Forwarded counts the events.
	Forwarded uint64 `json:"forwarded"`
}
