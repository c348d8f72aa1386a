package fsm

import (
	"fmt"
	"slices"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

// HistoryVersion is the cluster version from which changes are remembered.
const HistoryVersion = 3

// Bounds of the history. All nodes forget alike, so they belong to the
// cluster version and not to the program.
const (
	// MaxChanges is how many changes are remembered.
	MaxChanges = 10_000
	// maxHistory is how many bytes they may count for.
	maxHistory = 8 << 20
	// maxChange is how many bytes the details of one change may count for.
	maxChange = 512 << 10
)

// History is what became of the state, change by change: all that was made
// different in the graph, in routes and MEIDs, and among the members, and all
// else that somebody asked for. A History never changes; the zero value is
// empty. It is no part of the digest and of no backup.
type History struct {
	changes []*Change
	bytes   int
	floor   uint64
}

// Floor is the index from which on the history is whole: it has every change
// after it.
func (h History) Floor() uint64 { return h.floor }

// Len returns the number of changes.
func (h History) Len() int { return len(h.changes) }

// After returns the changes after an index, oldest first, and whether they
// are all there were. Leave the slice unchanged.
func (h History) After(index uint64) (changes []*Change, whole bool) {
	i, _ := slices.BinarySearchFunc(h.changes, index+1, func(c *Change, x uint64) int {
		switch {
		case c.Index < x:
			return -1
		case c.Index > x:
			return 1
		}
		return 0
	})
	return h.changes[i:], index >= h.floor
}

// Last returns the index of the last change of graph or routes, the floor
// where none is remembered.
func (h History) Last() uint64 {
	for i := len(h.changes) - 1; i >= 0; i-- {
		if h.changes[i].OfContent() {
			return h.changes[i].Index
		}
	}
	return h.floor
}

// with returns the history after one more change. It appends to memory that
// older histories share, which see nothing of it; so only the goroutine that
// applies the log may call it.
func (h History) with(c *Change) History {
	h.changes = append(h.changes, c)
	h.bytes += c.size()
	for len(h.changes) > MaxChanges || h.bytes > maxHistory {
		h.bytes -= h.changes[0].size()
		h.floor = h.changes[0].Index
		h.changes = h.changes[1:]
	}
	return h
}

// decodeHistory reads that many changes.
func decodeHistory(dec *codec.Decoder, count int, floor uint64) (History, error) {
	h := History{floor: floor}
	last := floor
	for range count {
		c := new(Change)
		if err := dec.Decode(c); err != nil {
			return History{}, err
		}
		if c.Index <= last {
			return History{}, fmt.Errorf("change %d comes after %d", c.Index, last)
		}
		last = c.Index
		h = h.with(c)
	}
	return h, nil
}
