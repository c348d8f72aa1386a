package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// trial is one run of one case on one service.
type trial struct {
	outage time.Duration // the cap where it was longer
	events *figures      // nil for a cold start
}

// settle is how long events go on after the outage.
const settle = 2 * time.Second

func trialOf(ctx context.Context, o options, k kind, f fault) (t trial, err error) {
	c, err := startCluster(ctx, o, k)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	victim, err := k.leader(ctx, c)
	if err != nil {
		return t, err
	}
	if !f.leader {
		victim = c.others(victim)[0]
	}
	well := c.others(victim)
	var flow *flow
	if !f.cold {
		if flow, err = c.startEvents(ctx, well); err != nil {
			return t, err
		}
		defer flow.close()
	}
	begun := time.Now()
	if err := f.strike(c, victim); err != nil {
		return t, err
	}
	until, cancel := context.WithTimeout(ctx, o.cap-time.Since(begun))
	defer cancel()
	done := make(chan time.Time, len(well))
	for _, n := range well {
		go func() {
			if c.untilWritten(until, n, "after-"+n.Name) == nil {
				done <- time.Now()
			}
		}()
	}
	select {
	case at := <-done:
		t.outage = at.Sub(begun)
	case <-until.Done():
		t.outage = o.cap
	}
	cancel()
	if flow == nil || ctx.Err() != nil {
		return t, ctx.Err()
	}
	if wait(ctx, settle) {
		t.events = flow.figures(ctx)
	}
	return t, ctx.Err()
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// text is the trial on one line.
func (t trial) text(limit time.Duration) string {
	line := "no changes for " + seconds(t.outage, limit)
	if t.events != nil {
		line += ", " + t.events.String()
	}
	return line
}

// seconds prints an outage.
func seconds(d, limit time.Duration) string {
	if d >= limit {
		return fmt.Sprintf("> %.0f s", limit.Seconds())
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
