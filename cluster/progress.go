package cluster

import (
	"fmt"
	"sync"
	"time"
)

// progress is what a follower hears of the leader's commit index. The leader
// says it with entries, and every CommitTimeout without; heartbeats, which
// go on while entries do not arrive or are refused, say nothing of it. Safe for concurrent
// use.
type progress struct {
	// patience is for how long a follower may hear nothing, or lack what was
	// committed, and still count as caught up.
	patience time.Duration

	mu        sync.Mutex
	heard     time.Time
	old, last commitAt // old is from before last, and was the last one for half the patience at least
}

// commitAt is a commit index and when it was heard of.
type commitAt struct {
	at    time.Time
	index uint64
}

func newProgress(t Timing) *progress {
	return &progress{patience: max(2*t.Election, time.Second), heard: time.Now()}
}

// hear takes in a message of the leader. What is committed when it is the
// first one after a long silence may have been committed for as long.
func (p *progress) hear(now time.Time, commit uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	index := commitAt{now, max(commit, p.last.index)}
	switch {
	case now.Sub(p.heard) >= p.patience:
		p.old, p.last = index, index
	case now.Sub(p.last.at) >= p.patience/2:
		p.old, p.last = p.last, index
	}
	p.heard = now
}

// lag says in words what a node lacks that has applied everything up to an
// index, nil where that is no more than a moment's work.
func (p *progress) lag(now time.Time, applied uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if silence := now.Sub(p.heard); silence >= p.patience {
		return fmt.Errorf("it took none of its changes for %v", silence.Round(100*time.Millisecond))
	}
	if applied < p.old.index {
		return fmt.Errorf("it is %d entries behind", p.last.index-applied)
	}
	return nil
}
