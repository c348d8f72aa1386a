package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// FreeSpace returns how many bytes this process may still write on the file
// system of dir, and how large that is.
func FreeSpace(dir string) (free, size uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
}

// IsFull tells whether a storage error says that a write found no space, or
// that no file could be opened for want of descriptors. What was to be written
// is then not there, and nothing else is in doubt, so the storage may be opened
// anew once there is space. An error of a sync is never one: after it nobody
// knows what is on disk.
func IsFull(err error) bool {
	var path *fs.PathError
	if !errors.As(err, &path) || path.Op == "sync" {
		return false
	}
	noFile := errors.Is(path.Err, syscall.EMFILE) || errors.Is(path.Err, syscall.ENFILE)
	return errors.Is(path.Err, syscall.ENOSPC) || noFile && path.Op == "open"
}

// NoRoomError says that a snapshot was not written, since the file system has
// too little room for it. The storage stays in service.
type NoRoomError struct {
	// Err says how much there is and where.
	Err error
}

func (e *NoRoomError) Error() string { return fmt.Sprintf("snapshot not written: %v", e.Err) }

func (e *NoRoomError) Unwrap() error { return e.Err }
