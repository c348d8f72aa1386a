package api

// Keys are the secrets of the gossip, by ids that tell nothing of them.
type Keys struct {
	Keys []Key `json:"keys"`
	// Silent are the nodes that did not answer.
	Silent []string `json:"silent"`
}

// Key is one secret: who has it, and who sends with it.
type Key struct {
	ID      string   `json:"id"`
	Nodes   []string `json:"nodes"`
	Senders []string `json:"senders"`
}

// KeyChange changes the secrets on all nodes.
type KeyChange struct {
	// Do is add, use or remove.
	Do string `json:"do"`
	// Key is the secret to add, of 16, 24 or 32 bytes.
	Key []byte `json:"key,omitempty"`
	// ID names the secret to use or to remove.
	ID string `json:"id,omitempty"`
}
