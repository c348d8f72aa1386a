package fsm

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"floe/topics"
)

// restoreVersion is the cluster version from which backups can be restored.
const restoreVersion = 3

// MaxBackup is the largest backup a cluster takes, in bytes: its nodes hold
// it in memory until it is whole.
const MaxBackup = 512 << 20

// Kinds of refusal of a restore.
const (
	// ErrNotEmpty: a restore would replace what users made.
	ErrNotEmpty topics.Kind = "the cluster is not empty"
	// ErrBackup: the bytes are no backup, or none that this cluster can take.
	ErrBackup topics.Kind = "not a backup this cluster can take"
)

// StageRestore is one part of a backup that is being restored. Nobody sees
// it before [CommitRestore]. Part 0 drops a restore that another began; one
// that is not committed is dropped after a number of further log entries.
type StageRestore struct {
	// Restore tells restores apart. It is drawn at random.
	Restore uint64 `codec:"l"`
	// Part counts from 0, which begins the restore.
	Part int    `codec:"n,omitempty"`
	Data []byte `codec:"d"`
}

// CommitRestore makes a backup of that many parts the state, all at once. The
// cluster keeps its id, its version, its members and the requests it
// remembers. It is refused once a user changed anything. The result's Count
// says how many topics there are.
type CommitRestore struct {
	Restore uint64 `codec:"l"`
	Parts   int    `codec:"n"`
}

// Kind returns the number the op travels under.
func (StageRestore) Kind() Kind { return KindStageRestore }

// Kind returns the number the op travels under.
func (CommitRestore) Kind() Kind { return KindCommitRestore }

// staged is a restore under way.
type staged struct {
	ID    uint64   `codec:"id"`
	Last  uint64   `codec:"x"` // index of its last part
	Parts [][]byte `codec:"p"`
}

func (s *staged) size() int {
	n := 0
	for _, p := range s.Parts {
		n += len(p)
	}
	return n
}

// kept returns a restore under way that is still waited for at an index.
func (s *staged) kept(at uint64) *staged {
	if s != nil && s.Last+loadLife < at {
		return nil
	}
	return s
}

// has returns a refusal unless so many parts of a restore are there.
func (s *staged) has(id uint64, parts int) error {
	switch {
	case s == nil || s.ID != id:
		return &Refusal{Kind: ErrNoLoad, Detail: "the restore was dropped, as another began or it took too long"}
	case len(s.Parts) != parts:
		return &Refusal{Kind: ErrNoLoad, Detail: fmt.Sprintf("the restore has %d parts, not %d", len(s.Parts), parts)}
	}
	return nil
}

// Restorable returns a refusal where a backup can't be restored into the
// cluster of v: somebody has something to lose, or it can't hold it.
func (v *View) Restorable(backup *View) error {
	if err := v.restorable(); err != nil {
		return err
	}
	return backup.fits(v)
}

func (v *View) restorable() error {
	if v.UserChanges == 0 {
		return nil
	}
	return &Refusal{Kind: ErrNotEmpty, Detail: "something was changed in it, and a restore would undo that; found a new cluster and restore into it"}
}

func (o StageRestore) apply(d *draft) (Result, error) {
	if err := d.restorable(); err != nil {
		return Result{}, err
	}
	if o.Part == 0 {
		d.restore = &staged{ID: o.Restore}
	}
	s := d.restore
	if err := s.has(o.Restore, o.Part); err != nil {
		return Result{}, err
	}
	if s.size()+len(o.Data) > MaxBackup {
		return Result{}, &Refusal{Kind: ErrBackup, Detail: fmt.Sprintf("it has over %d bytes", MaxBackup)}
	}
	d.restore = &staged{ID: s.ID, Last: d.at, Parts: append(slices.Clip(s.Parts), o.Data)}
	return Result{}, nil
}

func (o CommitRestore) apply(d *draft) (Result, error) {
	if err := d.restorable(); err != nil {
		return Result{}, err
	}
	if err := d.restore.has(o.Restore, o.Parts); err != nil || d.trial { // it was read before it was staged
		return Result{}, err
	}
	parts := make([]io.Reader, len(d.restore.Parts))
	for i, p := range d.restore.Parts {
		parts[i] = bytes.NewReader(p)
	}
	backup, err := ReadBackup(io.MultiReader(parts...))
	if err == nil {
		err = backup.fits(&d.View)
	}
	if err != nil {
		return Result{}, err
	}
	d.View = backup.into(&d.View, d.at)
	return Result{Count: d.Graph.Len(), Version: d.TableVersion()}, nil
}

// fits returns a refusal where a cluster can't take what a backup holds.
func (v *View) fits(cluster *View) error {
	if v.Version > cluster.Version {
		return &Refusal{Kind: ErrVersion, Detail: fmt.Sprintf("the backup is of cluster version %d, this cluster is at %d; run a newer program on all its nodes", v.Version, cluster.Version)}
	}
	for _, p := range v.Clusters {
		if p.ID == cluster.ClusterID {
			return &Refusal{Kind: ErrCluster, Name: p.Name, Detail: "links in the backup lead to this very cluster"}
		}
	}
	return nil
}

// into returns what a backup makes of a cluster at a point of its logical
// time, which then goes on above all that the backup notes.
func (v *View) into(cluster *View, at uint64) View {
	next := *v
	next.Index, next.ClusterID, next.Version = cluster.Index, cluster.ClusterID, cluster.Version
	next.Members, next.Servers, next.UserChanges = cluster.Members, cluster.Servers, cluster.UserChanges
	next.Tokens, next.History = cluster.Tokens, cluster.History
	for _, a := range cluster.Apps { // they are here, and would not ask again
		next.Apps = put(next.Apps, a, func(a App) string { return a.Name })
	}
	next.Shift = cluster.Shift
	if was := v.Index + v.Shift; was > at {
		next.Shift += was - at
	}
	return next
}

// WriteBackup writes the content of the view as a snapshot without members,
// remembered requests and what is under way.
func (v *View) WriteBackup(to io.Writer) error {
	content := *v
	content.Members, content.Servers, content.restore = nil, nil, nil
	content.Tokens, content.History = nil, History{} // rights and past are those of a cluster, and no content
	content.Routes.loads = nil
	return (&snapshot{view: &content}).write(to)
}

// ReadBackup reads what [View.WriteBackup] wrote, or any snapshot, to its
// end. The error is a *[Refusal] of kind [ErrBackup].
func ReadBackup(from io.Reader) (*View, error) {
	v, _, err := readSnapshot(from)
	if err != nil {
		return nil, &Refusal{Kind: ErrBackup, Detail: err.Error()}
	}
	v.restore, v.Routes.loads = nil, nil
	return v, nil
}

// Reformed holds the state still as it is to be after a recovery: with these
// nodes, and only these, as voters. Members replace the records of all nodes.
func (s *State) Reformed(members []Member) (*Reformed, error) {
	if h := s.Halted(); h != nil {
		return nil, h
	}
	view := *s.View()
	view.Members, view.Servers = members, nil
	for _, m := range members {
		view.Servers = append(view.Servers, Server{ID: m.ID, Voter: true})
	}
	return &Reformed{snapshot{view: &view, requests: s.requests.list(), floor: s.requests.floor}}, nil
}

// Reformed is a state held still; see [State.Reformed].
type Reformed struct{ snapshot }
