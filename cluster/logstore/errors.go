package logstore

import (
	"errors"
	"fmt"
)

// ErrUnknownVersion is wrapped where an entry was written in a format that this program does not know.
var ErrUnknownVersion = errors.New("written by a newer version of floe")

// CorruptError says that bytes on disk are not those that were written.
type CorruptError struct {
	// File is the path of the damaged file.
	File string
	// Index is the log index of the damaged entry, 0 where it is no log entry.
	Index uint64
	// Key is the name of the damaged stable value, "" where it is none.
	Key string
	// Err says what is wrong with it.
	Err error
}

func (e *CorruptError) Error() string {
	switch {
	case e.Index > 0:
		return fmt.Sprintf("%s: log entry %d is damaged: %v", e.File, e.Index, e.Err)
	case e.Key != "":
		return fmt.Sprintf("%s: stored value %q is damaged: %v", e.File, e.Key, e.Err)
	}
	return fmt.Sprintf("%s is damaged: %v", e.File, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// FailedError is what every call returns from the first storage error on.
type FailedError struct {
	// Op is the operation that met the error.
	Op string
	// Err is that error, for example a *CorruptError.
	Err error
}

func (e *FailedError) Error() string {
	if IsFull(e.Err) { // then the node opens it anew by itself
		return fmt.Sprintf("storage out of service until there is space, after %s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("storage out of service until restart, after %s: %v", e.Op, e.Err)
}

func (e *FailedError) Unwrap() error { return e.Err }

// GapError says that snapshot and log do not join: entries between them are missing.
type GapError struct {
	// File is the path of the log.
	File string
	// Snapshot is the index of the newest readable snapshot, 0 for none.
	Snapshot uint64
	// Missing is the first index that neither holds.
	Missing uint64
	// Last is the last index of the log.
	Last uint64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("%s: log entry %d is missing (newest readable snapshot ends at %d, log at %d)",
		e.File, e.Missing, e.Snapshot, e.Last)
}

var errChecksum = errors.New("checksum does not match")
