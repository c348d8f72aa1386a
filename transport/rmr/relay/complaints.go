package relay

import (
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// complainEvery is the shortest time between two equal lines about what
// peers do; those between are counted in the next.
const complainEvery = 10 * time.Second

// complaints logs what peers do wrong, not too often.
type complaints struct {
	log      hclog.Logger
	listener net.Addr

	mu       sync.Mutex
	said     map[string]time.Time
	withheld map[string]int
}

func newComplaints(log hclog.Logger, listener net.Addr) complaints {
	return complaints{log: log, listener: listener, said: map[string]time.Time{}, withheld: map[string]int{}}
}

// warn logs a message, which is a constant.
func (c *complaints) warn(message string, pairs ...any) {
	c.mu.Lock()
	now, withheld := time.Now(), c.withheld[message]
	quiet := now.Sub(c.said[message]) < complainEvery
	if quiet {
		c.withheld[message]++
	} else {
		c.said[message], c.withheld[message] = now, 0
	}
	c.mu.Unlock()
	if !quiet {
		c.log.Warn(message, append([]any{"listener", c.listener, "suppressed", withheld}, pairs...)...)
	}
}
