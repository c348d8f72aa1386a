package api

// Top is what all nodes counted since they started; two answers make rates.
type Top struct {
	// Node is the one that answers.
	Node string `json:"node"`
	// Nodes are those that were added up, Missing those that did not answer.
	Nodes   []string `json:"nodes"`
	Missing []string `json:"missing"`
	// Events and Messages sum up all receivers, those that are gone included.
	Events   Counts `json:"events"`
	Messages Counts `json:"messages"`
	// Topics are the busiest of each node, sorted by name; Endpoints those
	// that RMR messages go to; Routes those that messages went by, the busiest
	// of each node, sorted by type and subscription id.
	Topics    []TopicTraffic    `json:"topics"`
	Endpoints []EndpointTraffic `json:"endpoints"`
	Routes    []RouteTraffic    `json:"routes"`
}

// RouteTraffic are the messages that nodes sent on by the entries of one type
// and subscription id; what programs send each other straight is not among them.
type RouteTraffic struct {
	MType int32 `json:"mtype"`
	// SubID is -1 for entries without a subscription id.
	SubID int32 `json:"subid"`
	// Messages counts each message once, however many copies it became.
	Messages uint64 `json:"messages"`
}

// Counts are per event or message and receiver.
type Counts struct {
	Offered   uint64 `json:"offered"`
	Delivered uint64 `json:"delivered"`
	Dropped   uint64 `json:"dropped"`
	Queued    uint64 `json:"queued"`
}

// EndpointTraffic is one endpoint of the route table.
type EndpointTraffic struct {
	Name string `json:"name"`
	Counts
	// Dead is true where a node has groups pass it over.
	Dead bool `json:"dead,omitempty"`
}

// NodeReport is what a node says of itself for a status of the cluster.
type NodeReport struct {
	ID string `json:"id"`
	// Answers is false for a node that did not; what stands here then is what
	// others know of it.
	Answers bool   `json:"answers"`
	Role    string `json:"role"`
	Address string `json:"address"`
	Version string `json:"version"`
	// AppliedIndex is how far its copy is, Lag how many entries it lacks of
	// the foremost node that answers.
	AppliedIndex uint64 `json:"applied_index"`
	Lag          uint64 `json:"lag"`
	// ContactAge is how long ago it heard the leader, in seconds; -1: never.
	ContactAge float64 `json:"contact_age_seconds"`
	// DiskFree and DiskReserve are bytes: below the reserve it takes no changes.
	DiskFree    uint64 `json:"disk_free_bytes"`
	DiskReserve uint64 `json:"disk_reserve_bytes"`
	// Connections counts those open, by listener.
	Connections   map[string]int `json:"connections"`
	Events        Counts         `json:"events"`
	Messages      Counts         `json:"messages"`
	UptimeSeconds float64        `json:"uptime_seconds"`
	Draining      bool           `json:"draining,omitempty"`
	// Problems say in words what is wrong with it.
	Problems []string `json:"problems"`
}
