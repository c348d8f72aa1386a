package check

import (
	"cmp"
	"fmt"
	"slices"

	"floe/scripts/suite/history"
)

// Tables checks the part of C7 that is about reads: no read, of the cluster or
// of a node's own copy, and no application sees part of one table and part of
// another, each version has one table, and versions come in the order of real
// time.
func Tables(ops []history.Op) Verdict {
	c := tableChecker{Verdict: *newVerdict("C7 a route table is one change: nobody reads half of one")}
	for _, o := range ops {
		if o.Outcome == history.OK && !o.Out.Refused {
			c.see(o)
		}
	}
	c.order()
	c.match()
	c.Checked = fmt.Sprintf("%d reads of %d acknowledged tables", c.reads, len(c.writes))
	if len(c.writes) > 0 && c.reads == 0 {
		c.breach("no table was ever read")
	}
	return c.Verdict
}

type tableChecker struct {
	Verdict
	reads  int
	writes []history.Op // acknowledged
	seen   []history.Op // linearizable reads, and stale ones with a version
}

func (c *tableChecker) see(o history.Op) {
	switch o.Func {
	case "load", "swap":
		c.writes = append(c.writes, o)
		return
	case "routes":
		c.seen = append(c.seen, o)
	case "stale":
		if o.Key != "routes" {
			return
		}
		c.seen = append(c.seen, o)
	case "app":
	default:
		return
	}
	c.reads++
	if o.Out.Mixed != "" {
		c.breach("%s at %s, op %d: %s", o.Func, o.Node, o.ID, o.Out.Mixed)
	}
}

func tableOf(o history.Op) uint64 {
	if isRead(o.Func) || o.Func == "stale" {
		return o.Out.Table
	}
	return o.In.Table
}

// order checks that who comes later sees no older version. Reads of own copies
// are left out, since they may be old.
func (c *tableChecker) order() {
	all := slices.Clone(c.writes)
	for _, o := range c.seen {
		if o.Func == "routes" {
			all = append(all, o)
		}
	}
	byEnd := slices.Clone(all)
	slices.SortFunc(byEnd, func(a, b history.Op) int { return cmp.Compare(a.End, b.End) })
	slices.SortFunc(all, func(a, b history.Op) int { return cmp.Compare(a.Start, b.Start) })
	var newest history.Op
	newest.Out = &history.Value{}
	next := 0
	for _, o := range all {
		for ; next < len(byEnd) && byEnd[next].End < o.Start; next++ {
			if byEnd[next].Out.Version > newest.Out.Version {
				newest = byEnd[next]
			}
		}
		behind := o.Out.Version < newest.Out.Version || o.Func != "routes" && o.Out.Version == newest.Out.Version
		if newest.ID != 0 && behind {
			c.breach("%s at %s, op %d, is at version %d; op %d was at version %d before it began", o.Func, o.Node, o.ID, o.Out.Version, newest.ID, newest.Out.Version)
		}
	}
}

// match checks that each read has the table of the latest acknowledged write up
// to its version, unless it has one of unknown outcome.
func (c *tableChecker) match() {
	at := map[uint64]uint64{}
	known := map[uint64]uint64{} // table to version
	var versions []uint64
	for _, o := range c.writes {
		if other, twice := at[o.Out.Version]; twice {
			c.breach("version %d was given to tables %d and %d", o.Out.Version, other, tableOf(o))
		}
		at[o.Out.Version], known[tableOf(o)] = tableOf(o), o.Out.Version
		versions = append(versions, o.Out.Version)
	}
	slices.Sort(versions)
	for _, o := range c.seen {
		written, acknowledged := known[o.Out.Table]
		if !acknowledged {
			continue // of unknown outcome, or before the first: the replay judges it
		}
		i, exact := slices.BinarySearch(versions, o.Out.Version)
		if !exact {
			i--
		}
		if i < 0 || versions[i] != written {
			c.breach("%s at %s, op %d: table %d at version %d, which was made at version %d and is not the latest then", o.Func, o.Node, o.ID, o.Out.Table, o.Out.Version, written)
		}
	}
}
