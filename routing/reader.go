package routing

import (
	"fmt"
	"slices"
	"strings"
)

// Reader holds the tables of a program and reads texts as version 4.9.4 of
// the library does in that program, with all that the library drops or
// misreads on the way. Where the library would end the process, a Reader
// refuses the text. The zero value is a program without a name that has no
// table. Only one goroutine may use it.
type Reader struct {
	Name      string   // the program's own host:port; it sends nothing to it
	Addresses []string // ip:port of each of its interfaces but loopback

	ready   bool
	full    bool // a full table came: from now on it takes deltas
	id      *string
	active  *reading
	old     *reading // the one before, whose counters the next one inherits
	open    *reading
	answers []string
}

// reading is a table as the library holds it.
type reading struct {
	routes  map[Key]*Entry
	meids   map[string]string
	updates int32 // route records since the start
	mapped  int32 // map records since the start
}

// CrashError is a text that ends every program which reads it.
type CrashError struct {
	Line int
	Text string // what was wrong
}

// Error returns the refusal as one line.
func (e *CrashError) Error() string {
	return fmt.Sprintf("line %d: %s: a program dies of it", e.Line, e.Text)
}

// Push reads the text of one table message, which may be a part of a table,
// and returns what the program answers: one text for each table that ended
// or was dropped, with the final NUL.
func (r *Reader) Push(text string) ([]string, error) { return r.read(text, false) }

// File reads a static file as a program without a route manager does.
func (r *Reader) File(text string) error {
	_, err := r.read(text, true)
	return err
}

// Seed reads a static file as a program does that then asks a route manager:
// the file counts as no full table.
func (r *Reader) Seed(text string) error {
	err := r.File(text)
	r.full = false
	return err
}

// Ready says whether the program can send: a table was applied.
func (r *Reader) Ready() bool { return r.ready }

// Open says whether a table was begun and not ended.
func (r *Reader) Open() bool { return r.open != nil }

// ID returns the id of the last table that was begun.
func (r *Reader) ID() (id string, given bool) {
	if r.id == nil {
		return "", false
	}
	return *r.id, true
}

// Routes returns the entries of the active table, sorted by key. An empty
// endpoint is one whose use ends the process.
func (r *Reader) Routes() []*Entry {
	if r.active == nil {
		return nil
	}
	list := make([]*Entry, 0, len(r.active.routes))
	for _, e := range r.active.routes {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *Entry) int { return a.Key.Compare(b.Key) })
	return list
}

// MEIDs returns the active map. Leave it unchanged.
func (r *Reader) MEIDs() map[string]string {
	if r.active == nil {
		return nil
	}
	return r.active.meids
}

// Lookup returns the entry that the program sends a message by, nil if none.
func (r *Reader) Lookup(mtype, subID int32) *Entry {
	if r.active == nil {
		return nil
	}
	if e := r.active.routes[Key{mtype, subID}]; e != nil || subID == AnySubID {
		return e
	}
	return r.active.routes[Key{mtype, AnySubID}]
}

func (r *Reader) read(text string, file bool) ([]string, error) {
	r.answers = nil
	var buf []field
	for l := range lines(text, file) {
		buf = l.split(buf[:0], '|', maxFields)
		if len(buf) == 0 {
			continue
		}
		if problem := r.record(buf); problem != "" {
			return r.answers, &CrashError{l.number, problem}
		}
	}
	return r.answers, nil
}

// record reads one record by the first letter of its word, as parse_rt_rec
// in rt_generic_static.c does. It returns what the process would die of.
func (r *Reader) record(fields []field) (death string) {
	word := clipped(fields[0])
	if word == "" {
		return ""
	}
	switch word[0] {
	case 'd':
		r.del(fields)
	case 'n':
		return r.newrt(fields)
	case 'u':
		return r.updatert(fields)
	case 'r':
		return r.rte(fields)
	case 'm':
		if word == "mse" {
			r.mse(fields)
			return ""
		}
		return r.mapRecord(word, fields)
	}
	return ""
}

func clipped(f field) string {
	f, _ = f.clip()
	return f.text
}

func (r *Reader) newrt(fields []field) string {
	if len(fields) < 2 {
		return quote(fields[0].text) + " stands alone"
	}
	if clipped(fields[1]) != "end" {
		r.begin(fields, false)
		r.open.updates = 0
		return ""
	}
	if r.open == nil {
		return endWithoutStart(fields)
	}
	if len(fields) > 2 && r.open.updates != atoi(fields[2].text) {
		r.refuse(missing(fields[2].text, r.open.updates))
		return ""
	}
	r.roll()
	r.ready, r.full = true, true
	return ""
}

func (r *Reader) updatert(fields []field) string {
	if !r.full {
		return ""
	}
	if len(fields) < 2 {
		return quote(fields[0].text) + " stands alone"
	}
	if clipped(fields[1]) != "end" {
		r.begin(fields, true)
		r.open.updates = 0
		return ""
	}
	if r.open == nil {
		return ""
	}
	if len(fields) > 2 && r.open.updates != atoi(fields[2].text) {
		r.refuse("") // the library sends rubbish from its stack here
		return ""
	}
	r.roll()
	r.ready = true
	return ""
}

func (r *Reader) mapRecord(word string, fields []field) string {
	if len(fields) < 2 {
		return ""
	}
	if word == "meid_map" {
		return r.meidMap(fields)
	}
	if r.open == nil {
		return ""
	}
	switch {
	case word == "mme_ar" && len(fields) >= 3:
		r.assign(clipped(fields[1]), clipped(fields[2]))
	case word == "mme_del":
		r.release(clipped(fields[1]))
	}
	return ""
}

func (r *Reader) meidMap(fields []field) string {
	second := clipped(fields[1])
	switch {
	case strings.HasPrefix(second, "s"):
		r.begin(fields, true)
		r.open.mapped = 0
	case second == "end" && r.open == nil:
		return endWithoutStart(fields)
	case second == "end" && len(fields) > 2 && r.open.mapped != atoi(fields[2].text):
		r.refuse(missing(fields[2].text, r.open.updates)) // the wrong counter, as in the library
	case second == "end":
		r.roll()
	}
	return ""
}

func endWithoutStart(fields []field) string {
	if len(fields) > 2 {
		return "end with a count and no start"
	}
	return ""
}

func missing(expected string, got int32) string {
	return fmt.Sprintf("missing table records: expected %s got %d\n", expected, got)
}

// begin opens a table: a copy of the active map, and of the routes as well
// if all is set. A delta without an id keeps the one before.
func (r *Reader) begin(fields []field, all bool) {
	if r.open != nil {
		r.refuse("table not complete")
	}
	switch {
	case len(fields) > 2:
		id := strings.Clone(clipped(fields[2]))
		r.id = &id
	case fields[0].text == "" || clipped(fields[0])[0] != 'u':
		r.id = nil
	}
	next := &reading{routes: map[Key]*Entry{}, meids: map[string]string{}}
	if r.old != nil {
		next.updates, next.mapped = r.old.updates, r.old.mapped
		r.old = nil
	}
	if r.active != nil {
		for meid, owner := range r.active.meids {
			next.meids[meid] = owner
		}
	}
	if r.active != nil && all {
		for key, e := range r.active.routes {
			next.routes[key] = e
		}
	}
	r.open = next
}

// roll puts the open table in the place of the active one.
func (r *Reader) roll() {
	if r.active != nil {
		r.old = r.active
	}
	r.active, r.open = r.open, nil
	r.answer("OK", "")
}

// refuse drops the open table.
func (r *Reader) refuse(reason string) {
	r.open = nil
	r.answer("ERR", reason)
}

func (r *Reader) answer(state, reason string) {
	id, given := r.ID()
	if !given {
		id = "<id-missing>"
	}
	r.answers = append(r.answers, fmt.Sprintf("%s %s %s\n\x00", state, id, reason))
}
