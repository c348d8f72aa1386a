package delivery

import "time"

// Rules say how a receiver's failures are counted.
type Rules struct {
	// Retry is the subscription's retryCount: how many outages are
	// forgiven, -1 for any number.
	Retry int
	// Interval is the discard interval: a lasting outage counts once in it.
	Interval time.Duration
	// FirstDelay is the wait after the first failure; it doubles up to
	// MaxDelay.
	FirstDelay, MaxDelay time.Duration
}

// Outage counts the failures of one receiver. The zero value stands for a
// receiver that works. It reads no clock.
type Outage struct {
	counted int       // failures that count, since the last success
	since   time.Time // when the last of them was
	delay   time.Duration
}

// Fail notes a failure. It returns when to try again, or that the receiver
// is to be removed.
func (o *Outage) Fail(now time.Time, hard bool, r Rules) (next time.Time, remove bool) {
	if hard {
		return time.Time{}, true
	}
	if o.counted == 0 || now.Sub(o.since) >= r.Interval {
		if r.Retry >= 0 && o.counted >= r.Retry {
			return time.Time{}, true
		}
		o.counted++
		o.since = now
	}
	return o.wait(now, r), false
}

// wait returns the time of the next try: after the back-off, or at the end
// of the interval if that is sooner, so that the next count is on time.
func (o *Outage) wait(now time.Time, r Rules) time.Time {
	o.delay = min(max(2*o.delay, r.FirstDelay), r.MaxDelay)
	next := now.Add(o.delay)
	if end := o.since.Add(r.Interval); end.After(now) && next.After(end) {
		return end
	}
	return next
}

// Pardon goes on after a verdict that was not carried out: it returns when
// to try again. The verdict is asked for again after one more interval.
func (o *Outage) Pardon(now time.Time, r Rules) time.Time {
	o.counted = max(o.counted, 1, r.Retry)
	o.since = now
	return o.wait(now, r)
}

// Success notes a delivery: the outage is over.
func (o *Outage) Success() { *o = Outage{} }

// Over tells whether there is no outage.
func (o *Outage) Over() bool { return o.counted == 0 }
