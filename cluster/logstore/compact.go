package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// bbolt never gives space back, and writes the list of its free pages with
// each commit: a log that was large once makes every append slow for good (6
// times as slow after 300 MB). So the file is written anew where most of it is
// free.
const (
	// compactFree is from how many free bytes on it is worth while: 8192 pages,
	// whose list is 64 KiB.
	compactFree = 32 << 20
	// compactLive bounds what is copied while a node runs: appends wait for it.
	compactLive = 64 << 20
	// compactTx bounds what one transaction of the copy holds in memory.
	compactTx = 8 << 20
)

// worthCompacting tells whether three quarters of a file are free, and it is
// large enough to matter.
func worthCompacting(size, free int64) bool {
	return free >= compactFree && free >= 3*(size-free)
}

// compact replaces the closed database at path by a copy without free pages.
// The old one is in its place until the new one is complete and synced. An
// error leaves the old one; *renameError does not.
func compact(path string) error {
	tmp := path + tmpSuffix
	err := copyDatabase(tmp, path)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp) // the next start does it
		return fmt.Errorf("compact %s: %w", path, err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return &renameError{err}
	}
	return nil
}

// renameError says that nobody knows which of two files a crash would leave.
type renameError struct{ error }

func (e *renameError) Unwrap() error { return e.error }

func copyDatabase(to, from string) error {
	if err := removeIfThere(to); err != nil {
		return err
	}
	return protect(func() error {
		src, err := bbolt.Open(from, 0, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: lockWait})
		if err != nil {
			return err
		}
		defer src.Close()
		dst, err := bbolt.Open(to, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType})
		if err != nil {
			return err
		}
		return errors.Join(bbolt.Compact(dst, src, compactTx), dst.Sync(), dst.Close())
	})
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
