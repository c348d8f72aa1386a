package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files of a data directory that can be damaged, by what floe calls them.
var damageable = map[string]string{
	"log":      "raft.db",
	"snapshot": "snapshots/*/state.bin",
	"meta":     "snapshots/*/meta.json",
	"identity": "identity.json",
}

// Damage changes one bit of a file of a node that does not run: of its log, of its
// newest snapshot, of that one's meta data, or of its identity. Where there is no
// snapshot yet it is the log. The place is in thousandths of that part of the file
// that is in use. It returns the file's path and the place in bytes.
func (n *Node) Damage(file string, place int) (path string, at int, err error) {
	if damageable[file] == "" || place < 0 || place > 999 {
		return "", 0, fmt.Errorf("damage to %q at %d/1000: it is log, snapshot, meta or identity, and 0 to 999", file, place)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Process.alive() {
		return "", 0, fmt.Errorf("%s runs: its files can be damaged while it is down", n.Name)
	}
	if err := n.powerOn(); err != nil {
		return "", 0, err
	}
	path, err = n.newest(damageable[file])
	if errors.Is(err, fs.ErrNotExist) {
		path, err = n.newest(damageable["log"])
	}
	if err != nil {
		return "", 0, err
	}
	if at, err = flip(path, place); err != nil {
		return "", 0, err
	}
	n.note(func() { n.Damaged = true })
	return path, at, n.lab.save()
}

// newest returns the file of a pattern that was changed last.
func (n *Node) newest(pattern string) (string, error) {
	all, err := filepath.Glob(filepath.Join(n.Data(), pattern))
	if err != nil {
		return "", err
	}
	var newest os.FileInfo
	path := ""
	for _, p := range all {
		info, err := os.Stat(p)
		if err != nil {
			return "", err
		}
		if newest == nil || info.ModTime().After(newest.ModTime()) {
			newest, path = info, p
		}
	}
	if path == "" {
		return "", fmt.Errorf("%s of %s: %w", pattern, n.Name, fs.ErrNotExist)
	}
	return path, nil
}

// flip changes a bit of the first byte that is not zero from the place given on,
// of those before the zeroes at the end: most of a database file is unused.
func flip(path string, place int) (int, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	used := len(bytes.TrimRight(b, "\x00"))
	if used == 0 {
		return 0, fmt.Errorf("%s holds nothing to damage", path)
	}
	at := used * place / 1000
	for b[at] == 0 {
		at++
	}
	if _, err := f.WriteAt([]byte{b[at] ^ 1}, int64(at)); err != nil {
		return 0, err
	}
	return at, f.Sync()
}

// LastWords are the lines of the node's log since its last start, at most so many
// of them from the end.
func (n *Node) LastWords(count int) (string, error) {
	b, err := os.ReadFile(n.Log())
	if err != nil {
		return "", err
	}
	text := string(b)
	if i := strings.LastIndex(text, startMark); i >= 0 {
		_, text, _ = strings.Cut(text[i:], "\n")
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n"), nil
}
