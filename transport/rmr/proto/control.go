package proto

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// TableRequest is the payload of a message of type [TypeRequest].
type TableRequest struct {
	// Name is the application as NAME:PORT, with the port it takes messages
	// on; tables are not to be sent there.
	Name string
	// Time is when it asked by its own clock, in seconds since 1970; 0: it
	// did not say.
	Time int64
}

var errNoName = errors.New("table request without a name")

// ParseTableRequest reads "NAME:PORT ts=SECONDS\n\0". What follows a NUL
// and words it does not know are left alone.
func ParseTableRequest(payload []byte) (TableRequest, error) {
	words := strings.Fields(untilNUL(payload))
	if len(words) == 0 {
		return TableRequest{}, errNoName
	}
	out := TableRequest{Name: words[0]}
	host, port, _ := cutLast(out.Name, ':')
	if n, err := strconv.ParseUint(port, 10, 16); host == "" || err != nil || n == 0 {
		return TableRequest{}, fmt.Errorf("table request of %q, which is not NAME:PORT", out.Name)
	}
	for _, w := range words[1:] {
		digits, ok := strings.CutPrefix(w, "ts=")
		if n, err := strconv.ParseInt(digits, 10, 64); ok && err == nil {
			out.Time = n
		}
	}
	return out, nil
}

// Append appends the request's payload.
func (r TableRequest) Append(dst []byte) []byte {
	return fmt.Appendf(dst, "%s ts=%d\n\x00", r.Name, r.Time)
}

// NoID is what an acknowledgement has in the place of the id of a table that
// was begun without one.
const NoID = "<id-missing>"

// Reasons of applications that refuse a table. Real ones are not to be relied on:
// of a refused delta they are uninitialised memory.
const ReasonIncomplete = "table not complete"

// ReasonCount says that an end record's count was wrong; expected is its text.
// The second end of line is the library's.
func ReasonCount(expected string, got int) string {
	return fmt.Sprintf("missing table records: expected %s got %d\n", expected, got)
}

// Ack is the payload of a message of type [TypeAck].
type Ack struct {
	// OK: the table is in use. Everything else is a refusal.
	OK bool
	// Text is what follows the first word: the id of the table and, in a
	// refusal, a reason. Where the id ends can't be told from it, as
	// ids may have blanks: see [Ack.For].
	Text string
}

// ParseAck reads "OK ID \n\0" or "ERR ID REASON\n\0"; whatever does
// not begin with "OK " is a refusal.
func ParseAck(payload []byte) Ack {
	first, rest, _ := strings.Cut(untilNUL(payload), " ")
	return Ack{OK: first == "OK", Text: strings.TrimRight(rest, " \t\r\n")}
}

// For tells whether the acknowledgement is about the table with the id,
// which must not end in a blank.
func (a Ack) For(id string) bool {
	rest, ok := strings.CutPrefix(a.Text, id)
	return ok && (rest == "" || !a.OK && rest[0] == ' ')
}

// AppendAccepted appends the payload that says that a table is in use.
func AppendAccepted(dst []byte, id string) []byte {
	return fmt.Appendf(dst, "OK %s \n\x00", id)
}

// AppendRefused appends the payload that says that a table was dropped.
func AppendRefused(dst []byte, id, reason string) []byte {
	return fmt.Appendf(dst, "ERR %s %s\n\x00", id, reason)
}

func untilNUL(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// cutLast cuts at the last sep.
func cutLast(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
