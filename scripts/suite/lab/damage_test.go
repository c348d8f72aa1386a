package lab_test

import (
	"errors"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/scripts/suite/lab"
)

// Damage is one bit of the file that is meant, of the newest one where there are
// several, and never of a node that runs.
func TestDamage(t *testing.T) {
	l := newLab(t, 1)
	n := l.Nodes[0]
	log := strings.Repeat("entry", 1000) + strings.Repeat("\x00", 3000)
	old, young := strings.Repeat("old", 100), strings.Repeat("young", 100)
	files := map[string]string{"raft.db": log, "identity.json": "{}", "snapshots/9/state.bin": old, "snapshots/8/state.bin": young, "snapshots/8/meta.json": "{}"}
	put := func() {
		t.Helper()
		for name, text := range files {
			path := filepath.Join(n.Data(), name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		hour := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(n.Data(), "snapshots/9/state.bin"), hour, hour); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file  string
		place int
		want  string // the file that is damaged
		at    int
	}{
		{"log", 0, "raft.db", 0}, {"log", 500, "raft.db", 2500}, {"log", 999, "raft.db", 4995},
		{"snapshot", 100, "snapshots/8/state.bin", 50}, {"meta", 999, "snapshots/8/meta.json", 1}, {"identity", 0, "identity.json", 0},
	} {
		put()
		path, at, err := n.Damage(c.file, c.place)
		if err != nil || path != filepath.Join(n.Data(), c.want) || at != c.at || !n.Damaged {
			t.Errorf("%s at %d: %s at %d, %v", c.file, c.place, path, at, err)
		}
		for name, before := range files {
			b, err := os.ReadFile(filepath.Join(n.Data(), name))
			if err != nil || len(b) != len(before) {
				t.Fatalf("%s: %d bytes, %v", name, len(b), err)
			}
			changed := 0
			for i := range b {
				changed += bits.OnesCount8(b[i] ^ before[i])
			}
			if want := map[bool]int{true: 1}[name == c.want]; changed != want {
				t.Errorf("%s at %d: %d bits of %s changed, want %d", c.file, c.place, changed, name, want)
			}
		}
	}
	if err := os.RemoveAll(filepath.Join(n.Data(), "snapshots")); err != nil {
		t.Fatal(err)
	}
	if path, _, err := n.Damage("snapshot", 10); err != nil || filepath.Base(path) != "raft.db" {
		t.Errorf("without a snapshot: %s, %v", path, err)
	}
	for _, file := range []string{"", "fish"} {
		if _, _, err := n.Damage(file, 0); err == nil {
			t.Errorf("damage to %q was done", file)
		}
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.Damage("log", 0); err == nil {
		t.Error("damage was done to a node that runs")
	}
}

// The last words are those since the last start.
func TestLastWords(t *testing.T) {
	l := newLabOf(t, lab.Config{Nodes: 1}, "#!/bin/sh\necho one\necho two\necho three\n")
	n := l.Nodes[0]
	for range 2 {
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); n.Running() && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		}
	}
	for count, want := range map[int]string{2: "two\nthree", 9: "one\ntwo\nthree"} {
		if got, err := n.LastWords(count); err != nil || got != want {
			t.Errorf("%d lines: %q, %v, want %q", count, got, err, want)
		}
	}
}
