package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/scripts/suite/schedule"
)

// Page is all that a report says.
type Page struct {
	Command    string            `json:"command"`
	Commit     string            `json:"commit"`
	Versions   map[string]string `json:"versions"`
	Date       time.Time         `json:"date"`
	Processors int               `json:"processors"`
	Network    string            `json:"network"`
	Note       string            `json:"note,omitempty"`
	Seed       uint64            `json:"seed"`
	Schedule   []schedule.Step   `json:"schedule"`
	Faults     []check.Fault     `json:"faults"`

	// Operations are changes asked for (events, where only those were sent),
	// Acknowledged those that succeeded, Lost those of them that are gone.
	Operations    int                `json:"operations"`
	Acknowledged  int                `json:"acknowledged"`
	Lost          int                `json:"lost"`
	Recovered     int                `json:"recovered"`
	Outcomes      []Outcome          `json:"outcomes"`
	LeaderChanges int                `json:"leader_changes"`
	Verdicts      []check.Verdict    `json:"verdicts"`
	Progress      *check.Progress    `json:"progress,omitempty"`
	Converged     *check.Converged   `json:"converged,omitempty"`
	Events        *check.EventResult `json:"events,omitempty"`
	Timeline      Timeline           `json:"timeline"`
	// Pictures are pages of histories that no order explains.
	Pictures []string `json:"pictures,omitempty"`
}

// Outcome counts the operations of one kind.
type Outcome struct {
	Func    string `json:"operation"`
	OK      int    `json:"ok"`
	Refused int    `json:"refused"`
	Fail    int    `json:"failed"`
	Info    int    `json:"unknown"`
}

// Count counts operations by kind and outcome.
func Count(ops []history.Op) []Outcome {
	all := map[string]*Outcome{}
	for _, o := range ops {
		if all[o.Func] == nil {
			all[o.Func] = &Outcome{Func: o.Func}
		}
		all[o.Func].add(o)
	}
	var out []Outcome
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out
}

func (c *Outcome) add(o history.Op) {
	switch {
	case o.Outcome == history.OK && o.Out.Refused:
		c.Refused++
	case o.Outcome == history.OK:
		c.OK++
	case o.Outcome == history.Fail:
		c.Fail++
	default:
		c.Info++
	}
}

// Kept says whether every promise was.
func (p *Page) Kept() bool {
	return !slices.ContainsFunc(p.Verdicts, func(v check.Verdict) bool { return !v.Kept })
}

// LastLine is the sum of a run in one line.
func (p *Page) LastLine() string {
	return fmt.Sprintf("%d operations, %d acknowledged, %d lost", p.Operations, p.Acknowledged, p.Lost)
}

// Text is the verdicts for a terminal.
func (p *Page) Text() string {
	var b strings.Builder
	for _, v := range p.Verdicts {
		fmt.Fprintln(&b, v)
	}
	return b.String()
}

// Write writes report.json and report.html.
func (p *Page) Write(dir string) error {
	j, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), append(j, '\n'), 0o644); err != nil {
		return err
	}
	text, err := p.HTML()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "report.html"), []byte(text), 0o644)
}
