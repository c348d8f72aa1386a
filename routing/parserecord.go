package routing

import (
	"slices"
	"strconv"
	"strings"
)

// inside returns the block that a record belongs to, nil if there is none
// or the record is too short. A short record counts: that it is short is
// said once.
func (p *parser) inside(verb Verb, fields int) *openBlock {
	b := p.open
	if b == nil {
		p.fail(p.fields[0], BadStructure, "%s outside of a table: programs ignore it", p.fields[0].text)
		return nil
	}
	if verb == Route || verb == Unroute {
		b.routes++
	} else {
		b.maps++
	}
	if n := len(p.fields); n < fields {
		p.fail(p.fields[n-1], ShortRecord, "%s needs %d fields, this one has %d", p.fields[0].text, fields, n)
		return nil
	}
	return b
}

func (p *parser) mse() {
	if b := p.inside(Route, 4); b != nil {
		p.extra(4)
		p.route(b, p.fields[2], p.fields[3])
	}
}

func (p *parser) rte() {
	b := p.inside(Route, 3)
	if b == nil {
		return
	}
	p.warn(p.fields[0], OldRecord, "rte is the older form: write mse|%s|...", p.fields[1].text)
	p.extra(4)
	subID := field{"-1", p.fields[2].column}
	if len(p.fields) > 3 {
		subID = p.fields[3]
	}
	p.route(b, subID, p.fields[2])
}

func (p *parser) route(b *openBlock, subID, groups field) {
	r := Record{Verb: Route}
	if !p.key(&r, subID) || !p.groups(&r, groups) {
		return
	}
	p.types(r.Key)
	p.duplicates(b, &r)
	b.Records = append(b.Records, r)
}

func (p *parser) del() {
	b := p.inside(Unroute, 3)
	if b == nil {
		return
	}
	p.extra(3)
	r := Record{Verb: Unroute}
	if !p.key(&r, p.fields[2]) {
		return
	}
	delete(b.seen, r.Key)
	b.Records = append(b.Records, r)
}

// key reads the type field with its senders, and the sub id.
func (p *parser) key(r *Record, subID field) bool {
	p.parts = p.fields[1].split(p.parts[:0], ',', 1<<30)
	if len(p.parts) == 0 {
		p.fail(p.fields[1], BadNumber, "no message type")
		return false
	}
	var ok bool
	if r.Key.MType, ok = p.number(p.tidy(p.parts[0]), "message type"); !ok {
		return false
	}
	if r.Key.SubID, ok = p.number(subID, "subscription id"); !ok {
		return false
	}
	return p.senders(r, p.parts[1:])
}

func (p *parser) senders(r *Record, parts []field) bool {
	if len(parts) > MaxSenders {
		p.fail(parts[MaxSenders], TooMany, "%d senders: a program reads %d", len(parts), MaxSenders)
		return false
	}
	for _, s := range parts {
		s = p.tidy(s)
		if err := CheckSender(s.text); err != nil {
			p.fail(s, BadSender, "%v", err)
			return false
		}
		if CheckOwner(s.text) != nil {
			p.warn(s, BadSender, "sender %s matches no program: it takes host:port", quote(s.text))
		}
		r.Senders = append(r.Senders, s.text)
	}
	return true
}

func (p *parser) number(f field, what string) (int32, bool) {
	n, err := strconv.ParseInt(f.text, 10, 32)
	if err != nil {
		p.fail(f, BadNumber, "%s %s is no whole 32-bit number", what, quote(f.text))
	}
	return int32(n), err == nil
}

// tidy takes off blanks that programs would keep.
func (p *parser) tidy(f field) field {
	t := f.trim()
	if t.text != f.text {
		p.warn(f, StrayBlank, "blank around %s: programs keep it", quote(t.text))
	}
	return t
}

func (p *parser) groups(r *Record, f field) bool {
	if f.text == marker {
		r.ByMEID = true
		return true
	}
	p.parts = f.split(p.parts[:0], ';', 1<<30)
	switch {
	case len(p.parts) == 0:
		p.fail(f, ShortRecord, "%v", errNoEndpoint)
		return false
	case len(p.parts) > MaxGroups:
		p.fail(p.parts[MaxGroups], TooMany, "%v", tooManyGroups(len(p.parts)))
		return false
	case p.parts[0].trim().text == marker:
		p.fail(f, BadEndpoint, "%v", errMarkerNotAlone)
		return false
	}
	r.Groups = make([][]string, 0, len(p.parts))
	for _, g := range p.parts {
		if !p.group(r, g) {
			return false
		}
	}
	if err := CheckTopics(r.Groups); err != nil {
		p.fail(f, BadEndpoint, "%v", err)
		return false
	}
	return true
}

func (p *parser) group(r *Record, g field) bool {
	p.items = g.split(p.items[:0], ',', 1<<30)
	switch {
	case len(p.items) == 0:
		p.fail(g, EmptyMember, "empty group")
		return false
	case len(p.items) > MaxMembers:
		p.fail(p.items[MaxMembers], TooMany, "%v", tooManyMembers(len(p.items)))
		return false
	}
	group := make([]string, 0, len(p.items))
	for _, m := range p.items {
		if m.trim().text == "" {
			p.fail(m, EmptyMember, "%v", errEmptyMember)
			return false
		}
		m = p.tidy(m)
		if err := CheckEndpoint(m.text); err != nil {
			p.fail(m, BadEndpoint, "%v", err)
			return false
		}
		group = append(group, m.text)
	}
	p.known(g, group)
	r.Groups = append(r.Groups, group)
	return true
}

// known warns of what those who run the table can know about a group.
func (p *parser) known(at field, group []string) {
	names := map[string]string{}
	for _, m := range group {
		if topic, is := Topic(m); is {
			if p.options.Topic != nil && !p.options.Topic(topic) {
				p.warn(at, UnknownTopic, "there is no topic %s: what is meant for it is dropped", quote(topic))
			}
			continue
		}
		if p.options.Program == nil || len(group) == 1 {
			continue
		}
		name := p.options.Program(m)
		if other, twice := names[name]; twice && name != "" && other != m {
			p.warn(at, SameProgram, "%s and %s are one program, %s: it gets two turns", other, m, name)
		}
		names[name] = m
	}
}

// types warns of keys that do harm.
func (p *parser) types(k Key) {
	at := p.fields[1]
	if k == (Key{}) {
		p.warn(at, KeyZero, "type 0 with sub id 0: in programs it shares its place with MEIDs, which can lose their owner by it")
	}
	switch {
	case !k.reserved():
	case p.options.RefuseReserved:
		p.fail(at, ReservedType, "message type %d is reserved for RMR itself (0 to 99)", k.MType)
	default:
		p.warn(at, ReservedType, "message type %d is reserved for RMR itself (0 to 99)", k.MType)
	}
}

// duplicates warns of entries that this one replaces.
func (p *parser) duplicates(b *openBlock, r *Record) {
	kept := b.seen[r.Key][:0]
	for _, s := range b.seen[r.Key] {
		switch {
		case sameSenders(s.senders, r.Senders):
			p.warn(p.fields[0], Duplicate, "replaces the entry of line %d, which has the same type and sub id (%v)", s.line, r.Key)
			continue
		case len(r.Senders) == 0:
			p.warn(p.fields[0], Shadowed, "is for every sender: the entry of line %d for some (%v) is never used", s.line, r.Key)
			continue
		}
		kept = append(kept, s)
	}
	if len(kept) < MaxPerKey {
		kept = append(kept, seenEntry{slices.Clone(r.Senders), p.line})
	}
	b.seen[r.Key] = kept
}

func (p *parser) assign() {
	b := p.inside(Assign, 3)
	if b == nil {
		return
	}
	p.extra(3)
	owner := p.fields[1]
	if err := CheckOwner(owner.text); err != nil {
		p.fail(owner, BadEndpoint, "%v", err)
		return
	}
	r := Record{Verb: Assign, Owner: owner.text}
	p.meids(b, &r, p.fields[2])
}

func (p *parser) release() {
	if b := p.inside(Release, 2); b != nil {
		p.extra(2)
		p.meids(b, &Record{Verb: Release}, p.fields[1])
	}
}

// meids reads a list of MEIDs and adds the record.
func (p *parser) meids(b *openBlock, r *Record, f field) {
	if f.text == "" {
		p.fail(f, BadMEID, "%v", errEmptyMEID)
		return
	}
	r.MEIDs = make([]string, 0, strings.Count(f.text, " ")+1)
	b.named.begin(r.Owner, p.line)
	stray := false
	for at, meid := range words(f, &stray) {
		if err := CheckMEID(meid); err != nil {
			p.fail(at, BadMEID, "%v", err)
			return
		}
		r.MEIDs = append(r.MEIDs, meid)
		if before := b.named.again(r.MEIDs); before != nil {
			p.reassigned(at, meid, r.Owner, before)
		}
	}
	if stray {
		p.warn(f, StrayBlank, "more than one blank, or a tab, between MEIDs: programs lose MEIDs by it")
	}
	if n := len(r.MEIDs); n >= readMEIDs {
		p.warn(f, ManyMEIDs, "%d MEIDs in one record: a program reads %d and loses the rest", n, readMEIDs-1)
	}
	b.Records = append(b.Records, *r)
}

// words yields the words of a field. It sets stray if they are not set apart
// by one blank each.
func words(f field, stray *bool) func(func(field, string) bool) {
	return func(yield func(field, string) bool) {
		for f.text != "" {
			n := 0
			for n < len(f.text) && !isBlank(f.text[n]) {
				n++
			}
			if !yield(field{f.text[:n], f.column}, f.text[:n]) {
				return
			}
			rest := field{f.text[n:], f.column + n}.trim()
			if rest.text != "" && (rest.column != f.column+n+1 || f.text[n] != ' ') {
				*stray = true
			}
			f = rest
		}
	}
}

// reassigned warns of an MEID that a record of the block named before.
func (p *parser) reassigned(at field, meid, owner string, before *namedList) {
	switch {
	case before.owner == owner:
		p.warn(at, Duplicate, "MEID %s is in line %d as well", quote(meid), before.line)
	case owner == "":
		p.warn(at, Duplicate, "MEID %s is deleted here, line %d gives it to %s", quote(meid), before.line, before.owner)
	case before.owner == "":
		p.warn(at, Duplicate, "MEID %s goes to %s here, line %d deletes it", quote(meid), owner, before.line)
	default:
		p.warn(at, Duplicate, "MEID %s goes to %s, no longer to %s as in line %d", quote(meid), owner, before.owner, before.line)
	}
}
