package api

import "time"

// NewToken asks for a token.
type NewToken struct {
	// Name is whose it is, for people; one for joining may have none.
	Name string `json:"name"`
	// Role is read, publish, operate or cluster; none for joining.
	Role string `json:"role,omitempty"`
	// Join asks for a token with which one node may join, once.
	Join bool `json:"join,omitempty"`
	// TTLSeconds is how long it is good; 0: for ever, or an hour for joining.
	TTLSeconds float64 `json:"ttl_seconds,omitempty"`
}

// Token is a token. The secret is in the answer to [NewToken] alone.
type Token struct {
	Name string `json:"name"`
	Role string `json:"role,omitempty"`
	Join bool   `json:"join,omitempty"`
	// Made and Ends are when; no Ends: it does not end.
	Made   time.Time  `json:"made"`
	Ends   *time.Time `json:"ends,omitempty"`
	Ended  bool       `json:"ended,omitempty"`
	Secret string     `json:"secret,omitempty"`
}
