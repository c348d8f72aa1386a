package routing

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Options are what the strict parser lets pass.
type Options struct {
	RefuseReserved bool // message types 0 to 99 are errors, not warnings
	// Program returns the name of the program that is reached at an
	// endpoint, "" where that is unknown; nil knows none. A group that names
	// one program twice is warned of.
	Program func(endpoint string) string
	// Topic tells whether there is a topic of that name; nil: all there are.
	Topic func(name string) bool
}

// Parsed is what the strict parser found.
type Parsed struct {
	Update   Update    // what the text asks for; of no use if there are errors
	Findings []Finding // in the order of the text
}

// Err returns a [SyntaxError] if the text has an error in it, else nil.
func (p *Parsed) Err() error {
	for _, f := range p.Findings {
		if f.Severity == Error {
			return &SyntaxError{p.Findings}
		}
	}
	return nil
}

// Parse reads a text as what a person wants programs to hold, and finds
// what they would drop, misread or die of. CR, LF and CRLF end lines. The
// update shares the memory of the text.
func Parse(text string, o Options) *Parsed {
	p := &parser{options: o, out: &Parsed{}}
	p.whole(text)
	for l := range lines(text, true) {
		p.line = l.number
		p.record(l.field)
	}
	p.last()
	slices.SortStableFunc(p.findings.list, func(a, b Finding) int { return a.Line - b.Line })
	p.out.Findings = p.findings.list
	return p.out
}

type parser struct {
	options  Options
	out      *Parsed
	findings findings
	line     int
	fields   []field // of the present record, clipped
	parts    []field
	items    []field
	open     *openBlock
	full     int // line of the last full table, 0 for none
}

// openBlock is a block that was begun.
type openBlock struct {
	Block
	line   int
	at     field
	routes int // rte, mse and del
	maps   int // mme_ar and mme_del
	seen   map[Key][]seenEntry
	named  named
}

type seenEntry struct {
	senders []string
	line    int
}

func (p *parser) fail(at field, code Code, format string, args ...any) {
	p.findings.add(Error, p.line, at, code, fmt.Sprintf(format, args...))
}

func (p *parser) warn(at field, code Code, format string, args ...any) {
	p.findings.add(Warning, p.line, at, code, fmt.Sprintf(format, args...))
}

// whole looks at what no single record shows.
func (p *parser) whole(text string) {
	if i := strings.IndexByte(text, 0); i >= 0 {
		p.line = 1 + strings.Count(text[:i], "\n")
		column := i - strings.LastIndexByte(text[:i], '\n')
		p.fail(field{column: column}, BadText, "NUL byte: a program stops reading here")
	}
}

// last looks at what is left at the end of the text.
func (p *parser) last() {
	if b := p.open; b != nil {
		p.line = b.line
		p.fail(b.at, BadStructure, "unfinished: the %v of this line has no end", b.Kind)
	}
	if len(p.out.Update.Blocks) == 0 && p.findings.count[Error] == 0 {
		p.line = 1
		p.fail(field{column: 1}, BadText, "no table and no map in the text")
	}
}

// record reads one line.
func (p *parser) record(l field) {
	p.fields = l.split(p.fields[:0], '|', maxFields)
	if len(p.fields) == 0 || l.text[0] == '#' {
		return
	}
	if !utf8.ValidString(l.text) {
		p.fail(l, BadText, "not UTF-8 text")
		return
	}
	if !p.clip() {
		return
	}
	word := p.fields[0]
	if len(p.fields) == 1 {
		p.fail(word, BareWord, "%s stands alone: a record is a word and fields, with | between them", quote(word.text))
		return
	}
	p.dispatch(word)
}

// clip takes comments off the fields. It returns false if the record can't
// be read any further.
func (p *parser) clip() bool {
	for i, f := range p.fields {
		clipped, h := f.clip()
		p.fields[i] = clipped
		switch {
		case h == glued:
			at := strings.IndexByte(clipped.text, '#')
			p.fail(field{column: clipped.column + at}, GluedComment,
				"# glued to the text: a comment needs a blank before it, programs keep this one")
			return false
		case h == comment && i < len(p.fields)-1:
			p.fail(p.fields[i+1], CommentBar, "| inside a comment: programs read on behind it")
			return false
		}
	}
	return true
}

func (p *parser) dispatch(word field) {
	switch word.text {
	case "newrt":
		p.boundary(FullTable)
	case "updatert":
		p.boundary(TableDelta)
	case "meid_map":
		p.boundary(MapUpdate)
	case "mse":
		p.mse()
	case "rte":
		p.rte()
	case "del":
		p.del()
	case "mme_ar":
		p.assign()
	case "mme_del":
		p.release()
	default:
		p.unknown(word)
	}
}

// unknown is a word that programs ignore, or take for another one.
func (p *parser) unknown(word field) {
	if word.text != "" {
		if taken, ok := map[byte]string{'n': "newrt", 'u': "updatert", 'r': "rte", 'd': "del"}[word.text[0]]; ok {
			p.fail(word, MisreadWord, "unknown word %s: programs go by the first letter and read it as %s", quote(word.text), taken)
			return
		}
	}
	p.warn(word, UnknownWord, "unknown word %s: programs ignore the record", quote(word.text))
}

// boundary reads a start or end record.
func (p *parser) boundary(k Kind) {
	second := p.fields[1]
	switch {
	case second.text == "end":
		p.end(k)
	case second.text == "start", second.text == "begin" && k != MapUpdate:
		p.start(k)
	case second.text == "begin":
		p.fail(second, BadStructure, `programs ignore a meid_map that begins with "begin": write start`)
		p.start(k) // what follows is not at fault
	default:
		p.fail(second, BadStructure, "%s is neither start nor end", quote(second.text))
	}
}

func (p *parser) start(k Kind) {
	if b := p.open; b != nil {
		p.fail(p.fields[0], BadStructure, "the %v of line %d has no end: programs drop it", b.Kind, b.line)
	}
	p.open = &openBlock{Block: Block{Kind: k}, line: p.line, at: p.fields[0], seen: map[Key][]seenEntry{}}
	if len(p.fields) > 2 {
		p.open.ID = p.fields[2].text
	}
	p.extra(3)
	if k == FullTable {
		if p.full > 0 {
			p.warn(p.fields[0], Duplicate, "replaces the table of line %d", p.full)
		}
		p.full = p.line
	}
}

func (p *parser) end(k Kind) {
	b := p.open
	p.open = nil
	if b == nil {
		p.fail(p.fields[0], BadStructure, "end of a %v that was not started", k)
		return
	}
	if b.Kind != k {
		p.fail(p.fields[0], BadStructure, "end of a %v: line %d started a %v", k, b.line, b.Kind)
		return
	}
	counted := b.routes
	if k == MapUpdate {
		counted = b.maps
	}
	if len(p.fields) > 2 {
		p.count(p.fields[2], counted)
	}
	if k == MapUpdate {
		p.extra(4) // the fourth is an md5 that programs don't look at
	} else {
		p.extra(3)
	}
	p.out.Update.Blocks = append(p.out.Update.Blocks, b.Block)
}

func (p *parser) count(f field, counted int) {
	said, err := strconv.ParseUint(f.text, 10, 31)
	switch {
	case err != nil:
		p.fail(f, BadCount, "counted %d, end record says %s: not a number", counted, quote(f.text))
	case int(said) != counted:
		p.fail(f, BadCount, "counted %d, end record says %d", counted, said)
	}
}

// extra warns of fields from the n-th on, from 0.
func (p *parser) extra(n int) {
	if len(p.fields) > n {
		p.warn(p.fields[n], ExtraField, "%d fields too many: programs ignore them", len(p.fields)-n)
	}
}
