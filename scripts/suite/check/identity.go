package check

import (
	"fmt"
	"strings"

	"floe/scripts/suite/history"
)

// Identity checks C6: no id is given twice, an id belongs to one name for
// ever, and a topic's proxy is the same text whenever and wherever it is asked
// for. Where members came and went its endpoints may differ, since they are
// those of the members; all before the first endpoint may not.
func Identity(ops []history.Op, churned bool) Verdict {
	c := identityChecker{churned: churned, Verdict: *newVerdict("C6 ids are never used again, proxies stay as they are"),
		names: map[uint64]string{}, creators: map[uint64]history.Op{}, proxies: map[string]history.Op{}}
	for _, o := range ops {
		if o.Outcome == history.OK && !o.Out.Refused {
			c.see(o)
		}
	}
	c.Checked = fmt.Sprintf("%d ids, %d proxies of %d topics", len(c.names), c.asked, len(c.proxies))
	return c.Verdict
}

type identityChecker struct {
	Verdict
	names    map[uint64]string
	creators map[uint64]history.Op
	proxies  map[string]history.Op
	asked    int
	churned  bool
}

func (c *identityChecker) see(o history.Op) {
	switch o.Func {
	case "create":
		c.created(o)
		c.named(o.Out.ID, o.Key, o)
	case "exists":
		c.named(o.Out.ID, o.Key, o)
	case "topics", "final":
		for _, name := range sorted(o.Out.Topics) {
			c.named(o.Out.Topics[name], name, o)
		}
	case "proxy":
		c.proxy(o)
	}
}

func (c *identityChecker) created(o history.Op) {
	if o.Out.ID == 0 {
		return // made through a client that is not told the id
	}
	if before, used := c.creators[o.Out.ID]; used {
		c.breach("id %d was given to %q by op %d and to %q by op %d", o.Out.ID, before.Key, before.ID, o.Key, o.ID)
	}
	c.creators[o.Out.ID] = o
}

func (c *identityChecker) named(id uint64, name string, o history.Op) {
	if id == 0 {
		return
	}
	if before, known := c.names[id]; known && before != name {
		c.breach("id %d is %q in op %d and was %q before", id, name, o.ID, before)
	}
	c.names[id] = name
}

func (c *identityChecker) proxy(o history.Op) {
	c.asked++
	before, known := c.proxies[o.Key]
	if !known {
		c.proxies[o.Key] = o
		return
	}
	if c.fixed(before.Out.Text) != c.fixed(o.Out.Text) {
		c.breach("proxy of %s was %q at %s and is %q at %s", o.Key, before.Out.Text, before.Node, o.Out.Text, o.Node)
	}
}

// fixed is the part of a proxy that must not change.
func (c *identityChecker) fixed(proxy string) string {
	if !c.churned {
		return proxy
	}
	object, _, _ := strings.Cut(proxy, ":")
	return object
}
