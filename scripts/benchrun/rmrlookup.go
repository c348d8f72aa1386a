package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// lookup is one of routing's own benchmarks.
type lookup struct{ name string } // a pattern as -test.bench takes it

func (l lookup) run(ctx context.Context, b *bench, _ system) (sample, error) {
	out, err := exec.CommandContext(ctx, b.routingTest, "-test.run", "^$", "-test.bench", l.name, "-test.benchtime", "200ms", "-test.count", "5").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", l.name, err, out)
	}
	return parseBenchmark(string(out))
}

// parseBenchmark returns the best figures of a benchmark that ran several times: what else the machine does can only
// make it slower.
func parseBenchmark(text string) (sample, error) {
	best := sample{}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		s, err := parseBenchmarkLine(line)
		if err != nil {
			return nil, err
		}
		for m, v := range s {
			if old, known := best[m]; !known || v < old {
				best[m] = v
			}
		}
	}
	if len(best) < 2 {
		return nil, fmt.Errorf("no benchmark's figures in:\n%s", text)
	}
	return best, nil
}

// parseBenchmarkLine reads `BenchmarkX-2  100  12.3 ns/op  0 B/op  0 allocs/op`.
func parseBenchmarkLine(line string) (sample, error) {
	s := sample{}
	words := strings.Fields(line)
	for i := 3; i < len(words); i += 2 {
		v, err := strconv.ParseFloat(words[i-1], 64)
		if err != nil {
			return nil, fmt.Errorf("not a figure in %q: %q", line, words[i-1])
		}
		switch words[i] {
		case "ns/op":
			s[perOp] = v
		case "allocs/op":
			s[allocs] = v
		}
	}
	return s, nil
}
