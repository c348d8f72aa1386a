package check

import (
	"fmt"

	"floe/scripts/suite/history"
)

// SetResult is what the set checker counted.
type SetResult struct {
	Verdict
	// Lost counts acknowledged changes that are gone.
	Lost int
	// Recovered counts changes of unknown outcome that took effect.
	Recovered int
}

// Set checks C1 on records that are made once and removed at most once: what
// was acknowledged is in every final read, what was acknowledged as removed is
// in none, and what failed never took effect. Without a final read the
// promise counts as broken.
func Set(ops []history.Op) SetResult {
	c := setChecker{SetResult: SetResult{Verdict: *newVerdict("C1 no acknowledged change is lost, no removed record comes back")}}
	c.topics, c.links = records(ops)
	c.lost = map[string]bool{}
	finals := 0
	for _, o := range ops {
		if o.Func == "final" && o.Outcome == history.OK {
			c.final(o)
			finals++
		}
	}
	if finals == 0 {
		c.breach("there was no final read to check")
	}
	c.Checked = fmt.Sprintf("%d topics and %d links in %d final reads", len(c.topics), len(c.links), finals)
	return c.SetResult
}

type setChecker struct {
	SetResult
	topics, links map[string]*record
	lost          map[string]bool
}

// Ended is a change that was asked for, and when its client knew.
type Ended struct {
	At      int64
	Outcome history.Type
}

// Outcomes lists the changes that were asked for and ended, but for those that
// were refused because of the state; those that never ended are counted.
func Outcomes(ops []history.Op) (ended []Ended, never int) {
	for _, o := range ops {
		switch {
		case !isChange(o) && !isMembership(o), o.Out.Refused:
		case o.Ended == history.Never:
			never++
		default:
			ended = append(ended, Ended{o.Ended, o.Outcome})
		}
	}
	return ended, never
}

// Changes counts the changes that were asked for, and those acknowledged.
func Changes(ops []history.Op) (asked, acknowledged int) {
	for _, o := range ops {
		if isChange(o) || isMembership(o) {
			asked++
			if effect(o) == certain {
				acknowledged++
			}
		}
	}
	return asked, acknowledged
}

// final compares one final read with what has to be there.
func (c *setChecker) final(o history.Op) {
	for _, name := range sorted(c.topics) {
		_, there := o.Out.Topics[name]
		c.judge(o.Node, "topic "+name, *c.topics[name], there)
	}
	for _, key := range sorted(c.links) {
		r := c.links[key].within(c.topics, key)
		cost, there := o.Out.Links[key]
		c.judge(o.Node, "link "+key, r, there)
		if there && r.must() && !r.again && cost != r.cost {
			c.breach("%s: link %s has cost %d, acknowledged was %d", o.Node, key, cost, r.cost)
		}
	}
	c.strangers(o)
}

func (c *setChecker) judge(node, what string, r record, there bool) {
	switch {
	case r.again:
	case there && r.made == never:
		c.breach("%s: %s is there, but its making failed", node, what)
	case there && r.gone():
		c.breach("%s: %s is back, though its removal was acknowledged", node, what)
	case !there && r.must():
		c.breach("%s: %s was acknowledged and is lost", node, what)
		if !c.lost[what] {
			c.lost[what] = true
			c.Lost++
		}
	case there && r.made == maybe:
		c.Recovered++
	}
}

// strangers are records that nobody asked for.
func (c *setChecker) strangers(o history.Op) {
	for _, name := range sorted(o.Out.Topics) {
		if c.topics[name] == nil {
			c.breach("%s: topic %s is there, and nobody created it", o.Node, name)
		}
	}
	for _, key := range sorted(o.Out.Links) {
		if c.links[key] == nil {
			c.breach("%s: link %s is there, and nobody made it", o.Node, key)
		}
	}
}
