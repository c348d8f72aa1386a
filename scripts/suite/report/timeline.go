package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
)

// Timeline is what happened when.
type Timeline struct {
	// Seconds are counts for each second of the run.
	Seconds []Second `json:"seconds"`
	// Leaders are the times at which a leader was first seen, in nanoseconds.
	Leaders []int64 `json:"leaders,omitempty"`
}

// Second counts changes by the second in which they ended, those of unknown
// outcome by when the client gave up. What was refused because of the state is left out.
type Second struct {
	Acknowledged int `json:"acknowledged"`
	Failed       int `json:"failed"`
	Unknown      int `json:"unknown"`
	Delivered    int `json:"delivered"`
}

// MakeTimeline counts changes and deliveries, and finds elections.
func MakeTimeline(ops []history.Op, events []history.Event, got []check.Got) Timeline {
	t := Timeline{}
	asked, _ := check.Outcomes(ops)
	for _, o := range asked {
		s := t.second(o.At)
		switch o.Outcome {
		case history.OK:
			s.Acknowledged++
		case history.Fail:
			s.Failed++
		default:
			s.Unknown++
		}
	}
	for _, g := range got {
		t.second(g.Time).Delivered++
	}
	for _, e := range events {
		if e.Type == history.Note && e.Func == "leader" {
			t.Leaders = append(t.Leaders, e.Time)
		}
	}
	return t
}

// second is the one that a time lies in.
func (t *Timeline) second(ns int64) *Second {
	i := int(ns / int64(time.Second))
	for len(t.Seconds) <= i {
		t.Seconds = append(t.Seconds, Second{})
	}
	return &t.Seconds[i]
}

// Measures of the picture.
const (
	left, width   = 90, 900
	rowHeight     = 14
	curve, margin = 90, 24
)

// SVG draws faults, one row a kind, above what was acknowledged, failed and
// delivered in each second.
func (t Timeline) SVG(faults []check.Fault) string {
	length := max(1, len(t.Seconds))
	x := func(ns int64) float64 {
		return left + width*min(1, float64(ns)/float64(int64(length)*int64(time.Second)))
	}
	rows := map[string][]check.Fault{}
	for _, f := range faults {
		rows[f.Kind] = append(rows[f.Kind], f)
	}
	var b strings.Builder
	y := margin
	for _, kind := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, y+rowHeight-4, kind)
		for _, f := range rows[kind] {
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#d99a2b"><title>%s %s</title></rect>`,
				x(f.Start), y+1, max(1.5, x(f.End)-x(f.Start)), rowHeight-3, kind, strings.Join(f.Nodes, ", "))
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#d99a2b" opacity=".12"/>`,
				x(f.Start), y+rowHeight, max(1.5, x(f.End)-x(f.Start)), (len(rows)*rowHeight+margin+2*curve+20)-y-rowHeight)
		}
		y += rowHeight
	}
	done := func(s Second) int { return s.Acknowledged }
	ended := func(s Second) int { return s.Acknowledged + s.Failed + s.Unknown }
	delivered := func(s Second) int { return s.Delivered }
	t.bars(&b, "changes", "#b3261e", y, t.most(ended), ended, x)
	t.bars(&b, "", "#2f9e58", y, t.most(ended), done, x)
	y += curve
	t.bars(&b, "deliveries", "#4a7fc1", y, t.most(delivered), delivered, x)
	y += curve
	for _, ns := range t.Leaders {
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#555" stroke-dasharray="2,2"><title>a leader was elected</title></line>`, x(ns), x(ns), margin-6, y)
	}
	step := max(1, (length+11)/12)
	for i := 0; i <= length; i += step {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#777">%d s</text>`, x(int64(i)*int64(time.Second)), y+16, i)
	}
	legend := "orange: faults; green: changes acknowledged; red: failed or of unknown outcome; blue: events delivered; dashed: elections"
	return fmt.Sprintf(`<svg viewBox="0 0 %d %d" xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="10" role="img"><text x="%d" y="12" fill="#555">%s</text>%s</svg>`,
		left+width+20, y+24, left, legend, b.String())
}

// most is the highest value of a second.
func (t Timeline) most(value func(Second) int) int {
	most := 1
	for _, s := range t.Seconds {
		most = max(most, value(s))
	}
	return most
}

// bars draws a bar for each second from y down.
func (t Timeline) bars(b *strings.Builder, name, color string, y, most int, value func(Second) int, x func(int64) float64) {
	base := y + curve
	if name != "" {
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text><text x="%d" y="%d" text-anchor="end" fill="#777">%d/s</text>`, left-8, base, name, left-8, y+24, most)
	}
	for i, s := range t.Seconds {
		h := float64(value(s)) / float64(most) * (curve - 14)
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.2f" height="%.1f" fill="%s"/>`, x(int64(i)*int64(time.Second)), float64(base)-h, float64(width)/float64(len(t.Seconds))*.85, h, color)
	}
}
