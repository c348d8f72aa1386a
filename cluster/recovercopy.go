package cluster

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"floe/cluster/logstore"
)

// savedPrefix begins the name of a directory with the files as they were
// before a recovery.
const savedPrefix = "backup-before-recover-"

// save copies what is in the data directory into a new one below it, which has
// its name once all of it is on the disk.
func (r *Recovery) save(now time.Time) (string, error) {
	name := savedPrefix + now.UTC().Format("20060102T150405Z")
	to := filepath.Join(r.Dir, name)
	for n := 2; exists(to); n++ {
		to = filepath.Join(r.Dir, fmt.Sprintf("%s-%d", name, n))
	}
	tmp := to + ".tmp"
	err := copyDir(r.Dir, tmp, func(entry string) bool {
		return entry == "lock" || strings.HasPrefix(entry, savedPrefix)
	})
	if err == nil {
		err = os.Rename(tmp, to)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(tmp))
	}
	return to, logstore.SyncDir(r.Dir)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// copyDir copies directories and files, synced; what leaveOut names is left
// out at the top.
func copyDir(from, to string, leaveOut func(name string) bool) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		if leaveOut(e.Name()) {
			continue
		}
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		switch {
		case e.IsDir():
			err = copyDir(source, target, func(string) bool { return false })
		case e.Type().IsRegular():
			err = copyFile(source, target)
		}
		if err != nil {
			return err
		}
	}
	return logstore.SyncDir(to)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
