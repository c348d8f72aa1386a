package cluster

import (
	"maps"
	"slices"
	"time"
)

// behindAfter is after how long a change that a node lacks is a problem.
const behindAfter = 30 * time.Second

// laggards finds nodes that can't catch up: those that lack what another had
// behindAfter ago. How many entries that is does not matter.
type laggards struct {
	looks []look // oldest first; the first is at least behindAfter old, once there is one
}

// look is how far the foremost node was.
type look struct {
	at    time.Time
	index uint64
}

// see takes in how far all nodes are that answer, and returns those that are
// behind, by id. lag tells whether any of them lacks anything now.
func (l *laggards) see(now time.Time, applied map[string]uint64) (behind []string, lag bool) {
	foremost := uint64(0)
	for _, index := range applied {
		foremost = max(foremost, index)
	}
	l.looks = append(l.looks, look{now, foremost})
	for len(l.looks) > 1 && now.Sub(l.looks[1].at) >= behindAfter {
		l.looks = l.looks[1:]
	}
	old := l.looks[0]
	for _, id := range slices.Sorted(maps.Keys(applied)) {
		lag = lag || applied[id] < foremost
		if now.Sub(old.at) >= behindAfter && applied[id] < old.index {
			behind = append(behind, id)
		}
	}
	return behind, lag
}
