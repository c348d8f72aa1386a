package routing

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// Health says whether a member of a group may get a message.
type Health uint8

const (
	// Alive members take turns.
	Alive Health = iota
	// Dead members get a message only if no member is alive.
	Dead
	// Barred members never get it, as the sender's own endpoint.
	Barred
)

// Chooser picks members of groups in turn. It keeps one counter per group
// per entry, outside the tables, so that an entry which a change did not
// touch keeps its turn. The zero value is ready; it may be used from many
// goroutines at once.
type Chooser struct {
	turns sync.Map // *Entry to *turns
}

// turns is the number of messages that went to each group of an entry.
type turns []atomic.Uint64

// Pick returns the member of a group of e whose turn it is. health, if not
// nil, is asked about each member; with all members alive the order is that
// of the library: from the first on, one after the other. It returns
// false if every member is barred. It does not allocate, except for the
// first message of an entry.
func (c *Chooser) Pick(e *Entry, group int, health func(endpoint string) Health) (string, bool) {
	members := e.Groups[group]
	alive, dead := survey(members, health)
	if alive == 0 {
		alive = dead
	}
	switch n := bits.OnesCount64(alive); n {
	case 0:
		return "", false
	case 1:
		return members[bits.TrailingZeros64(alive)], true
	default:
		turn := c.next(e, group) % uint64(n)
		return members[nth(alive, int(turn))], true
	}
}

// survey returns the members that are alive and those that are dead. No
// group has more than 64 members.
func survey(members []string, health func(string) Health) (alive, dead uint64) {
	if health == nil {
		return 1<<len(members) - 1, 0
	}
	for i, m := range members {
		switch health(m) {
		case Alive:
			alive |= 1 << i
		case Dead:
			dead |= 1 << i
		}
	}
	return alive, dead
}

// nth returns the position of the n-th bit that is set, from 0.
func nth(set uint64, n int) int {
	for range n {
		set &= set - 1
	}
	return bits.TrailingZeros64(set)
}

func (c *Chooser) next(e *Entry, group int) uint64 {
	v, ok := c.turns.Load(e)
	if !ok {
		t := make(turns, len(e.Groups))
		v, _ = c.turns.LoadOrStore(e, &t)
	}
	return (*v.(*turns))[group].Add(1) - 1
}

// Prune forgets the turns of entries that t does not hold. Call it when a
// new table is published; it costs what there are entries with turns.
func (c *Chooser) Prune(t *Table) {
	c.turns.Range(func(k, _ any) bool {
		if e := k.(*Entry); !t.holds(e) {
			c.turns.Delete(e)
		}
		return true
	})
}

func (t *Table) holds(e *Entry) bool {
	for _, held := range t.Entries(e.Key) {
		if held == e {
			return true
		}
	}
	return false
}
