package api

// Topic is one topic.
type Topic struct {
	Name string `json:"name"`
	ID   uint64 `json:"id"`
}

// NewTopic asks for a topic.
type NewTopic struct {
	Name string `json:"name"`
}

// Link is one link.
type Link struct {
	From string `json:"from"`
	// To is the target's name; CLUSTER/NAME for a topic of another floe
	// cluster, the proxy's identity for one of a foreign IceStorm, and
	// rmr:MTYPE or rmr:MTYPE/SUBID for messages.
	To   string `json:"to"`
	Cost int32  `json:"cost"`
	// Remote says what a target that is no topic of this cluster is: "floe
	// NAME" or "icestorm" for where it lives, [ToMessages] for messages.
	Remote string `json:"remote,omitempty"`
	// Figures are those of the node that answers, of a link that leaves this
	// cluster or leads to messages: its state says whether the target can be
	// reached. Only lists of links have them.
	*Figures
}

// ToMessages is what Link.Remote says of a link whose events leave as RMR
// messages.
const ToMessages = "rmr"

// NewLink asks for a link.
type NewLink struct {
	From string `json:"from"`
	// To is the name of the target. Where no topic has that name and it
	// reads CLUSTER/NAME, it means a topic of another floe cluster.
	To string `json:"to"`
	// Cluster names the other cluster explicitly; To is then the bare name.
	Cluster string `json:"cluster,omitempty"`
	// Messages says that the topic's events leave as RMR messages; To is then
	// MTYPE or MTYPE/SUBID.
	Messages bool  `json:"messages,omitempty"`
	Cost     int32 `json:"cost"`
	// Replace gives a link that exists the new cost.
	Replace bool `json:"replace,omitempty"`
}

// Subscriber is one subscription of a topic, or a link as IceStorm's tools
// show it among them.
type Subscriber struct {
	Topic string `json:"topic"`
	// Identity is the subscriber's Ice identity as a string.
	Identity string `json:"identity"`
	// Link is true where the entry is a link's target and not a subscriber.
	Link bool `json:"link"`
	// Proxy is where the subscriber lives, in Ice's own form.
	Proxy string            `json:"proxy,omitempty"`
	QoS   map[string]string `json:"qos,omitempty"`
	// Serial is the subscription's incarnation.
	Serial uint64 `json:"serial"`
	// Forwarded counts, for a link, the events it let pass on the node that
	// answers.
	Forwarded uint64 `json:"forwarded,omitempty"`
	// Figures are nil for a link inside the graph: it hands events straight
	// to the target's subscribers, and has no queue.
	*Figures
}

// Removed says how many records a call removed.
type Removed struct {
	Removed int `json:"removed"`
}

// Graph is the whole topic graph.
type Graph struct {
	Topics []Topic `json:"topics"`
	Links  []Link  `json:"links"`
}

// Apply asks for a graph script to be applied.
type Apply struct {
	// Script holds create and link commands as icestormadmin reads them.
	Script string `json:"script"`
	// Prune removes topics and links that the script does not name.
	Prune bool `json:"prune,omitempty"`
	// Check changes nothing; the answer says what would change.
	Check bool `json:"check,omitempty"`
}

// Applied is the answer to Apply.
type Applied struct {
	// Changes are the changes in the order they were, or would be, made.
	Changes []Change `json:"changes"`
	// Applied is true where the changes were made, or none were needed.
	Applied bool `json:"applied"`
	// Index is the Raft index the answer holds at.
	Index uint64 `json:"index"`
}

// Change is one step from the graph as it is to the one that is asked for.
type Change struct {
	// Op is create, destroy, link, cost or unlink; in a history also subscribe
	// and unsubscribe, where To is the subscriber's identity.
	Op   string `json:"op"`
	From string `json:"from"`
	To   string `json:"to,omitempty"`
	Cost int32  `json:"cost,omitempty"`
	// Was is the cost before, for op cost.
	Was int32 `json:"was,omitempty"`
}

// Cluster is another floe cluster.
type Cluster struct {
	Name      string   `json:"name"`
	ID        string   `json:"id"`
	Addresses []string `json:"addresses"`
}
