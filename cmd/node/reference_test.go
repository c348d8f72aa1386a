package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write docs/commands.md anew")

// docs/commands.md is what the program says of its commands.
func TestReferenceIsThePrograms(t *testing.T) {
	const page = "../../docs/commands.md"
	var b bytes.Buffer
	if err := writeReference(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), b.String()); diff != "" {
		t.Errorf("docs/commands.md (-) and the program (+) differ; go test ./cmd/node -run TestReference -update writes it anew:\n%s", diff)
	}
}

// Every command that does something has a page with all of its flags.
func TestManualsHaveAllFlags(t *testing.T) {
	pages := map[string]manual{}
	for _, m := range manuals() {
		pages[m.path] = m
	}
	for _, c := range commandTable() {
		if c.run == nil {
			continue
		}
		m := pages["floe "+strings.Join(c.words(), " ")]
		if m.usage == "" || m.short == "" || m.long == "" || m.example == "" {
			t.Errorf("%s: something is missing in %+v", c.path(), m)
		}
		flags := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
		c.addFlags(flags, true)
		for _, f := range m.flags {
			if flags.Lookup(f.name) == nil || f.help == "" {
				t.Errorf("%s: no flag %+v", c.path(), f)
			}
		}
		n := 0
		if flags.VisitAll(func(*pflag.Flag) { n++ }); n != len(m.flags) {
			t.Errorf("%s has %d flags, its page %d", c.path(), n, len(m.flags))
		}
	}
}

func TestShortDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Minute: "1m", 24 * time.Hour: "24h", 90 * time.Second: "1m30s", 5 * time.Second: "5s",
		90 * time.Minute: "1h30m", time.Hour + 10*time.Second: "1h0m10s", 10 * time.Minute: "10m", 500 * time.Millisecond: "500ms", 0: "0s"} {
		if got := shortDuration(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
		if back, err := time.ParseDuration(shortDuration(d)); err != nil || back != d {
			t.Errorf("%v comes back as %v, %v", d, back, err)
		}
	}
}
