package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
)

// TestFlippedBitInEntry flips each bit of a stored entry in turn: either
// the entry reads as before, or it is a CorruptError.
func TestFlippedBitInEntry(t *testing.T) {
	want := entries(3, 1)[0]
	var raw []byte
	mem := &oneEntry{}
	sealed := sealLogs([]*raft.Log{want}, 2)[0]
	raw = mem.encode(t, sealed)
	found := 0
	for bit := range len(raw) * 8 {
		flipped := bytes.Clone(raw)
		flipped[bit/8] ^= 1 << (bit % 8)
		got, err := mem.decode(t, flipped)
		if err != nil {
			found++
			continue
		}
		if d := cmp.Diff(got, *want); d != "" {
			t.Fatalf("bit %d of byte %d: damage went unnoticed:\n%s", bit%8, bit/8, d)
		}
	}
	if found < len(raw)*7 {
		t.Errorf("got %d of %d flips found, want nearly all", found, len(raw)*8)
	}
}

// oneEntry encodes and decodes through raft-boltdb's own file.
type oneEntry struct{ s *Store }

func (o *oneEntry) encode(t *testing.T, l *raft.Log) []byte {
	dir := t.TempDir()
	o.s = open(t, dir, Config{})
	if err := o.s.db.StoreLogs([]*raft.Log{l}); err != nil {
		t.Fatal(err)
	}
	o.s.Close()
	var raw []byte
	editBolt(t, dir, "logs", indexKey(l.Index), func(b []byte) []byte { raw = b; return b })
	return raw
}

func (o *oneEntry) decode(t *testing.T, raw []byte) (raft.Log, error) {
	var l raft.Log
	err := protect(func() error { return decodeEntry(raw, &l) })
	if err != nil {
		return l, err
	}
	_, err = unsealLog(&l, 3)
	return l, err
}

func TestDamagedEntryIsNamed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Config{})
	mustStore(t, s, entries(1, 9))
	s.Close()
	editBolt(t, dir, "logs", indexKey(5), func(b []byte) []byte {
		return bytes.Replace(b, []byte("command 5"), []byte("command 6"), 1)
	})
	_, err := Open(dir, Config{})
	c := (*CorruptError)(nil)
	if !errors.As(err, &c) || c.Index != 5 || c.File != filepath.Join(dir, logFile) {
		t.Fatalf("got %v, want CorruptError of entry 5", err)
	}
}

func TestEntryUnderAnotherIndex(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Config{})
	mustStore(t, s, entries(1, 9))
	s.Close()
	var other []byte
	editBolt(t, dir, "logs", indexKey(5), func(b []byte) []byte { other = b; return b })
	editBolt(t, dir, "logs", indexKey(1<<60), func([]byte) []byte { return other })
	if _, err := Open(dir, Config{}); !is[*CorruptError](err) {
		t.Fatalf("got %v, want CorruptError", err)
	}
}

func TestDamagedStableValue(t *testing.T) {
	for _, key := range [][]byte{keyCurrentTerm, keyVoteTerm, keyVoteCand, keyOwner} {
		dir := t.TempDir()
		s := open(t, dir, Config{})
		if err := s.SetUint64(key, 5); err != nil {
			t.Fatal(err)
		}
		s.Close()
		editBolt(t, dir, "conf", key, func(b []byte) []byte { b[7] ^= 2; return b })
		_, err := Open(dir, Config{})
		c := (*CorruptError)(nil)
		if !errors.As(err, &c) || c.Key != string(key) {
			t.Errorf("%s: got %v, want CorruptError", key, err)
		}
	}
}

// TestDamagedFile flips, zeroes and cuts the database file at random places.
// Open finds it, or all is as it was.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	const mutants = 90
	s := open(t, dir, Config{})
	for i := uint64(1); i < 400; i += 40 {
		mustStore(t, s, entries(i, 40))
	}
	s.DeleteRange(1, 100)
	s.SetUint64(keyCurrentTerm, 9)
	want := dump(t, s)
	s.Close()
	whole, err := os.ReadFile(filepath.Join(dir, logFile))
	if err != nil {
		t.Fatal(err)
	}
	used := usedBytes(whole)
	r := rand.New(rand.NewPCG(1, 2))
	outcome := map[string]int{}
	for i := range mutants {
		b := bytes.Clone(whole)
		at := r.IntN(used)
		switch kind := i % 3; kind {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			clear(b[at:min(at+1+r.IntN(4096), len(b))])
		case 2:
			b = b[:at]
		}
		name := fmt.Sprintf("mutant %d at %d", i, at)
		got, err := openMutant(t, b)
		switch {
		case err != nil && !is[*CorruptError](err):
			t.Errorf("%s: got %v, want CorruptError", name, err)
		case err != nil:
			outcome["refused"]++
		case !cmp.Equal(got, want):
			t.Errorf("%s: damage went unnoticed:\n%s", name, cmp.Diff(got, want))
		default:
			outcome["harmless"]++
		}
	}
	t.Logf("of %d mutants: %v", mutants, outcome)
	if outcome["refused"] < mutants/3 {
		t.Errorf("got %d mutants refused, want at least the cuts", outcome["refused"])
	}
}

// openMutant opens a data directory with the given database and dumps it.
func openMutant(t *testing.T, db []byte) (contents []raft.Log, err error) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, logFile), db, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Config{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.CheckContinuity(100); is[*GapError](err) {
		return nil, &CorruptError{File: s.path, Err: err}
	}
	return dump(t, s), nil
}

func dump(t *testing.T, s *Store) []raft.Log {
	t.Helper()
	first, last, err := s.bounds()
	if err != nil {
		t.Fatal(err)
	}
	var all []raft.Log
	for i := first; i <= last; i++ {
		var l raft.Log
		if err := s.GetLog(i, &l); err == nil {
			all = append(all, l)
		}
	}
	term, _ := s.GetUint64(keyCurrentTerm)
	return append(all, raft.Log{Term: term})
}

// usedBytes is the length of b up to its last byte that is not 0.
func usedBytes(b []byte) int { return len(bytes.TrimRight(b, "\x00")) }

// TestCopyAfterEachAppend copies the file after each acknowledged append, as a power cut would leave it.
func TestCopyAfterEachAppend(t *testing.T) {
	dir, cut := t.TempDir(), t.TempDir()
	s := open(t, dir, Config{})
	for i := uint64(1); i <= 20; i++ {
		s.StageCommitIndex(i - 1)
		mustStore(t, s, entries(i, 1))
		copyFile(t, filepath.Join(dir, logFile), filepath.Join(cut, logFile))
		c := open(t, cut, Config{})
		last, _ := c.LastIndex()
		commit, err := c.GetCommitIndex()
		if last != i || commit != i-1 || err != nil {
			t.Fatalf("after %d: got last %d, commit %d, %v", i, last, commit, err)
		}
		c.Close()
	}
}

// TestShortenedPage lowers the number of elements of the last leaf by one, the
// one flip that takes an acknowledged entry off the end of the log unseen.
func TestShortenedPage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Config{})
	mustStore(t, s, entries(1, 400))
	s.Close()
	path := filepath.Join(dir, logFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(b, []byte("command 400")) / os.Getpagesize() * os.Getpagesize()
	b[at+pageCount]--
	if _, err := openMutant(t, b); !is[*CorruptError](err) {
		t.Errorf("got %v, want CorruptError", err)
	}
}

// TestDamagedMetaPage: bbolt alone would go back one transaction without a word.
func TestDamagedMetaPage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Config{})
	mustStore(t, s, entries(1, 3))
	mustStore(t, s, entries(4, 1))
	s.Close()
	whole, err := os.ReadFile(filepath.Join(dir, logFile))
	if err != nil {
		t.Fatal(err)
	}
	for page := range 2 {
		b := bytes.Clone(whole)
		b[page*os.Getpagesize()+metaOffset+metaTxID] ^= 1
		if _, err := openMutant(t, b); !is[*CorruptError](err) {
			t.Errorf("meta page %d: got %v, want CorruptError", page, err)
		}
	}
}

// TestMetaPagesThatDoNotBelongTogether puts an old meta page back, as a disk that lost a write does.
func TestMetaPagesThatDoNotBelongTogether(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, logFile)
	s := open(t, dir, Config{})
	mustStore(t, s, entries(1, 1))
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(2); i < 6; i++ {
		mustStore(t, s, entries(i, 1))
	}
	s.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := range 2 {
		b := bytes.Clone(whole)
		at := page * os.Getpagesize()
		copy(b[at:at+os.Getpagesize()], old[at:])
		if _, err := openMutant(t, b); !is[*CorruptError](err) {
			t.Errorf("meta page %d: got %v, want CorruptError", page, err)
		}
	}
}
