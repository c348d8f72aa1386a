package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/fsm"
)

// RecoveredMember is a node that a recovery keeps.
type RecoveredMember struct {
	// ID is its id.
	ID string `json:"id"`
	// Address is the host:port of its peer port.
	Address string `json:"address"`
}

// ParseMembers reads ID=HOST:PORT[,...]. Each id and each address stands there
// once.
func ParseMembers(list string) ([]RecoveredMember, error) {
	var all []RecoveredMember
	for _, part := range strings.Split(list, ",") {
		id, address, found := strings.Cut(part, "=")
		if !found || id == "" || CheckID(id) != nil {
			return nil, fmt.Errorf("%q is not ID=HOST:PORT", part)
		}
		if err := CheckAddress(address); err != nil {
			return nil, fmt.Errorf("%q is not ID=HOST:PORT: %w", part, err)
		}
		for _, m := range all {
			if m.ID == id || m.Address == address {
				return nil, fmt.Errorf("%q: the id or the address stands there twice", part)
			}
		}
		all = append(all, RecoveredMember{id, address})
	}
	slices.SortFunc(all, func(a, b RecoveredMember) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// Recovery is what a stopped node's data can bring back after the loss of a
// majority. It holds the data directory until Close.
type Recovery struct {
	// Node is the node's id, Dir its data directory.
	Node string `json:"node"`
	Dir  string `json:"data"`
	// ClusterID is that of its cluster, which a recovery keeps; Group is what
	// the cluster goes by between nodes from then on.
	ClusterID string `json:"cluster_id"`
	Group     string `json:"group"`
	// Voters are the ids of those that count for quorum as the log ends.
	Voters []string `json:"voters"`
	// Members are those that a recovery keeps, Gone the ids of all others.
	Members []RecoveredMember `json:"members"`
	Gone    []string          `json:"gone"`
	// Last is the last index in the log, Term its term, LastTime when it was
	// made by the clock of the leader of then (RFC 3339, "" where only a
	// snapshot tells). Committed is the last index known to be committed: what
	// lies between may never have been acknowledged.
	Last      uint64 `json:"last_index"`
	Term      uint64 `json:"term"`
	LastTime  string `json:"last_time,omitempty"`
	Committed uint64 `json:"committed_index"`
	// Digest is that of the content, all of the log applied.
	Digest string `json:"digest"`
	Topics int    `json:"topics"`
	Routes int    `json:"routes"`
	MEIDs  int    `json:"meids"`

	lock     *logstore.DirLock
	log      hclog.Logger
	identity logstore.Identity
	state    *fsm.State
}

// pendingDir holds, while a recovery is under way, the identity that it gives.
const pendingDir = "recovering"

// OpenRecovery looks at the data directory of a stopped node and says what a
// recovery with these members, of which the node is one, would bring back. It
// changes nothing. The caller calls Recover, and Close in any case.
//
// Errors: *logstore.LockedError while the node runs, *[Refused], *[DamagedData]
// and others of logstore.
func OpenRecovery(dir string, members []RecoveredMember, log hclog.Logger) (*Recovery, error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	if _, err := logstore.ReadIdentity(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, refused(codeInvalid, "%s holds no data of a node", dir)
	}
	lock, err := logstore.Lock(dir)
	if err != nil {
		return nil, err
	}
	r := &Recovery{Dir: dir, Members: members, lock: lock, log: log}
	if err := r.examine(); err != nil {
		return nil, errors.Join(explainDir(dir, err), r.Close())
	}
	return r, nil
}

// Close gives the data directory back.
func (r *Recovery) Close() error {
	if r.lock == nil {
		return nil
	}
	err := r.lock.Release()
	r.lock = nil
	return err
}

// store opens the log.
func (r *Recovery) store(backend func(string) (logstore.Backend, error)) (*disk, error) {
	health := logstore.NewHealth(nil)
	snaps, err := logstore.OpenSnapshots(r.Dir, r.log, health)
	if err != nil {
		return nil, err
	}
	store, err := logstore.Open(r.Dir, logstore.Config{Logger: r.log, Health: health, Backend: backend})
	if err != nil {
		return nil, err
	}
	return &disk{health: health, store: store, snaps: snaps}, nil
}

func (r *Recovery) examine() (err error) {
	if r.identity, err = logstore.ReadIdentity(r.Dir); err != nil {
		return err
	}
	if recovered(r.Dir) {
		return refused(CodeAlready, "%s is recovered already; start the node", r.Dir)
	}
	id := r.identity
	r.Node, r.ClusterID = id.NodeID, clusterOf(id.ClusterID)
	if id.State != logstore.Member {
		return refused(CodeNotMember, "node %s is no member of a cluster (it is %s); there is nothing to recover", id.NodeID, id.State)
	}
	d, err := r.store(logstore.OpenBoltReadOnly)
	if err != nil {
		return err
	}
	err = r.read(d)
	if closed := d.store.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return r.compare()
}

// read brings the state to the end of the log. Entries that are not known to
// be committed count: a majority that is gone may have acknowledged them.
func (r *Recovery) read(d *disk) error {
	history, err := d.store.History(d.snaps.Newest())
	if err != nil {
		return err
	}
	if err := logstore.CheckHistory(r.Dir, r.identity, nil, history); err != nil && !r.interrupted(history) {
		return err
	}
	r.state = fsm.New(fsm.Config{Log: r.log})
	list, err := d.snaps.List()
	if err != nil {
		return err
	}
	if len(list) > 0 {
		_, from, err := d.snaps.Open(list[0].ID)
		if err != nil {
			return err
		}
		if err := r.state.Restore(from); err != nil {
			return fmt.Errorf("snapshot %s: %w", list[0].ID, err)
		}
		r.Last, r.Term, r.Committed = list[0].Index, list[0].Term, list[0].Index
	}
	return r.readLog(d.store, history.Last)
}

func (r *Recovery) readLog(store *logstore.Store, last uint64) error {
	if err := store.CheckContinuity(r.Last); err != nil {
		return err
	}
	if last > r.Last {
		if err := replayInto(r.state, store, r.Last+1, last); err != nil {
			return err
		}
		var entry raft.Log
		if err := store.GetLog(last, &entry); err != nil {
			return err
		}
		r.Last, r.Term = entry.Index, entry.Term
		if !entry.AppendedAt.IsZero() {
			r.LastTime = entry.AppendedAt.UTC().Format(time.RFC3339)
		}
	}
	commit, err := store.GetCommitIndex()
	r.Committed = max(r.Committed, commit, r.identity.CommitIndex)
	if h := r.state.Halted(); h != nil {
		return h
	}
	return err
}

// interrupted tells whether the data is that of a recovery which did not come
// to its end.
func (r *Recovery) interrupted(h logstore.History) bool {
	pending, err := logstore.ReadIdentity(filepath.Join(r.Dir, pendingDir))
	return err == nil && logstore.CheckHistory(r.Dir, pending, nil, h) == nil
}

// checkRecovered refuses to start on data whose recovery did not come to its
// end.
func checkRecovered(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, pendingDir)); err != nil {
		return nil // there is none, or what is wrong shows soon
	}
	if recovered(dir) {
		return os.RemoveAll(filepath.Join(dir, pendingDir))
	}
	return fmt.Errorf("data directory %s: a recovery was begun and did not come to its end; run floe recover again", dir)
}

// recovered tells whether a recovery came to its end and only left its last
// traces.
func recovered(dir string) bool {
	pending, err := logstore.ReadIdentity(filepath.Join(dir, pendingDir))
	if err != nil {
		return false
	}
	id, err := logstore.ReadIdentity(dir)
	return err == nil && id == pending
}

// compare holds the members wanted against those that the data knows.
func (r *Recovery) compare() error {
	view := r.state.View()
	known := map[string]bool{}
	for _, s := range view.Servers {
		known[s.ID] = true
		if s.Voter {
			r.Voters = append(r.Voters, s.ID)
		}
	}
	kept := map[string]bool{}
	var ids []string
	for _, m := range r.Members {
		if !known[m.ID] {
			return refused(CodeUnknownNode, "node %s is not in the cluster, whose nodes are %s; nodes that are new join once it is recovered", m.ID, strings.Join(serverNames(view), ", "))
		}
		kept[m.ID] = true
		ids = append(ids, m.ID)
	}
	if !kept[r.Node] {
		return refused(codeInvalid, "%s is the data of node %s, which is not among the members named", r.Dir, r.Node)
	}
	for id := range known {
		if !kept[id] {
			r.Gone = append(r.Gone, id)
		}
	}
	slices.Sort(r.Gone)
	r.Group = nextGroup(r.identity.ClusterID, ids)
	r.Digest, r.Topics = view.Digest().String(), view.Graph.Len()
	r.Routes, r.MEIDs = view.Routes.Loaded.Table.Len(), view.Routes.Loaded.MEIDs.Len()
	return nil
}

// members are the records of the nodes that are kept. This one begins anew, so
// that no other copy of its data passes for it.
func (r *Recovery) members(incarnation uint64) []fsm.Member {
	var all []fsm.Member
	for _, m := range r.Members {
		record, _ := r.state.View().Member(m.ID)
		record.ID, record.NonVoter = m.ID, false
		record.Addresses = maps.Clone(record.Addresses)
		if record.Addresses == nil {
			record.Addresses = map[string][]string{}
		}
		record.Addresses["peer"] = []string{m.Address}
		if m.ID == r.Node {
			record.Incarnation = incarnation
		}
		all = append(all, record)
	}
	return all
}

// Recover makes the node's data that of a group of the members alone, with all
// that the log holds, and returns the directory with the files as they were
// before. Once begun it has to come to its end: until then the node does not
// start, and Recover may be tried again.
func (r *Recovery) Recover(now time.Time) (saved string, err error) {
	if saved, err = r.save(now); err != nil {
		return "", fmt.Errorf("keep a copy of %s: %w; nothing was changed", r.Dir, err)
	}
	next := logstore.Identity{ClusterID: r.Group, NodeID: r.Node, State: logstore.Member,
		VoteTerm: r.identity.VoteTerm, CommitIndex: r.Last}
	incarnation := max(newIncarnation(r.Last), incarnationOf(r.identity)+1)
	next.Incarnation = strconv.FormatUint(incarnation, 10)
	pending := filepath.Join(r.Dir, pendingDir)
	if err := os.MkdirAll(pending, 0o700); err != nil {
		return saved, err
	}
	if err := logstore.WriteIdentity(pending, next); err != nil {
		return saved, err
	}
	if err := logstore.SyncDir(r.Dir); err != nil {
		return saved, err
	}
	if err := r.rewrite(next, r.members(incarnation)); err != nil {
		return saved, err
	}
	if err := logstore.WriteIdentity(r.Dir, next); err != nil {
		return saved, err
	}
	if err := os.RemoveAll(pending); err != nil {
		return saved, err
	}
	return saved, logstore.SyncDir(r.Dir)
}

// rewrite puts one snapshot in the place of the log: what configurations are
// in it must not come again.
func (r *Recovery) rewrite(next logstore.Identity, members []fsm.Member) (err error) {
	d, err := r.store(nil)
	if err != nil {
		return err
	}
	defer func() {
		if closed := d.store.Close(); err == nil {
			err = closed
		}
	}()
	if err := d.store.SetOwner(next); err != nil {
		return err
	}
	if err := r.snapshot(d.snaps, members); err != nil {
		return err
	}
	first, err := d.store.FirstIndex()
	if err != nil || first == 0 {
		return err
	}
	last, err := d.store.LastIndex()
	if err != nil {
		return err
	}
	return d.store.DeleteRange(first, last)
}

func (r *Recovery) snapshot(snaps *logstore.Snapshots, members []fsm.Member) error {
	formed, err := r.state.Reformed(members)
	if err != nil {
		return err
	}
	var servers raft.Configuration
	for _, m := range members {
		servers.Servers = append(servers.Servers, raft.Server{ID: raft.ServerID(m.ID), Address: raft.ServerAddress(m.ID)})
	}
	sink, err := snaps.Create(raft.SnapshotVersionMax, r.Last, r.Term, servers, 1, nil)
	if err != nil {
		return err
	}
	return formed.Persist(sink)
}
