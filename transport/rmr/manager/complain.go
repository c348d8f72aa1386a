package manager

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// complainEvery is how often the same complaint is logged; what comes between
// is counted in the next line.
const complainEvery = 10 * time.Second

// complaints logs what clients do wrong, rate-limited. It is safe for
// concurrent use.
type complaints struct {
	log hclog.Logger

	mu       sync.Mutex
	last     map[string]time.Time
	withheld map[string]int
}

func newComplaints(log hclog.Logger) *complaints {
	return &complaints{log: log, last: map[string]time.Time{}, withheld: map[string]int{}}
}

// warn logs message, one of few constants, unless it was just logged.
func (c *complaints) warn(message string, pairs ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if last, ok := c.last[message]; ok && now.Sub(last) < complainEvery {
		c.withheld[message]++
		return
	}
	c.log.Warn(message, append(pairs, "suppressed", c.withheld[message])...)
	c.last[message], c.withheld[message] = now, 0
}
