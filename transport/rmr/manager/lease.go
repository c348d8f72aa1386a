package manager

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Methods that nodes call at each other.
const (
	renewMethod  = "rtg.renew"  // at the leader: I live; answered with an index
	resignMethod = "rtg.resign" // at the leader: I push nothing any more
	againMethod  = "rtg.again"  // at the node that serves an app: push it everything
	appsMethod   = "rtg.apps"   // what apps were sent
)

// lease is until when this node may push unasked.
type lease struct {
	mu      sync.Mutex
	until   time.Time
	from    uint64 // index that this node's copy had when it began
	reached uint64 // and when it was renewed last
	refused bool   // this node wants none
}

func (l *lease) valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.until)
}

// left returns how long the lease lasts; it is over if that is not positive.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until)
}

// covers tells whether there is a lease, and neither the copy nor what was made of it is
// older than the lease knew them: a member that was removed and is back replays its past.
func (l *lease) covers(index, followed uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.until) && index >= l.reached && followed >= l.from
}

// drop ends the lease; the next one begins anew.
func (l *lease) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Time{}
}

// began returns the index at which the lease began.
func (l *lease) began() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.from
}

// extend returns whether there was no lease and now there is one. index is the
// leader's, which this node's copy has reached.
func (l *lease) extend(until time.Time, index uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	had := time.Now().Before(l.until)
	if !had || index < l.from {
		l.from = index
	}
	l.reached = index
	if until.After(l.until) && !l.refused {
		l.until = until
	}
	return !had && time.Now().Before(l.until)
}

// refuse ends the lease and takes no further one, until that is taken back.
func (l *lease) refuse(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused = yes; yes {
		l.until = time.Time{}
	}
}

func (l *lease) wanted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.refused
}

var errNoLeader = errors.New("no leader is known")

// keepLease renews the lease until ctx ends.
func (m *Manager) keepLease(ctx context.Context) {
	for ctx.Err() == nil {
		asked := time.Now()
		changed := m.cfg.Group.LeaderChanged()
		rest := m.cfg.Lease / 4
		if !m.lease.wanted() {
			rest = m.cfg.Lease / 6
		} else if err := m.renew(ctx, asked); err != nil {
			m.log.Debug("lease not renewed", "error", err)
			rest = m.cfg.Lease / 6
		} else {
			changed = nil
		}
		waitFor(ctx, changed, time.Until(asked.Add(rest)))
	}
}

// renew asks the leader. The lease runs from before the question; it counts
// once this node's own copy is as far as the leader was, so that no app is
// pushed to that was given to another node before.
func (m *Manager) renew(ctx context.Context, asked time.Time) error {
	leader := m.cfg.Group.LeaderID()
	if leader == "" {
		return errNoLeader
	}
	ctx, cancel := context.WithDeadline(ctx, asked.Add(m.cfg.Lease/2))
	defer cancel()
	reply, err := m.cfg.Group.Call(ctx, leader, renewMethod, nil)
	if err != nil {
		return err
	}
	if len(reply) != 8 {
		return fmt.Errorf("lease of %d bytes", len(reply))
	}
	index := binary.BigEndian.Uint64(reply)
	if err := m.reach(ctx, index); err != nil {
		return err
	}
	if m.lease.extend(asked.Add(m.cfg.Lease), index) {
		m.wakeAll()
	}
	return nil
}

// reach waits until this node's copy has an index.
func (m *Manager) reach(ctx context.Context, index uint64) error {
	for {
		changed := m.cfg.Group.Changed()
		if m.cfg.Group.View().Index >= index {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waitFor waits until the channel is closed, for a time, or until ctx ends.
func waitFor(ctx context.Context, ch <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ch:
	case <-t.C:
	case <-ctx.Done():
	}
}
