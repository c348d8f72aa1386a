package check

import (
	"fmt"
	"strings"
)

// Verdict is what a checker found about one promise.
type Verdict struct {
	// Promise is the number and name: "C1 nothing acknowledged is lost".
	Promise string `json:"promise"`
	// Kept is true where nothing speaks against it.
	Kept bool `json:"kept"`
	// Checked says how much was looked at.
	Checked string `json:"checked"`
	// Violations are the cases found, at most 20 of them in full.
	Violations []string `json:"violations,omitempty"`
	// Total counts all violations.
	Total int `json:"total"`
}

// listed is how many violations a verdict spells out.
const listed = 20

func newVerdict(promise string) *Verdict { return &Verdict{Promise: promise, Kept: true} }

// breach adds a violation.
func (v *Verdict) breach(format string, args ...any) {
	v.Kept = false
	v.Total++
	if len(v.Violations) < listed {
		v.Violations = append(v.Violations, fmt.Sprintf(format, args...))
	}
}

// String is the verdict in one line and a line for each violation.
func (v Verdict) String() string {
	word := "kept"
	if !v.Kept {
		word = "BROKEN"
	}
	lines := []string{fmt.Sprintf("%-6s  %s (%s)", word, v.Promise, v.Checked)}
	for _, text := range v.Violations {
		lines = append(lines, "        "+text)
	}
	if more := v.Total - len(v.Violations); more > 0 {
		lines = append(lines, fmt.Sprintf("        and %d more", more))
	}
	return strings.Join(lines, "\n")
}
