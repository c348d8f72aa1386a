package peers

import (
	"strconv"
	"strings"
	"time"
)

// Summary is what a subscriber counted of one topic; the latencies are exact to about 1.5 %.
type Summary struct {
	Count, Dup, Gaps, Inversions, Foreign int
	P50, P99, Max                         time.Duration
	// Span is the time from the first event to the last.
	Span time.Duration
}

// summaryOf returns the topic of a line `summary TOPIC ...`, and no topic's name for any other line.
func summaryOf(line string) string {
	f := strings.Split(line, " ")
	if len(f) < 2 || f[0] != "summary" {
		return "\xff"
	}
	p := eventParser{line: line}
	return p.word(f[1])
}

// parseSummary reads `summary TOPIC count N dup N ...`; what a line lacks stays 0.
func parseSummary(line string) Summary {
	f := fields(line)
	return Summary{
		Count: int(f["count"]), Dup: int(f["dup"]), Gaps: int(f["gaps"]), Inversions: int(f["inversions"]),
		Foreign: int(f["foreign"]), P50: time.Duration(f["p50"]), P99: time.Duration(f["p99"]),
		Max: time.Duration(f["max"]), Span: time.Duration(f["seconds"] * float64(time.Second)),
	}
}

// fields reads `name number` pairs: "count 3 dup 0 seconds 0.5".
func fields(text string) map[string]float64 {
	out := map[string]float64{}
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i += 2 {
		if v, err := strconv.ParseFloat(words[i+1], 64); err == nil {
			out[words[i]] = v
		}
	}
	return out
}
