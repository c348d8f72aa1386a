package rmrapp

import (
	"fmt"
	"time"

	"floe/routing"
)

// Event is a table that ended, or was dropped, in an App.
type Event struct {
	At          time.Time
	Incarnation int          // 1 before the first restart
	Conn        int          // number of the connection, unique in an App
	Peer        string       // address at the other end
	Asked       bool         // it came on the connection that the App opened to ask
	Kind        routing.Kind // how it was begun
	ID          string       // as it was begun, "" without an id
	Applied     bool         // it is in use
	Answer      string       // what the acknowledgement says, NUL included
	// Unsent is why the acknowledgement did not go out, "" if it did. It may
	// still be set a moment after the event is there.
	Unsent string
}

// String returns the event as a line of a test's output.
func (e Event) String() string {
	verb := "refused"
	if e.Applied {
		verb = "applied"
	}
	return fmt.Sprintf("%s %d/%d %s %s %q from %s %s", e.At.Format("05.000000"), e.Incarnation, e.Conn, verb, e.Kind, e.ID, e.Peer, e.Unsent)
}

// Kind says what an App was sent that it should not have been.
type Kind string

// The kinds of fault.
const (
	// Crash: the text kills every real application that reads it.
	Crash Kind = "crash"
	// Jam: a message of another type came to the control port, which makes
	// the library loop for ever.
	Jam Kind = "jam"
	// Unread: a message to the control port bears a call id but not the flag of a call:
	// the library takes it for an answer, and nobody reads it.
	Unread Kind = "unread"
	// Frame: bytes that are no frame; the library dies of some and hangs on
	// others. The App closes the connection.
	Frame Kind = "frame"
	// Interleaved: a table message came while a table from another connection, which
	// is still open, was not yet complete.
	Interleaved Kind = "interleaved"
	// Spliced: records were added to what a closed connection left unfinished.
	Spliced Kind = "spliced"
	// CutRecord: a record was cut between two messages.
	CutRecord Kind = "cut record"
	// CutText: there was text behind a NUL, which is not read.
	CutText Kind = "cut text"
	// Ignored: an end without a start, a delta before the first full table,
	// a record outside of a table, or an unknown word.
	Ignored Kind = "ignored"
	// EmptyMember: a group has an empty endpoint; the library dies when it
	// sends to it.
	EmptyMember Kind = "empty member"
	// SecondAnswer: a message had two answers, because two tables ended in it, or
	// one that was open was dropped and another ended. In the library the
	// second loses the transaction id; where the message has no source, it gets
	// lost, and so do all later ones.
	SecondAnswer Kind = "second answer"
	// DataPort: a table was sent to the data port.
	DataPort Kind = "table on the data port"
)

// Fault is one thing that would kill, jam or mislead a real application.
type Fault struct {
	At          time.Time
	Incarnation int
	Conn        int
	Peer        string
	Kind        Kind
	Text        string // details
}

// String returns the fault as a line of a test's output.
func (f Fault) String() string {
	return fmt.Sprintf("%s %d/%d %s from %s: %s", f.At.Format("05.000000"), f.Incarnation, f.Conn, f.Kind, f.Peer, f.Text)
}

// Stats counts what happened since the App was made.
type Stats struct {
	// Asked is how many requests were written to a connection; Received how many messages came
	// to the data port, answers included; Dropped how many found the queue full.
	Asked, Received, Dropped uint64
	// Late is how many answers nobody waited for.
	Late uint64
	// Faults and Events are how many there were, also where Keep let some go.
	Faults, Events uint64
}

// History returns the events so far, oldest first.
func (a *App) History() []Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]Event, len(a.events))
	for i, e := range a.events {
		out[i] = *e
	}
	return out
}

// Last returns the newest event, false if there is none.
func (a *App) Last() (Event, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.events) == 0 {
		return Event{}, false
	}
	return *a.events[len(a.events)-1], true
}

// Faults returns the faults so far, oldest first.
func (a *App) Faults() []Fault {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Fault(nil), a.faults...)
}

// Stats returns the counters.
func (a *App) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stats
}

// happened records an event and returns it.
func (a *App) happened(e Event) *Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.At = time.Now()
	a.stats.Events++
	a.events = kept(append(a.events, &e), a.cfg.Keep)
	a.changedLocked()
	return &e
}

// unsent notes that an event was not acknowledged.
func (a *App) unsent(e *Event, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.Unsent = why
	a.changedLocked()
}

// fault records a fault of what came on a connection.
func (c *conn) fault(k Kind, format string, args ...any) {
	a := c.port.app
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stats.Faults++
	a.faults = kept(append(a.faults, Fault{
		At: time.Now(), Incarnation: c.port.incarnation, Conn: c.number, Peer: c.peer(),
		Kind: k, Text: fmt.Sprintf(format, args...),
	}), a.cfg.Keep)
	a.changedLocked()
}

func kept[T any](list []T, limit int) []T {
	if limit > 0 && len(list) > limit {
		return append(list[:0], list[len(list)-limit:]...)
	}
	return list
}

// count changes the counters.
func (a *App) count(change func(*Stats)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.stats)
	a.changedLocked()
}
