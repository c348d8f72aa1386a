package api

import "time"

// Figures are what the node that answers counted for one receiver, since it
// first had an event for it: each node delivers what is published to it. At
// every moment Offered = Delivered + the sum of Dropped + Queued.
type Figures struct {
	// State is idle, active, retrying (it can't be reached now) or removing.
	State     string `json:"state"`
	Offered   uint64 `json:"offered"`
	Delivered uint64 `json:"delivered"`
	// Dropped counts by reason; a reason that never came up is left out.
	Dropped map[string]uint64 `json:"dropped"`
	// Queued counts the events that wait and those under way.
	Queued uint64 `json:"queued"`
	// QueuedBytes is what the waiting events count for.
	QueuedBytes int `json:"queued_bytes"`
	// OldestSeconds is for how long the oldest waiting event has been
	// waiting, 0 where none waits.
	OldestSeconds float64 `json:"oldest_seconds"`
	// Address is where it was last reached or tried.
	Address string `json:"address,omitempty"`
	// LastError is the last failure in words, LastFailure when that was.
	LastError   string    `json:"last_error,omitempty"`
	LastFailure time.Time `json:"last_failure,omitzero"`
}
