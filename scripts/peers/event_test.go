package peers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseEvent(t *testing.T) {
	for _, c := range []struct {
		line string
		want Event
	}{
		{"event A tick normal - - 1 7 1500 16 -",
			Event{Topic: "A", Op: "tick", Mode: "normal", Cost: "-", Context: map[string]string{},
				Ours: true, Publisher: 1, Seq: 7, Latency: 1500 * time.Nanosecond, Bytes: 16}},
		{"event % say idempotent %205 a%20b=x%2Cy,cost=%205 - - - 2 %25%41",
			Event{Topic: "", Op: "say", Mode: "idempotent", Cost: " 5",
				Context: map[string]string{"a b": "x,y", "cost": " 5"}, Bytes: 2, Text: "%A"}},
		{"event A say normal - - - - - 1 %2D",
			Event{Topic: "A", Op: "say", Mode: "normal", Cost: "-", Context: map[string]string{}, Bytes: 1, Text: "-"}},
	} {
		got, err := parseEvent(c.line)
		if err != nil {
			t.Errorf("%q: %v", c.line, err)
		}
		if diff := cmp.Diff(got, c.want); diff != "" {
			t.Errorf("%q: -got +want\n%s", c.line, diff)
		}
	}
}

func TestParseEventRefuses(t *testing.T) {
	for _, line := range []string{
		"", "event", "ready tcp", "event A tick normal - - 1 7 1500 16", "event A tick normal - - 1 x 1500 16 -",
		"event A tick normal - a 1 7 1500 16 -", "event A tick normal - %zz=1 1 7 1500 16 -",
	} {
		if got, err := parseEvent(line); err == nil {
			t.Errorf("%q: got %+v, want an error", line, got)
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add("event A tick normal - - 1 7 1500 16 -")
	f.Add("event % say idempotent %205 a%20b=x%2Cy,cost=%205 - - - 2 %25%41")
	f.Fuzz(func(t *testing.T, line string) {
		e, err := parseEvent(line)
		if err == nil && e.Context == nil {
			t.Errorf("%q: no context", line)
		}
		parseSummary(line)
		summaryOf(line)
	})
}
