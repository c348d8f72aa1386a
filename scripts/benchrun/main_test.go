package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWrongCommandLinesAreUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"all"}, {"rmr", "--control"}, {"ice", "--peer", "x"}, {"rmr", "more"}, {"ice", "--fast"}, {"ice", "more"}, {"ice", "--rounds", "0"}, {"ice", "--rounds", "x"},
		{"ice", "--seconds", "0"}, {"ice", "--seconds", "1e9"}, {"ice", "--rows", "("}, {"--short", "ice"},
	} {
		var stdout, stderr bytes.Buffer
		if got := run(t.Context(), args, &stdout, &stderr); got != 2 {
			t.Errorf("%q: exit %d, want 2", args, got)
		}
		if !strings.Contains(stderr.String(), "Usage:") || stdout.Len() > 0 {
			t.Errorf("%q: stdout %q, stderr %q; want usage on stderr", args, stdout.String(), stderr.String())
		}
	}
}

func TestHelpGoesToStdout(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"ice", "--help"}} {
		var stdout, stderr bytes.Buffer
		if got := run(t.Context(), args, &stdout, &stderr); got != 0 || stdout.String() != usage || stderr.Len() > 0 {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, got, stdout.String(), stderr.String())
		}
	}
}

func TestListNamesTheRows(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if got := run(t.Context(), []string{"ice", "--list", "--rows", "^1->8 b"}, &stdout, &stderr); got != 0 {
		t.Fatalf("exit %d: %s", got, stderr.String())
	}
	if got, want := stdout.String(), "1->8 batch 16 B\n1->8 batch 256 B\n1->8 batch 4096 B\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoRowMatchesIsAnError(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if got := run(t.Context(), []string{"ice", "--rows", "nothing"}, &stdout, &stderr); got != 1 {
		t.Errorf("exit %d, want 1", got)
	}
	if !strings.Contains(stderr.String(), "--list") {
		t.Errorf("stderr %q; want a hint", stderr.String())
	}
}

func TestShortRunsFewRowsOnce(t *testing.T) {
	o, err := parse([]string{"ice", "--short", "--rounds", "5", "--seconds", "3"})
	if err != nil {
		t.Fatal(err)
	}
	if o.rounds != 1 || o.seconds != 0.5 {
		t.Errorf("got %d rounds of %v s, want 1 of 0.5 s", o.rounds, o.seconds)
	}
	if n := len(o.selected()); n < 5 || n > 12 {
		t.Errorf("got %d rows, want a few", n)
	}
}
