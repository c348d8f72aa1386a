package logstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockFile is the name of the lock in the data directory.
const lockFile = "lock"

// LockedError says that another process uses a data directory.
type LockedError struct {
	// Node is the id of the node it belongs to, "" when it can't be told.
	Node string
	// Dir is the data directory.
	Dir string
	// PID is the process that holds it, 0 when it can't be told.
	PID int
}

func (e *LockedError) Error() string {
	node, holder := "", "another process"
	if e.Node != "" {
		node = fmt.Sprintf("node %q: ", e.Node)
	}
	if e.PID != 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%sdata directory %s is in use by %s; stop that one, or give this node a directory of its own with --data", node, e.Dir, holder)
}

// DirLock holds a data directory for this process.
type DirLock struct{ file *os.File }

// Lock takes dir for this process until Release or until the process ends,
// however it ends. A *LockedError says who has it.
func Lock(dir string) (*DirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		pid := readPID(f)
		f.Close()
		id, _ := ReadIdentity(dir) // "" where it can't be told
		return nil, &LockedError{Node: id.NodeID, Dir: dir, PID: pid}
	}
	if err == nil {
		err = writePID(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	return &DirLock{file: f}, nil
}

// Release gives the directory back. The file stays: removing it would let two processes hold two locks.
func (l *DirLock) Release() error { return l.file.Close() }

func readPID(f *os.File) int {
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// CheckDir makes dir (mode 0700, parents too) where it is missing and checks
// that it is a directory, can be written, and is empty or floe's own.
func CheckDir(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return makeDir(dir)
	}
	if err != nil {
		return fmt.Errorf("data directory %s: %w", dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("data directory %s: is a file, not a directory", dir)
	}
	if err := checkOurs(dir); err != nil {
		return err
	}
	return checkWritable(dir)
}

func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make data directory %s: %w", dir, err)
	}
	return syncDir(filepath.Dir(filepath.Clean(dir)))
}

// checkOurs refuses a directory with files of somebody else, such as a home directory given by mistake.
func checkOurs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("data directory %s: %w", dir, err)
	}
	foreign := ""
	for _, e := range entries {
		switch strings.TrimSuffix(e.Name(), tmpSuffix) {
		case identityFile, logFile, lockFile, snapshotDir:
			return nil
		case "lost+found":
		default:
			foreign = e.Name()
		}
	}
	if foreign != "" {
		return fmt.Errorf("data directory %s: holds %q and nothing of floe; name an empty or a new directory", dir, foreign)
	}
	return nil
}

func checkWritable(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("data directory %s can't be written: %w", dir, err)
	}
	return f.Close()
}
