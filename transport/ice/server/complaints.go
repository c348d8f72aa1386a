package server

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// complaintEvery is the least time between two lines of one listener.
const complaintEvery = 10 * time.Second

// complaints counts bad input of one listener and logs some of it.
type complaints struct {
	log      hclog.Logger
	listener string

	mu      sync.Mutex
	total   uint64
	silent  uint64    // since the last line
	next    time.Time // no line before
	refused uint64
}

// add counts one connection or datagram that was no good Ice, and says so
// unless another line stands close before.
func (c *complaints) add(peer string, err error) {
	c.mu.Lock()
	c.total++
	c.mu.Unlock()
	c.say("bad input, connection closed", peer, err)
}

// refuse counts one connection beyond the limits.
func (c *complaints) refuse(peer string, err error) {
	c.mu.Lock()
	c.refused++
	c.mu.Unlock()
	c.say("connection refused", peer, err)
}

func (c *complaints) say(what, peer string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Before(c.next) {
		c.silent++
		return
	}
	c.log.Warn(what, "listener", c.listener, "peer", peer, "reason", err, "unreported_before", c.silent)
	c.silent, c.next = 0, now.Add(complaintEvery)
}

func (c *complaints) counts() (bad, refused uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total, c.refused
}
