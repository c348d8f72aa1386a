package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"floe/scripts/suite/history"
)

// knowledge is what a client may rely on about one change of a record.
type knowledge int

const (
	never   knowledge = iota // not asked for, or certainly without effect
	maybe                    // asked for, outcome unknown
	certain                  // acknowledged
)

// record is what the history says about a topic or link that is made once and
// removed at most once: the set workload.
type record struct {
	made, removed knowledge
	// asked is true where the record was ever asked for.
	asked bool
	// again is true where it was made or changed more than once: then only
	// the register checker judges it.
	again bool
	// cost is that of a link.
	cost int32
}

// records gathers topics and links by key.
func records(ops []history.Op) (topics, links map[string]*record) {
	topics, links = map[string]*record{}, map[string]*record{}
	for _, o := range ops {
		switch o.Func {
		case "create":
			at(topics, o.Key).make(o)
		case "destroy":
			at(topics, o.Key).remove(o)
		case "link":
			at(links, o.Key).make(o)
		case "relink":
			at(links, o.Key).again = true
		case "unlink":
			at(links, o.Key).remove(o)
		}
	}
	return topics, links
}

func at(all map[string]*record, key string) *record {
	r := all[key]
	if r == nil {
		r = &record{}
		all[key] = r
	}
	return r
}

func (r *record) make(o history.Op) {
	r.again = r.again || r.asked
	r.asked, r.cost = true, o.In.Cost
	r.made = max(r.made, effect(o))
}

func (r *record) remove(o history.Op) {
	r.again = r.again || r.removed == certain
	r.removed = max(r.removed, effect(o))
}

// effect is what an operation's outcome says about its effect.
func effect(o history.Op) knowledge {
	switch {
	case o.Outcome == history.Fail, o.Out.Refused:
		return never
	case o.Outcome == history.OK:
		return certain
	}
	return maybe
}

// must says whether the record has to be there at the end.
func (r *record) must() bool { return r.made == certain && r.removed == never }

// gone says whether it may not be: an acknowledged removal found the record,
// so its only making, of whatever outcome, was over by then.
func (r *record) gone() bool { return r.removed == certain }

// within returns a record of a link that also knows what its topics' ends mean
// for it: destroying a topic removes its links.
func (r record) within(topics map[string]*record, key string) record {
	from, to := Ends(key)
	for _, name := range []string{from, to} {
		if t := topics[name]; t != nil {
			r.again = r.again || t.again
			r.removed = max(r.removed, t.removed)
		}
	}
	return r
}

// Ends splits a link's key, FROM>TO.
func Ends(key string) (from, to string) {
	from, to, _ = strings.Cut(key, ">")
	return from, to
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
