package probe

import "time"

// Of an endpoint that does not answer.
const (
	failures = 2           // in a row make it dead
	firstWay = time.Second // for so long it must answer to be alive again,
	longWay  = time.Minute // and twice as long each time, up to this
)

// opinion is what this node holds of one endpoint.
type opinion struct {
	asked  int // answers and failures so far
	failed int // in a row
	dead   bool
	since  time.Time     // when it answered first after it was dead
	way    time.Duration // how long it must answer, the next time
}

// note takes one answer, nil, or failure.
func (o *opinion) note(err error, now time.Time) {
	o.asked++
	if err != nil {
		o.failed++
		o.since = time.Time{}
		if o.failed >= failures && !o.dead {
			o.dead = true
			o.way = min(max(2*o.way, firstWay), longWay)
		}
		return
	}
	o.failed = 0
	switch {
	case !o.dead:
	case o.since.IsZero():
		o.since = now
	case now.Sub(o.since) >= o.way:
		o.dead = false
	}
}

// settled tells whether it was asked often enough to know.
func (o *opinion) settled() bool { return o.asked >= failures }
