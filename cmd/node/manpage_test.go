package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every command has a page with its flags and its example, which floe(1) names.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if err := writeManPages(dir); err != nil {
		t.Fatal(err)
	}
	for _, m := range manuals() {
		text := readPage(t, dir, m.pageName())
		for _, f := range m.flags {
			if !strings.Contains(text, bold("--"+f.name)) {
				t.Errorf("%s(1) has no --%s", m.pageName(), f.name)
			}
		}
		if !strings.Contains(text, escape(m.example)) {
			t.Errorf("%s(1) has no example", m.pageName())
		}
		if !strings.Contains(readPage(t, dir, "floe"), reference(m.pageName())) {
			t.Errorf("floe(1) does not name %s(1)", m.pageName())
		}
	}
}

func readPage(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name+".1"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"a-b":           `a\-b`,
		"x\n.TH\n'y.\n": "x\n\\&.TH\n\\&'y.\n",
		`'\n'`:          `\&'\en'`,
		"~ ^ `":         `\(ti \(ha \(ga`,
	} {
		if got := escape(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
