package logstore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	snapshotDir = "snapshots"
	metaFile    = "meta.json"
	stateFile   = "state.bin"
	tmpSuffix   = ".tmp"
	// retain is how many snapshots are kept.
	retain = 2
)

// SnapshotError says that there are snapshots and none can be read. A node
// that started empty instead would forget what it acknowledged.
type SnapshotError struct {
	// File is the damaged file of the newest snapshot.
	File string
	// Err says what is wrong with it.
	Err error
}

func (e *SnapshotError) Error() string {
	return fmt.Sprintf("no snapshot can be read, the newest is damaged: %v; "+
		"put a good copy of it back, or remove this node from the cluster and start it with an empty directory and --join", e.Err)
}

func (e *SnapshotError) Unwrap() error { return e.Err }

// snapshotMeta is meta.json of one snapshot.
type snapshotMeta struct {
	raft.SnapshotMeta
	SHA256   string `json:"sha256"`
	Checksum string `json:"checksum"`
}

func (m *snapshotMeta) sum() *string { return &m.Checksum }

// Snapshots is raft's snapshot store: one directory per snapshot with
// meta.json and state.bin, each with a checksum, the newest two kept. Safe for
// concurrent use.
type Snapshots struct {
	dir    string
	log    hclog.Logger
	health *Health

	room func() error // why there is none; may be nil

	mu      sync.Mutex
	good    []*snapshotMeta // newest first
	damaged []string        // directories that are removed once a new snapshot is there
}

var _ raft.SnapshotStore = (*Snapshots)(nil)

// OpenSnapshots opens or makes the snapshot directory in dir and reads all
// snapshots in it. What a crash left half-written is removed; a damaged
// snapshot is passed over for an older one, with a line in the log. Where only
// damaged ones are left the error is a *SnapshotError. health may be nil.
// Store.CheckContinuity then tells whether the log reaches back to the one found.
func OpenSnapshots(dir string, log hclog.Logger, health *Health) (*Snapshots, error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	if health == nil {
		health = NewHealth(nil)
	}
	s := &Snapshots{dir: filepath.Join(dir, snapshotDir), log: log, health: health}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(s.dir); err != nil {
			return nil, err
		}
	}
	if err := s.scan(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Snapshots) scan() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var bad []*CorruptError
	for _, e := range entries {
		path := filepath.Join(s.dir, e.Name())
		if strings.HasSuffix(e.Name(), tmpSuffix) {
			s.log.Info("unfinished snapshot removed", "path", path)
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			continue
		}
		m, err := s.load(e.Name())
		if c := (*CorruptError)(nil); errors.As(err, &c) {
			s.log.Error("damaged snapshot passed over", "path", path, "error", err)
			s.damaged, bad = append(s.damaged, path), append(bad, c)
			continue
		}
		if err != nil {
			return err
		}
		s.good = append(s.good, m)
	}
	slices.SortFunc(s.good, newestFirst)
	if len(s.good) == 0 && len(bad) > 0 {
		c := slices.MaxFunc(bad, func(a, b *CorruptError) int { return compareIDs(snapshotOf(a), snapshotOf(b)) })
		return &SnapshotError{File: c.File, Err: c}
	}
	return nil
}

// CheckRoom has room say, before a snapshot begins and after each MiB of it,
// why it can't be written: nil where it can. What it says is a *NoRoomError,
// gives up that snapshot, and leaves the storage in service. Call it before
// raft starts.
func (s *Snapshots) CheckRoom(room func() error) { s.room = room }

func (s *Snapshots) checkRoom() error {
	if s.room == nil {
		return nil
	}
	if err := s.room(); err != nil {
		return &NoRoomError{Err: err}
	}
	return nil
}

// load reads and verifies the snapshot id.
func (s *Snapshots) load(id string) (*snapshotMeta, error) {
	m, err := s.readMeta(id)
	if err != nil {
		return nil, err
	}
	f, err := s.openState(m)
	if err != nil {
		return nil, err
	}
	return m, f.Close()
}

func (s *Snapshots) readMeta(id string) (*snapshotMeta, error) {
	path := filepath.Join(s.dir, id, metaFile)
	b, err := readSmall(path)
	if err != nil {
		return nil, &CorruptError{File: path, Err: err}
	}
	m := new(snapshotMeta)
	if err := decodeSealed(b, m); err != nil {
		return nil, &CorruptError{File: path, Err: err}
	}
	if m.ID != id {
		return nil, &CorruptError{File: path, Err: fmt.Errorf("describes snapshot %q", m.ID)}
	}
	if m.Version < raft.SnapshotVersionMin || m.Version > raft.SnapshotVersionMax {
		return nil, &CorruptError{File: path, Err: fmt.Errorf("snapshot version %d: %w", m.Version, ErrUnknownVersion)}
	}
	return m, nil
}

// openState opens the state of m at its start, having read and verified all of it.
func (s *Snapshots) openState(m *snapshotMeta) (*os.File, error) {
	path := filepath.Join(s.dir, m.ID, stateFile)
	f, err := os.Open(path)
	if err != nil {
		return nil, &CorruptError{File: path, Err: err}
	}
	hash := sha256.New()
	n, err := io.Copy(hash, f)
	switch {
	case err != nil:
	case n != m.Size:
		err = fmt.Errorf("%d bytes where %d belong", n, m.Size)
	case hex.EncodeToString(hash.Sum(nil)) != m.SHA256:
		err = errChecksum
	default:
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, &CorruptError{File: path, Err: err}
	}
	return f, nil
}

// List returns the readable snapshots, newest first.
func (s *Snapshots) List() ([]*raft.SnapshotMeta, error) {
	if err := s.health.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*raft.SnapshotMeta, len(s.good))
	for i, m := range s.good {
		c := m.SnapshotMeta
		list[i] = &c
	}
	return list, nil
}

// Newest returns the index of the newest readable snapshot, 0 for none.
func (s *Snapshots) Newest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.good) == 0 {
		return 0
	}
	return s.good[0].Index
}

// Open returns the snapshot id, after all of it was read and verified. Damage ends the storage's service.
func (s *Snapshots) Open(id string) (meta *raft.SnapshotMeta, state io.ReadCloser, err error) {
	err = s.health.do("open snapshot", func() error {
		m, err := s.readMeta(id)
		if err != nil {
			return err
		}
		f, err := s.openState(m)
		if err != nil {
			return err
		}
		meta, state = &m.SnapshotMeta, f
		return nil
	})
	return meta, state, err
}

// keep takes a finished snapshot in and removes the ones beyond retain and the damaged ones.
func (s *Snapshots) keep(m *snapshotMeta) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.good = append(s.good, m)
	slices.SortFunc(s.good, newestFirst)
	gone := s.damaged
	for len(s.good) > retain {
		last := len(s.good) - 1
		gone = append(gone, filepath.Join(s.dir, s.good[last].ID))
		s.good = s.good[:last]
	}
	s.damaged = nil
	for _, path := range gone {
		s.log.Debug("old snapshot removed", "path", path)
		if err := removeSnapshot(path); err != nil {
			return err
		}
	}
	return nil
}

// removeSnapshot renames first, so that a crash in the middle leaves no half snapshot that looks damaged.
func removeSnapshot(path string) error {
	tmp := path + tmpSuffix
	if err := os.Rename(path, tmp); err != nil {
		return err
	}
	return os.RemoveAll(tmp)
}

// newID returns an id that is not in use. It holds no time: order comes from term, index and a counter.
func (s *Snapshots) newID(term, index uint64) string {
	for n := 1; ; n++ {
		id := fmt.Sprintf("%d-%d-%d", term, index, n)
		_, err := os.Lstat(filepath.Join(s.dir, id))
		_, tmpErr := os.Lstat(filepath.Join(s.dir, id+tmpSuffix))
		if err != nil && tmpErr != nil {
			return id
		}
	}
}

func newestFirst(a, b *snapshotMeta) int { return compareIDs(b.ID, a.ID) }

func compareIDs(a, b string) int { return slices.Compare(parseID(a), parseID(b)) }

// parseID returns term, index and counter; zeros for a name that floe did not make.
func parseID(id string) []uint64 {
	n := make([]uint64, 3)
	if _, err := fmt.Sscanf(id, "%d-%d-%d", &n[0], &n[1], &n[2]); err != nil {
		return make([]uint64, 3)
	}
	return n
}

// snapshotOf returns the id of the snapshot that a damaged file belongs to.
func snapshotOf(c *CorruptError) string { return filepath.Base(filepath.Dir(c.File)) }
