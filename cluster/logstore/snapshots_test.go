package logstore

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

var conf = raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: "a:1"}}}

func openSnapshots(t *testing.T, dir string) *Snapshots {
	t.Helper()
	s, err := OpenSnapshots(dir, nil, nil)
	if err != nil {
		t.Fatalf("OpenSnapshots: %v", err)
	}
	return s
}

// take writes a snapshot with the given index and returns its directory.
func take(t *testing.T, s *Snapshots, index uint64, state string) string {
	t.Helper()
	k, err := s.Create(1, index, 3, conf, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(k, state); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(s.dir, k.ID())
}

func indexes(t *testing.T, s *Snapshots) []uint64 {
	t.Helper()
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	got := []uint64{}
	for _, m := range list {
		got = append(got, m.Index)
	}
	return got
}

func TestSnapshotRoundTripAndRetention(t *testing.T) {
	dir := t.TempDir()
	s := openSnapshots(t, dir)
	for _, i := range []uint64{9, 10, 100} {
		take(t, s, i, strings.Repeat("state ", int(i)))
	}
	take(t, s, 100, "same index again")
	for _, s := range []*Snapshots{s, openSnapshots(t, dir)} {
		diff(t, "list", indexes(t, s), []uint64{100, 100})
		list, _ := s.List()
		meta, r, err := s.Open(list[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		r.Close()
		if string(b) != "same index again" || err != nil {
			t.Errorf("got %q, %v", b, err)
		}
		diff(t, "configuration", meta.Configuration, conf)
		diff(t, "size", meta.Size, int64(len(b)))
	}
	left, _ := os.ReadDir(filepath.Join(dir, snapshotDir))
	if len(left) != 2 {
		t.Errorf("got %d directories, want 2", len(left))
	}
}

func TestCancelledSnapshotLeavesNothing(t *testing.T) {
	s := openSnapshots(t, t.TempDir())
	k, err := s.Create(1, 5, 1, conf, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(k, "half")
	if err := k.Cancel(); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(s.dir)
	if len(left) != 0 || s.health.Err() != nil {
		t.Errorf("got %v, %v, want nothing left and service", left, s.health.Err())
	}
}

// damages are the ways in which a newest snapshot was found after machine crashes.
var damages = map[string]func(t *testing.T, snap string){
	"state cut":         func(t *testing.T, d string) { edit(t, d, stateFile, func(b []byte) []byte { return b[:len(b)/2] }) },
	"state zero-filled": func(t *testing.T, d string) { edit(t, d, stateFile, func(b []byte) []byte { clear(b); return b }) },
	"state longer":      func(t *testing.T, d string) { edit(t, d, stateFile, func(b []byte) []byte { return append(b, 0) }) },
	"state deleted":     func(t *testing.T, d string) { os.Remove(filepath.Join(d, stateFile)) },
	"meta deleted":      func(t *testing.T, d string) { os.Remove(filepath.Join(d, metaFile)) },
	"meta zero-filled":  func(t *testing.T, d string) { edit(t, d, metaFile, func(b []byte) []byte { clear(b); return b }) },
	"meta empty":        func(t *testing.T, d string) { edit(t, d, metaFile, func([]byte) []byte { return nil }) },
	"meta index changed": func(t *testing.T, d string) {
		edit(t, d, metaFile, func(b []byte) []byte { return bytes.Replace(b, []byte(`"Index": 2`), []byte(`"Index": 3`), 1) })
	},
	"renamed": func(t *testing.T, d string) { os.Rename(d, filepath.Join(filepath.Dir(d), "9-99-1")) },
}

func edit(t *testing.T, dir, name string, f func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedNewestSnapshotFallsBack(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openSnapshots(t, dir)
			take(t, s, 10, "older state")
			damage(t, take(t, s, 20, "newest state"))
			s = openSnapshots(t, dir)
			diff(t, "readable", indexes(t, s), []uint64{10})
			take(t, s, 30, "next")
			left, _ := os.ReadDir(s.dir)
			if len(left) != 2 {
				t.Errorf("got %v, want the damaged one gone after the next", left)
			}
		})
	}
}

func TestOnlyDamagedSnapshotsRefuse(t *testing.T) {
	for name, damage := range damages {
		dir := t.TempDir()
		damage(t, take(t, openSnapshots(t, dir), 20, "the only state"))
		_, err := OpenSnapshots(dir, nil, nil)
		e := (*SnapshotError)(nil)
		if !errors.As(err, &e) || !strings.HasPrefix(e.File, dir) || !strings.Contains(err.Error(), e.File) {
			t.Errorf("%s: got %v, want SnapshotError naming the file", name, err)
		}
	}
}

func TestUnfinishedSnapshotIsRemoved(t *testing.T) {
	dir := t.TempDir()
	s := openSnapshots(t, dir)
	take(t, s, 10, "state")
	os.MkdirAll(filepath.Join(s.dir, "3-20-1.tmp"), 0o700)
	s = openSnapshots(t, dir)
	diff(t, "readable", indexes(t, s), []uint64{10})
	if left, _ := os.ReadDir(s.dir); len(left) != 1 {
		t.Errorf("got %v, want the .tmp directory gone", left)
	}
}

func TestDamageWhileRunningEndsService(t *testing.T) {
	s := openSnapshots(t, t.TempDir())
	snap := take(t, s, 20, "state")
	damages["state cut"](t, snap)
	if _, _, err := s.Open(filepath.Base(snap)); !is[*FailedError](err) || !is[*CorruptError](err) {
		t.Errorf("got %v, want FailedError around CorruptError", err)
	}
	if _, err := s.Create(1, 30, 3, conf, 1, nil); !is[*FailedError](err) {
		t.Errorf("Create after it: got %v, want FailedError", err)
	}
}

// TestFlippedBitInSnapshot: found, or without effect on what raft is told.
func TestFlippedBitInSnapshot(t *testing.T) {
	dir := t.TempDir()
	snap := take(t, openSnapshots(t, dir), 20, strings.Repeat("state", 40))
	want, err := openSnapshots(t, dir).List()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{metaFile, stateFile} {
		whole, _ := os.ReadFile(filepath.Join(snap, name))
		for range 150 {
			b := bytes.Clone(whole)
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			os.WriteFile(filepath.Join(snap, name), b, 0o600)
			s, err := OpenSnapshots(dir, nil, nil)
			if err != nil {
				continue
			}
			got, _ := s.List()
			diff(t, name+": damage went unnoticed", got, want)
		}
		os.WriteFile(filepath.Join(snap, name), whole, 0o600)
	}
}
