package main

import (
	"fmt"
	"strconv"
	"strings"
)

// fields reads the pairs `name number` that icepeer prints: "published 3 acked 3 errors 0 seconds 0.5". What isn't a
// pair with a number is passed over, a word at a time.
func fields(line string) map[string]float64 {
	out := map[string]float64{}
	words := strings.Fields(line)
	for i := 0; i+1 < len(words); {
		v, err := strconv.ParseFloat(words[i+1], 64)
		if err != nil {
			i++
			continue
		}
		out[words[i]] = v
		i += 2
	}
	return out
}

// received is what one subscriber counted.
type received struct {
	count, dup float64
	seconds    float64 // from the first event to the last
	p50, p99   float64 // in ns
}

// parseSummary reads `summary TOPIC count N dup N ... seconds S`, whose topic has no blank.
func parseSummary(line string) (received, error) {
	rest, ok := strings.CutPrefix(line, "summary ")
	_, rest, more := strings.Cut(rest, " ")
	f := fields(rest)
	if _, counted := f["count"]; !ok || !more || !counted {
		return received{}, fmt.Errorf("not a subscriber's summary: %q", line)
	}
	return received{count: f["count"], dup: f["dup"], seconds: f["seconds"], p50: f["p50"], p99: f["p99"]}, nil
}
