package client

import (
	"context"
	"time"
)

// between is how long to wait after all nodes were asked in vain.
const between = 100 * time.Millisecond

// rota is whose turn it is to serve what outlives a node: a stream of events,
// a watch. The zero value begins with the first address.
type rota struct {
	next  int       // turns that were passed on
	until time.Time // when to give up; zero while a node serves
}

// whose is the address whose turn it is.
func (c *Client) whose(r *rota) string {
	return c.config.Addresses[r.next%len(c.config.Addresses)]
}

// turnTime is how long one node has to begin: all get a turn within the timeout.
func (c *Client) turnTime() time.Duration {
	return max(c.config.Timeout/time.Duration(len(c.config.Addresses)), time.Millisecond)
}

// served notes that the node whose turn it is serves.
func (r *rota) served() { r.until = time.Time{} }

// passOn notes that the node whose turn it is failed, and tells whether to ask
// the next: not where it refused, nor where no node served for the client's
// timeout. The time counts from the first failure, however long the node
// served before or was silent.
func (c *Client) passOn(ctx context.Context, r *rota, err error) bool {
	if r.until.IsZero() {
		r.until = time.Now().Add(c.config.Timeout)
	}
	r.next++
	if !elsewhere(err) || ctx.Err() != nil || time.Now().After(r.until) {
		return false
	}
	if r.next%len(c.config.Addresses) != 0 {
		return true
	}
	select {
	case <-time.After(between):
		return true
	case <-ctx.Done():
		return false
	}
}
