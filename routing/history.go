package routing

import (
	"slices"
	"strings"
)

// Bounds of a history. Beyond them the oldest changes are forgotten.
const (
	maxHistory     = 1024   // changes
	maxHistoryKeys = 20_000 // keys and MEIDs in all of them
)

// History says what each of the latest changes touched, so that a program
// which holds an older version can be sent what it lacks. A key that was
// changed and changed back counts as touched: a program may have been sent
// what was in between without having said so. The zero value knows of no
// change and of no version; a History never changes.
type History struct {
	since   uint64 // it knows all changes after this index
	began   bool
	changes []change
	keys    int
}

type change struct {
	index uint64
	Changes
}

// NewHistory returns a history that begins at index.
func NewHistory(index uint64) History { return History{since: index, began: true} }

// Add returns the history after a change at an index above those before.
func (h History) Add(index uint64, c Changes) History {
	if !h.began || len(c.Routes)+len(c.MEIDs) > maxHistoryKeys {
		return NewHistory(index)
	}
	if c.Empty() {
		return h
	}
	h.changes = append(slices.Clip(h.changes), change{index, own(c)})
	h.keys += len(c.Routes) + len(c.MEIDs)
	for len(h.changes) > maxHistory || h.keys > maxHistoryKeys {
		h.since = h.changes[0].index
		h.keys -= len(h.changes[0].Routes) + len(h.changes[0].MEIDs)
		h.changes = h.changes[1:]
	}
	return h
}

// own copies MEIDs away from the text they were cut from.
func own(c Changes) Changes {
	meids := make([]string, len(c.MEIDs))
	for i, m := range c.MEIDs {
		meids[i] = strings.Clone(m)
	}
	c.MEIDs = meids
	return c
}

// Since returns what was touched after an index, sorted and each once. It
// returns false if the history does not go back that far: then only
// everything will do.
func (h History) Since(index uint64) (Changes, bool) {
	if !h.began || index < h.since {
		return Changes{}, false
	}
	var c Changes
	for i := len(h.changes) - 1; i >= 0 && h.changes[i].index > index; i-- {
		c.Routes = append(c.Routes, h.changes[i].Routes...)
		c.MEIDs = append(c.MEIDs, h.changes[i].MEIDs...)
	}
	slices.SortFunc(c.Routes, Key.Compare)
	slices.Sort(c.MEIDs)
	c.Routes, c.MEIDs = slices.Compact(c.Routes), slices.Compact(c.MEIDs)
	return c, true
}
