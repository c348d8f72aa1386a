package logstore

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// large appends n entries of 256 KiB from index on and returns the next index.
func large(t *testing.T, s *Store, index uint64, n int) uint64 {
	t.Helper()
	data := make([]byte, 256<<10)
	for i := range data {
		data[i] = byte(rand.IntN(256))
	}
	var logs []*raft.Log
	for range n {
		logs = append(logs, &raft.Log{Index: index, Term: 3, Type: raft.LogCommand, Data: data})
		index++
	}
	for batch := range slices.Chunk(logs, 32) {
		mustStore(t, s, batch)
	}
	return index
}

// appendTime is how long an append of one entry takes, half of the time.
func appendTime(t *testing.T, s *Store, index uint64, n int) time.Duration {
	t.Helper()
	took := make([]time.Duration, n)
	for i := range took {
		one := entries(index+uint64(i), 1)
		begin := time.Now()
		mustStore(t, s, one)
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	return took[n/2]
}

// wantSmall checks that hardly anything of the file is free.
func wantSmall(t *testing.T, s *Store) {
	t.Helper()
	z, err := s.Sizes()
	if err != nil {
		t.Fatal(err)
	}
	if z.FileBytes > compactFree || z.FreePages > 2048 {
		t.Errorf("%d bytes, %d free pages", z.FileBytes, z.FreePages)
	}
}

// R01: a log that was large once is small again, and appends to it are as
// fast as at the start. Nothing is lost, and it opens as any other.
func TestLargeLogGetsSmallWhileItRuns(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Config{})
	mustStore(t, s, entries(1, 256))
	first := appendTime(t, s, 257, 200)
	s.SetUint64(keyCurrentTerm, 9)
	next := large(t, s, 457, 400)
	mustStore(t, s, entries(next, 100))
	if err := s.DeleteRange(1, next-1); err != nil {
		t.Fatal(err)
	}
	wantSmall(t, s)
	t.Logf("an append took %v at first, takes %v afterwards", first, appendTime(t, s, next+100, 200))
	want := dump(t, s)
	if len(want) != 301 {
		t.Errorf("%d entries, want 301", len(want))
	}
	s.Close()
	s = open(t, dir, Config{})
	diff(t, "after opening again", dump(t, s), want)
}

// TestLargeLogGetsSmallAtTheStart where there is too much left in it to do it
// before, and where a crash left half a copy.
func TestLargeLogGetsSmallAtTheStart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Config{})
	db := s.db.(*boltBackend)
	next := large(t, s, 1, 400)
	mustStore(t, s, entries(next, 100))
	if err := db.db.DeleteRange(1, next-1); err != nil { // behind the store's back
		t.Fatal(err)
	}
	want := dump(t, s)
	if z, _ := s.Sizes(); z.FileBytes < 100<<20 {
		t.Fatalf("%d bytes are not large", z.FileBytes)
	}
	s.Close()
	half := filepath.Join(dir, logFile+tmpSuffix)
	if err := os.WriteFile(half, make([]byte, 9999), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Config{})
	wantSmall(t, s)
	diff(t, "after the start", dump(t, s), want)
	if _, err := os.Stat(half); err == nil {
		t.Error("half a copy was left")
	}
}

// TestCompactingFails: the old file goes on.
func TestCompactingFails(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Config{})
	next := large(t, s, 1, 300)
	mustStore(t, s, entries(next, 10))
	if err := os.MkdirAll(filepath.Join(dir, logFile+tmpSuffix, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteRange(1, next-1); err != nil {
		t.Fatal(err)
	}
	mustStore(t, s, entries(next+10, 10))
	if got := dump(t, s); len(got) != 21 {
		t.Errorf("%d entries, want 21", len(got))
	}
}

// TestSmallLogIsLeftAlone: what is cut off now and then is used again.
func TestSmallLogIsLeftAlone(t *testing.T) {
	for _, test := range []struct {
		size, free int64
		want       bool
	}{
		{16 << 20, 15 << 20, false},
		{64 << 20, 40 << 20, false},
		{64 << 20, 48 << 20, true},
		{320 << 20, 300 << 20, true},
		{1 << 30, 1 << 29, false},
	} {
		if got := worthCompacting(test.size, test.free); got != test.want {
			t.Errorf("%d of %d free: %v", test.free, test.size, got)
		}
	}
}
