package main

import (
	"slices"
	"testing"
)

// Completion knows the commands, and those of a command.
func TestOffers(t *testing.T) {
	term := &terminal{shell: newShell(&session{}, false, false)}
	for _, c := range []struct {
		before   []string
		in, out  string
		nonempty bool
	}{
		{nil, "routes ", "show ", true},
		{nil, "link ", "list ", true},
		{[]string{"routes"}, "show ", "routes ", true},
		{[]string{"meid"}, "owner ", "show ", true},
		{[]string{"routes", "show"}, "", "show ", false},
		{[]string{"nonsense"}, "", "routes ", false},
	} {
		got := term.offers(c.before, "")
		if c.nonempty != (len(got) > 0) || c.nonempty && !slices.Contains(got, c.in) || slices.Contains(got, c.out) {
			t.Errorf("after %q: %q", c.before, got)
		}
	}
}

// Completion of a flag knows those of the command before it.
func TestOffersFlags(t *testing.T) {
	term := &terminal{shell: newShell(&session{}, false, false)}
	for _, before := range [][]string{{"routes", "lookup"}, {"routes", "lookup", "--stale"}} {
		if got := term.offers(before, "--m"); !slices.Contains(got, "--meid ") || slices.Contains(got, "--count ") {
			t.Errorf("after %q: %q", before, got)
		}
	}
}
