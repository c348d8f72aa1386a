package routing

import (
	"fmt"
	"slices"
)

// Severity says what a finding means for the text.
type Severity uint8

const (
	// Warning lets the text be loaded.
	Warning Severity = iota
	// Error refuses it, whole.
	Error
)

// String returns "warning" or "error".
func (s Severity) String() string {
	if s == Error {
		return "error"
	}
	return "warning"
}

// MarshalText returns what String does.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Severity) UnmarshalText(b []byte) error {
	switch string(b) {
	case "error":
		*s = Error
	case "warning":
		*s = Warning
	default:
		return fmt.Errorf("%s is no severity", quote(string(b)))
	}
	return nil
}

// Code names a kind of finding, for programs.
type Code string

// The kinds of finding. Where a kind can be both, the severity says which.
const (
	BadCount       Code = "count"           // the end record does not say what was counted
	BadStructure   Code = "structure"       // a record outside of a table, a table without an end
	ShortRecord    Code = "short-record"    // fields are missing
	BareWord       Code = "bare-word"       // a word without fields, of which programs die
	MisreadWord    Code = "misread-word"    // programs go by its first letter and take it for another
	UnknownWord    Code = "unknown-word"    // programs ignore the record
	TooMany        Code = "too-many"        // programs drop what goes beyond
	BadNumber      Code = "number"          // not a whole 32-bit number
	BadMEID        Code = "meid"            // empty, or more than a message can carry
	BadEndpoint    Code = "endpoint"        // endpoint or owner that can't be reached
	BadSender      Code = "sender"          // sender that matches no program
	EmptyMember    Code = "empty-member"    // programs die when they send to it
	GluedComment   Code = "glued-comment"   // # without a blank before it: programs keep it
	CommentBar     Code = "comment-bar"     // programs read on behind a | in a comment
	BadText        Code = "text"            // NUL, not UTF-8, nothing at all
	StrayBlank     Code = "stray-blank"     // trimmed here, kept by programs
	Duplicate      Code = "duplicate"       // a later record replaces an earlier one
	Shadowed       Code = "shadowed"        // an entry that no message goes by
	OldRecord      Code = "rte"             // the older form of mse
	KeyZero        Code = "key-zero"        // type 0 with sub id 0
	ReservedType   Code = "reserved-type"   // a type that RMR keeps for itself
	ExtraField     Code = "extra-field"     // programs ignore it
	ManyMEIDs      Code = "many-meids"      // more than a program reads from one record
	SameProgram    Code = "same-program"    // a group names a program under two names
	UnknownTopic   Code = "unknown-topic"   // there is no such topic
	FurtherFinding Code = "further-finding" // too many to list
)

// Finding is something a strict parser has to say about a text.
type Finding struct {
	Line     int      `json:"line"`   // from 1
	Column   int      `json:"column"` // in bytes, from 1
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	Text     string   `json:"text"` // without the place; names the other line of a duplicate
}

// String returns the finding as one line.
func (f Finding) String() string {
	return fmt.Sprintf("line %d, column %d: %v: %s", f.Line, f.Column, f.Severity, f.Text)
}

// SyntaxError is a text that was refused.
type SyntaxError struct {
	Findings []Finding // all of them, warnings too, in the order of the text
}

// Error returns the first error and how many more there are.
func (e *SyntaxError) Error() string {
	errs := e.errors()
	text := fmt.Sprintf("line %d, column %d: %s", errs[0].Line, errs[0].Column, errs[0].Text)
	if n := len(errs) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// Line returns the line of the first error.
func (e *SyntaxError) Line() int { return e.errors()[0].Line }

func (e *SyntaxError) errors() []Finding {
	return slices.DeleteFunc(slices.Clone(e.Findings), func(f Finding) bool { return f.Severity != Error })
}

// maxFindings of either severity are listed; then one says that there are
// more.
const maxFindings = 500

// findings collects what a parser has to say.
type findings struct {
	list  []Finding
	count [2]int
}

func (f *findings) add(severity Severity, line int, at field, code Code, text string) {
	f.count[severity]++
	switch n := f.count[severity]; {
	case n > maxFindings+1:
		return
	case n == maxFindings+1:
		code, text = FurtherFinding, fmt.Sprintf("more than %d findings: the rest is not listed", maxFindings)
	}
	f.list = append(f.list, Finding{line, at.column, severity, code, text})
}
