package delivery

import (
	"context"
	"time"
)

// Drain waits until everything queued for receivers that can be reached is
// delivered, or ctx ends, and returns how many events are left, those of
// receivers in an outage included. Publishing goes on meanwhile: whoever
// wants an end stops it first.
func (h *Hub) Drain(ctx context.Context) (left int) {
	ticker := time.NewTicker(drainEvery)
	defer ticker.Stop()
	for {
		left, hope := h.unsent()
		if !hope {
			return left
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return left
		}
	}
}

const drainEvery = 5 * time.Millisecond

// unsent counts what is not delivered yet and has senders hold nothing back.
// hope says whether waiting may help.
func (h *Hub) unsent() (left int, hope bool) {
	for _, r := range h.receivers() {
		n, active := r.unsent()
		left += n
		if n > 0 && active {
			hope = true
			r.urge()
		}
	}
	return left, hope
}
