package api

// Restored says what a restore made of the cluster.
type Restored struct {
	// ClusterID is the cluster's own id, which it keeps; From is that of the
	// cluster in the backup, FromIndex the index the backup stands at.
	ClusterID string `json:"cluster_id"`
	From      string `json:"from_cluster_id"`
	FromIndex uint64 `json:"from_index"`
	// Index is the index at which all nodes have it, Digest that of the content.
	Index  uint64 `json:"index"`
	Digest string `json:"digest"`
	// How much of each there is.
	Topics      int `json:"topics"`
	Links       int `json:"links"`
	Subscribers int `json:"subscribers"`
	Routes      int `json:"routes"`
	MEIDs       int `json:"meids"`
}
