package rmrapp

import (
	"context"
	"errors"
	"strings"

	"floe/routing"
	"floe/transport/rmr/proto"
)

// tableMessage reads one table message record by record, and answers each
// table that ends in it.
func (r *incarnation) tableMessage(ctx context.Context, c *conn, m *proto.Message) {
	text, behind, _ := strings.Cut(string(m.Payload), "\x00")
	if strings.TrimSpace(behind) != "" {
		c.fault(CutText, "%d bytes behind a NUL", len(behind))
	}
	defer r.app.wake()
	r.checkOpener(c, text)
	answered := 0
	for record := range strings.SplitSeq(text, "\n") {
		done := r.record(c, record)
		for _, e := range done.events {
			answered++
			r.answer(ctx, c, m, e, answered)
		}
		if done.dead {
			return
		}
	}
	if r.isOpen() && text != "" && !strings.HasSuffix(text, "\n") {
		c.fault(CutRecord, "a message ends in %q, without an end of line", text[strings.LastIndexByte(text, '\n')+1:])
	}
}

// checkOpener records a fault where a message meets a table that another
// connection left open.
func (r *incarnation) checkOpener(c *conn, text string) {
	if !r.isOpen() || r.opener == c {
		return
	}
	id, _ := r.reader.ID()
	switch first := firstRecord(text); {
	case !r.opener.over():
		c.fault(Interleaved, "%q while table %q from %s is open", first, id, r.opener.peer())
	case !begins(first):
		c.fault(Spliced, "%q added to table %q, whose connection is closed", first, id)
	}
}

// outcome is what became of one record.
type outcome struct {
	events []Event
	dead   bool // the rest of the message is not read
}

// record reads one record, and records what it would do to the library.
func (r *incarnation) record(c *conn, text string) outcome {
	before, idBefore, kindBefore := r.isOpen(), r.id(), r.opened
	if before && r.app.mode() == Refusing {
		text = misfit(text)
	}
	answers, err := r.push(text)
	if death := (*routing.CrashError)(nil); errors.As(err, &death) {
		c.fault(Crash, "%q: %s", text, death.Text)
	}
	after := r.isOpen()
	if begins(text) && after {
		r.opener, r.opened = c, kindOf(text)
	}
	switch {
	case after && emptyMember(text):
		c.fault(EmptyMember, "%q", text)
	case !before && !after && err == nil && !blank(text):
		c.fault(Ignored, "%q with no table open", text)
	}
	out := outcome{dead: err != nil}
	for _, a := range answers {
		out.events = append(out.events, Event{
			Incarnation: r.number, Conn: c.number, Peer: c.peer(), Asked: c.to != nil,
			Kind: kindBefore, ID: idBefore, Answer: a, Applied: strings.HasPrefix(a, "OK "),
		})
	}
	return out
}

// answer records a table that ended, and acknowledges it.
func (r *incarnation) answer(ctx context.Context, c *conn, m *proto.Message, e Event, nth int) {
	if e.Applied {
		r.forgetTurns()
	}
	if nth == 2 {
		c.fault(SecondAnswer, "%q", e.Answer)
	}
	if r.app.mode() == Silent {
		e.Unsent = "silent"
		r.app.happened(e)
		return
	}
	kept := r.app.happened(e)
	if err := r.acknowledge(ctx, c, m, e.Answer, nth); err != nil {
		r.app.unsent(kept, err.Error())
	}
}

func (a *App) mode() Answer { return Answer(a.answer.Load()) }

func (r *incarnation) push(text string) ([]string, error) {
	r.table.Lock()
	defer r.table.Unlock()
	return r.reader.Push(text)
}

// isOpen and id are for who holds ctl: nobody else changes the reader.
func (r *incarnation) isOpen() bool { return r.reader.Open() }

func (r *incarnation) id() string {
	id, _ := r.reader.ID()
	return id
}
