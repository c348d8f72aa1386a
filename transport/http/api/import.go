package api

// ImportIceStorm asks for what an IceStorm holds to be made here, too. What
// is there already stays as it is.
type ImportIceStorm struct {
	// Instance is that of the IceStorm. Another one than the cluster's is
	// refused: programs would not find their topics.
	Instance string   `json:"instance"`
	Topics   []string `json:"topics"`
	// Receivers are links and subscribers, in the order they are to be made.
	Receivers []ImportReceiver `json:"receivers"`
	// Check changes nothing; the answer says what would be done.
	Check bool `json:"check,omitempty"`
	// Parts lets an import that is too large for one log entry be made in
	// several, which are not one change.
	Parts bool `json:"parts,omitempty"`
}

// ImportReceiver is a link or a subscriber of a topic.
type ImportReceiver struct {
	Topic string `json:"topic"`
	Link  bool   `json:"link,omitempty"`
	// Cost is that of a link.
	Cost int32 `json:"cost,omitempty"`
	// Proxy is the subscriber, or the topic a link leads to, in Ice encoding
	// 1.1; base64 in JSON.
	Proxy []byte            `json:"proxy"`
	QoS   map[string]string `json:"qos,omitempty"`
}

// Imported is the answer to ImportIceStorm.
type Imported struct {
	// Changes are the changes in the order they were, or would be, made. Op
	// is create, link or subscribe; To is the target's or the subscriber's
	// identity.
	Changes []Change `json:"changes"`
	// Kept says in words what is here already and differs.
	Kept []string `json:"kept"`
	// Parts is how many log entries the changes take.
	Parts int `json:"parts"`
	// Applied is true where the changes were made, or none were needed.
	Applied bool `json:"applied"`
	// Index is the Raft index the answer holds at.
	Index uint64 `json:"index"`
}

// ImportRouteManager asks for what an old route manager knows.
type ImportRouteManager struct {
	// Texts are its configuration file, its answer to getdebuginfo, or both.
	Texts []string `json:"texts"`
	// Check changes nothing; the answer says what would be done.
	Check bool `json:"check,omitempty"`
}

// RoutesImported is the answer to ImportRouteManager.
type RoutesImported struct {
	// Facts say in words what was found.
	Facts []string `json:"facts"`
	// Notes say in words what can't be carried over as it is.
	Notes []string `json:"notes"`
	// Removed and Added are the records that went and came, or would, as in
	// [RoutesDiff].
	Removed []string `json:"removed"`
	Added   []string `json:"added"`
	// Changed is true where there is something to change.
	Changed bool `json:"changed"`
	// Version is that of the routes.
	Version uint64 `json:"version"`
	// Applied is true where the changes were made, or none were needed.
	Applied bool `json:"applied"`
}
