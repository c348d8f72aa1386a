package relay

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"floe/transport/rmr/proto"
)

// Access says from which addresses messages of which types may come. What no
// rule is for may come from everywhere; so it is with the zero value. It never
// changes.
type Access struct {
	text  string
	rules []rule  // by type; no two are for the same one
	rest  *places // where all other types may come from; nil: from everywhere
}

// rule is for types, both ends included.
type rule struct {
	types span
	from  *places
}

// places are those that a rule lets in.
type places struct {
	everywhere bool
	ranges     []netip.Prefix
}

// ParseAccess reads rules, each TYPES=WHO[,WHO], with semicolons between.
// TYPES are message types and ranges of them such as 12010-12099, with commas
// between, or * for all that no rule names. WHO is any, none, an address or
// a range of them such as 10.0.0.0/8. No type may be in two rules.
func ParseAccess(text string) (Access, error) {
	if strings.TrimSpace(text) == "" {
		return Access{}, nil
	}
	a := Access{text: text}
	for one := range strings.SplitSeq(text, ";") {
		if err := a.parseRule(one); err != nil {
			return Access{}, fmt.Errorf("rule %q: %w", strings.TrimSpace(one), err)
		}
	}
	slices.SortFunc(a.rules, func(a, b rule) int { return cmp.Compare(a.types.first, b.types.first) })
	for i := 1; i < len(a.rules); i++ {
		before, this := a.rules[i-1].types, a.rules[i].types
		if this.first <= before.last {
			return Access{}, fmt.Errorf("%s is named twice, in %s and in %s", span{this.first, min(before.last, this.last)}, before, this)
		}
	}
	return a, nil
}

func (a *Access) parseRule(text string) error {
	types, who, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("TYPES=WHO is meant")
	}
	from, err := parsePlaces(who)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(types, ",") {
		part = strings.TrimSpace(part)
		if part == "*" {
			if a.rest != nil {
				return fmt.Errorf("* is named twice")
			}
			a.rest = from
			continue
		}
		s, err := parseSpan(part)
		if err != nil {
			return err
		}
		a.rules = append(a.rules, rule{s, from})
	}
	return nil
}

func parsePlaces(text string) (*places, error) {
	var p places
	for who := range strings.SplitSeq(text, ",") {
		switch who = strings.TrimSpace(who); who {
		case "any":
			p.everywhere = true
		case "none":
		default:
			r, err := parseRange(who)
			if err != nil {
				return nil, fmt.Errorf("%q is none of any, none, an address and a range such as 10.0.0.0/8", who)
			}
			p.ranges = append(p.ranges, r)
		}
	}
	return &p, nil
}

// parseRange reads a range of addresses, or one. One that no connection's
// address is ever in, as those have no zones and IPv4 is IPv4, is an error.
func parseRange(text string) (netip.Prefix, error) {
	r, err := netip.ParsePrefix(text)
	if err != nil {
		ip, notOne := netip.ParseAddr(text)
		if notOne != nil || ip.Zone() != "" {
			return r, err
		}
		r = netip.PrefixFrom(ip, ip.BitLen())
	}
	if r.Addr().Is4In6() {
		return r, fmt.Errorf("%q is never an address of a connection", text)
	}
	return r.Masked(), nil
}

// String is the rules as they were written.
func (a Access) String() string { return a.text }

func (p *places) let(from netip.Addr) bool {
	return p.everywhere || slices.ContainsFunc(p.ranges, func(r netip.Prefix) bool { return r.Contains(from) })
}

// keptOut are the types that may not come from an address; none where there
// are no rules. It is made once for a connection, so that a message costs one
// search, and nothing where all may come.
func (a *Access) keptOut(from netip.Addr) (out spans) {
	rest := a.rest != nil && !a.rest.let(from)
	next := int64(math.MinInt32)
	for _, r := range a.rules {
		out.add(rest, next, int64(r.types.first)-1)
		out.add(!r.from.let(from), int64(r.types.first), int64(r.types.last))
		next = int64(r.types.last) + 1
	}
	out.add(rest, next, math.MaxInt32)
	return out
}

// span is a range of message types, both ends included.
type span struct{ first, last int32 }

func parseSpan(text string) (span, error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	first, err := strconv.ParseUint(strings.TrimSpace(from), 10, 31)
	last, err2 := strconv.ParseUint(strings.TrimSpace(to), 10, 31)
	switch {
	case err != nil || err2 != nil:
		return span{}, fmt.Errorf("%q is none of a message type, a range such as 12010-12099 and *", text)
	case last < first:
		return span{}, fmt.Errorf("%q ends before it begins", text)
	}
	return span{int32(first), int32(last)}, nil
}

// String is the range as rules have it.
func (s span) String() string {
	if s.first == s.last {
		return strconv.Itoa(int(s.first))
	}
	return fmt.Sprintf("%d-%d", s.first, s.last)
}

// spans are ranges in order; none touches another.
type spans []span

// add appends types if they are meant; they follow all that there are, and may
// be none.
func (s *spans) add(meant bool, first, last int64) {
	switch n := len(*s); {
	case !meant || first > last:
	case n > 0 && int64((*s)[n-1].last)+1 == first:
		(*s)[n-1].last = int32(last)
	default:
		*s = append(*s, span{int32(first), int32(last)})
	}
}

// has tells whether a type is among them. It is asked for every message.
func (s spans) has(mtype int32) bool {
	from, to := 0, len(s)
	for from < to {
		if middle := (from + to) / 2; s[middle].last < mtype {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from < len(s) && s[from].first <= mtype
}

// refuse counts a message that may not come from its sender's address, and
// says so.
func (c *inlet) refuse(m *proto.Message) {
	c.relay.dropped[NotAllowed].Add(1)
	c.listener.log.warnOf(c.addr, "message refused by --rmr-allow", "type", m.Type, "peer", c.in.nc.RemoteAddr(), "source", string(m.Src))
}
