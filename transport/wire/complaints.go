package wire

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// complainEvery is how often a listener logs bad input; what comes between is
// counted in the next line.
const complainEvery = 10 * time.Second

// complaints counts a listener's bad input and logs it, rate-limited. It is
// safe for concurrent use.
type complaints struct {
	log      hclog.Logger
	flag     string
	listener net.Addr
	total    atomic.Uint64

	mu       sync.Mutex
	last     map[string]time.Time
	withheld map[string]uint64
}

func newComplaints(log hclog.Logger, flag string, listener net.Addr) *complaints {
	return &complaints{log: log, flag: flag, listener: listener,
		last: make(map[string]time.Time), withheld: make(map[string]uint64)}
}

// badInput counts one connection that is closed for its input.
func (c *complaints) badInput(peer net.Addr, why error) {
	c.total.Add(1)
	c.warn("bad input, connection closed", "peer", peer, "reason", why)
}

// warn logs message, one of few constants, unless it was just logged.
func (c *complaints) warn(message string, pairs ...any) {
	withheld, due := c.due(message, time.Now())
	if !due {
		return
	}
	pairs = append([]any{"listener", c.flag, "address", c.listener}, pairs...)
	c.log.Warn(message, append(pairs, "suppressed", withheld)...)
}

func (c *complaints) due(message string, now time.Time) (withheld uint64, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.last[message]; ok && now.Sub(last) < complainEvery {
		c.withheld[message]++
		return 0, false
	}
	withheld = c.withheld[message]
	c.last[message] = now
	c.withheld[message] = 0
	return withheld, true
}
