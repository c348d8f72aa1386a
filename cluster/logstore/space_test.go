package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// TestSnapshotWithoutRoom is given up, before it begins or in the middle, and
// costs neither what there was nor the service.
func TestSnapshotWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	s := openSnapshots(t, dir)
	take(t, s, 5, "small")
	left := 0
	s.CheckRoom(func() error {
		if left--; left < 0 {
			return errors.New("no space")
		}
		return nil
	})
	if _, err := s.Create(1, 9, 3, conf, 1, nil); !is[*NoRoomError](err) {
		t.Errorf("without any room: %v", err)
	}
	left = 3 // to begin, and for two MiB
	k, err := s.Create(1, 9, 3, conf, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for block := make([]byte, 100<<10); err == nil && written < 10<<20; written += len(block) {
		_, err = k.Write(block)
	}
	if !is[*NoRoomError](err) || written < 2<<20 || written > 4<<20 {
		t.Errorf("after %d bytes: %v", written, err)
	}
	if err := k.Cancel(); err != nil {
		t.Error(err)
	}
	left = 1000
	take(t, s, 10, "again")
	diff(t, "snapshots", indexes(t, s), []uint64{10, 5})
	if entries, _ := os.ReadDir(s.dir); len(entries) != 2 {
		t.Errorf("%d entries in the directory, want 2", len(entries))
	}
}

// TestIsFull: a write that found no space, and nothing else.
func TestIsFull(t *testing.T) {
	path := func(op string, err error) error {
		return &FailedError{Op: "append", Err: fmt.Errorf("raft.db: %w", &fs.PathError{Op: op, Path: "raft.db", Err: err})}
	}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{path("write", syscall.ENOSPC), true},
		{path("open", syscall.ENOSPC), true},
		{path("sync", syscall.ENOSPC), false},
		{syscall.ENOSPC, false}, // as bbolt returns it from fdatasync
		{path("open", syscall.EMFILE), true},
		{path("open", syscall.ENFILE), true},
		{path("open", syscall.EACCES), false},
		{path("write", syscall.EMFILE), false},
		{path("write", syscall.EIO), false},
		{nil, false},
	} {
		if got := IsFull(test.err); got != test.want {
			t.Errorf("%v: %v", test.err, got)
		}
	}
}

func TestFreeSpace(t *testing.T) {
	free, size, err := FreeSpace(t.TempDir())
	if err != nil || size == 0 || free > size {
		t.Errorf("%d of %d, %v", free, size, err)
	}
	if _, _, err := FreeSpace("/nowhere/at/all"); err == nil {
		t.Error("free space of what is not there")
	}
}
