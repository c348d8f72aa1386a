package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// What icestormadmin 3.7 prints, shortened.
const agreed = `replica count: 3
0: id:         0
0: coord:      2
0: state:      normal
1: id:         1
1: coord:      2
1: state:      normal
2: id:         2
2: coord:      2
2: state:      normal
2: group:      0,1
`

func TestCoordinator(t *testing.T) {
	if got, err := coordinator(agreed, 3); err != nil || got != 2 {
		t.Errorf("got %d, %v, want 2", got, err)
	}
	for what, text := range map[string]string{
		"one elects":            strings.Replace(agreed, "1: state:      normal", "1: state:      election", 1),
		"two coordinators":      strings.Replace(agreed, "0: coord:      2", "0: coord:      0", 1),
		"one is not reached":    strings.Replace(agreed, "0: coord:      2\n0: state:      normal", "0: unreachable", 1),
		"nothing":               "",
		"no replication at all": "This topic is not replicated.",
	} {
		if got, err := coordinator(text, 3); err == nil {
			t.Errorf("%s: got %d, want an error", what, got)
		}
	}
}

func TestTable(t *testing.T) {
	at := func(outage time.Duration, lost int) trial {
		return trial{outage: outage, events: &figures{lost: lost, gap: time.Second}}
	}
	r := row{fault: "leader killed", cap: time.Minute}
	r.trials[0] = []trial{at(3*time.Second, 0), at(time.Second, 1), at(1500*time.Millisecond, 2)}
	r.trials[1] = []trial{at(time.Minute, 4)}
	cold := row{fault: "cold start", cap: time.Minute, trials: [2][]trial{{{outage: 2 * time.Second}}, {{outage: 4 * time.Second}}}}
	text := table([]row{r, cold})
	for _, want := range []string{
		"| leader killed | 1.50 s : > 60 s | < 0.025 | 3 : 4 | 0 : 0 | 1000 : 1000 | 3 : 1 | reached |",
		"| cold start | 2.00 s : 4.00 s | 0.5 | - | - | - | 1 : 1 | NOT reached |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, args := range [][]string{{"--rounds", "0", "--floe", "x"}, {"--cap", "1ms", "--floe", "x"}, {"--rows", "(", "--floe", "x"}, {"--floe", "x", "more"}, {}} {
		var out, said bytes.Buffer
		if code := run(t.Context(), args, &out, &said); code != 2 || !strings.Contains(said.String(), "Usage:") {
			t.Errorf("%q: exit %d, %q", args, code, said.String())
		}
	}
	var out, said bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, &out, &said); code != 0 || !strings.Contains(out.String(), "Usage:") {
		t.Errorf("--help: exit %d, %q", code, out.String())
	}
}
