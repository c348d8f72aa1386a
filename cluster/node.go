package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"floe/cluster/logstore"
	"floe/fsm"
)

// Node is one member of a floe cluster, or a process that wants to be one.
// Its methods are safe for concurrent use.
type Node struct {
	cfg     Config
	log     hclog.Logger
	raftLog hclog.Logger
	id      string
	nonce   string // tells this process from others that claim the id
	started time.Time

	lock    *logstore.DirLock
	state   *fsm.State
	book    *addressBook
	streams *streams
	methods methods
	leaders *leaderWatch

	half     atomic.Pointer[half] // nil while no raft half runs
	draining atomic.Bool
	leaving  atomic.Bool // Leave is under way, and notes the end itself
	poke     *broadcast  // something about this node changed
	stirred  *broadcast  // gossip saw a node come or go

	ring      ring
	space     *space
	witness   *witness
	marks     marks
	vouched   atomic.Bool // others have told what they know of this node
	abandoned atomic.Bool // a disk operation hangs for good: the process has to end
	gaveUp    atomic.Pointer[time.Time]
	diverged  atomic.Pointer[difference] // this state is not that of the others

	// identity is what identity.json says. Readers take no lock: writing it
	// may take as long as the disk likes.
	identity   atomic.Pointer[logstore.Identity]
	identityMu sync.Mutex // one writer at a time

	mu        sync.Mutex
	disk      *disk
	addresses map[string][]string
	problems  map[string]string
	promise   promise

	joins chan *joinOrder
	fatal chan error
	wg    sync.WaitGroup
}

// Open takes a data directory, makes it where it is missing, checks it, and
// loads the last applied state, which View gives from now on. The caller has
// to call Run, or Close if it never does.
//
// Errors: *logstore.LockedError, *logstore.ForeignDataError,
// *[DamagedData] and others of logstore, *[WrongID].
func Open(cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := logstore.CheckDir(cfg.DataDir); err != nil {
		return nil, err
	}
	if err := checkRecovered(cfg.DataDir); err != nil {
		return nil, err
	}
	lock, err := logstore.Lock(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	n := newNode(cfg, lock)
	if err := n.load(); err != nil {
		return nil, errors.Join(n.explain(err), n.Close())
	}
	n.serveMethods()
	return n, nil
}

func newNode(cfg Config, lock *logstore.DirLock) *Node {
	n := &Node{
		cfg: cfg, log: cfg.Log.Named("cluster"), raftLog: newRaftLog(cfg.Log.Named("raft")), nonce: randomHex(8), started: time.Now(), lock: lock,
		leaders: newLeaderWatch(), poke: newBroadcast(), stirred: newBroadcast(), problems: map[string]string{},
		joins: make(chan *joinOrder), fatal: make(chan error, 1), addresses: maps.Clone(cfg.Addresses),
		space: newSpace(cfg),
	}
	n.identity.Store(&logstore.Identity{})
	n.state = fsm.New(fsm.Config{Log: cfg.Log.Named("fsm"), OnHalt: func(h *fsm.Halt) { n.setProblem("state", h.Error()) }})
	return n
}

func (n *Node) load() error {
	var err error
	if n.disk, err = n.openDisk(); err != nil {
		return err
	}
	if err := n.readIdentity(); err != nil {
		return err
	}
	n.id = n.Identity().NodeID
	n.book = newAddressBook(n.id)
	n.streams = newStreams(n.cfg.Network.Raft, n.book, n.clusterID)
	if err := n.restore(); err != nil {
		return err
	}
	n.noteMembers()
	n.marks.stand(n.View())
	n.loadWitness()
	return n.loadKeys()
}

// Close gives the data directory back. It is for a node whose Run is not
// running; Run does it at its own end.
func (n *Node) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	if n.disk != nil {
		err = n.disk.store.Close()
		n.disk = nil
	}
	if n.lock != nil {
		err = errors.Join(err, n.lock.Release())
		n.lock = nil
	}
	return err
}

// ID returns the node's id.
func (n *Node) ID() string { return n.id }

// View returns this node's copy of the state.
func (n *Node) View() *fsm.View { return n.state.View() }

// Changed returns a channel that is closed at the next change of the View.
// Take it before looking at the View.
func (n *Node) Changed() <-chan struct{} { return n.state.Changed() }

// SetAddresses changes what others are told of the node's listeners, apart
// from "peer". See fsm.Member.
func (n *Node) SetAddresses(addresses map[string][]string) {
	n.mu.Lock()
	n.addresses = maps.Clone(addresses)
	n.mu.Unlock()
	n.poke.fire()
}

// PeerAddress returns the host:port of a node's peer port as last heard.
func (n *Node) PeerAddress(id string) (string, bool) {
	if id == n.id {
		return n.cfg.Network.Address, true
	}
	return n.book.pick(id)
}

// clusterID is what the cluster goes by between nodes; see clusterOf.
func (n *Node) clusterID() string { return n.Identity().ClusterID }

// Run does the node's work until ctx ends, and returns nil then. Other
// errors end the process: *[DuplicateID], *[OtherCluster], *[Refused] by the
// cluster to join, errors of the data directory. Call it once.
//
// At its end it stops in this order: leadership is handed over, Raft stops,
// gossip says good-bye, background work ends, the store is closed, the lock
// is released. The caller stops its faces before and its peer port after.
// Where a disk operation hangs, it returns an error without all that, and the
// process has to end.
func (n *Node) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	n.wg.Go(n.streams.run)
	n.wg.Go(func() { n.watchSpace(ctx) })
	err := n.live(ctx)
	cancel()
	n.stopNetwork()
	if n.abandoned.Load() {
		return errors.Join(err, fmt.Errorf("node %s, data directory %s: a disk operation hangs; ended without waiting for it", n.id, n.cfg.DataDir))
	}
	n.wg.Wait()
	n.writeWitness()
	n.noteCommit()
	return errors.Join(err, n.Close())
}

func (n *Node) stopNetwork() {
	close(n.streams.done)
	n.streams.layer.Close()
	if g := n.cfg.Network.Gossip; g != nil {
		g.Shutdown()
	}
}

// noteCommit keeps the applied index, so that an older copy of the log is
// noticed at the next start.
func (n *Node) noteCommit() {
	if n.Identity().State != logstore.Member {
		return
	}
	index := n.View().Index
	if err := n.updateIdentity(func(id *logstore.Identity) { id.CommitIndex = max(id.CommitIndex, index) }); err != nil {
		n.log.Warn("could not note the applied index", "error", err)
	}
}

// live goes through the phases of a node's life.
func (n *Node) live(ctx context.Context) error {
	n.logStart()
	if err := n.checkStart(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil && !n.abandoned.Load() {
		if err := n.phase(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (n *Node) phase(ctx context.Context) error {
	switch n.Identity().State {
	case logstore.New:
		return n.begin(ctx)
	case logstore.Left, logstore.Removed:
		return n.idle(ctx)
	}
	return n.serveGroup(ctx)
}

func (n *Node) logStart() {
	id := n.Identity()
	n.log.Info("node starts", "node", id.NodeID, "state", id.State, "cluster", id.ClusterID, "index", n.View().Index)
	if id.State != logstore.New && (n.cfg.BootstrapExpect > 0 || n.cfg.NonVoter) {
		n.log.Info("the data directory says what this node is: --bootstrap-expect and --non-voter change nothing", "dir", n.cfg.DataDir)
	}
}

// end has Run return an error.
func (n *Node) end(err error) {
	select {
	case n.fatal <- err:
	default:
	}
}

// setProblem notes what is wrong for Status; an empty text takes it back.
func (n *Node) setProblem(key, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.problems[key] == text {
		return
	}
	if text == "" {
		delete(n.problems, key)
		return
	}
	n.problems[key] = text
	n.log.Warn("problem", "what", text)
}

func (n *Node) listProblems() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]string, 0, len(n.problems))
	for _, key := range slices.Sorted(maps.Keys(n.problems)) {
		if key == "leader" && n.LeaderID() != "" { // found since the last look
			continue
		}
		out = append(out, n.problems[key])
	}
	return out
}

// noteMembers has the address book follow the state.
func (n *Node) noteMembers() {
	addresses := map[string]string{}
	for _, m := range n.View().Members {
		if a := m.Address("peer"); a != "" {
			addresses[m.ID] = a
		}
	}
	n.book.setReplicated(addresses)
}

// member is what the cluster should know of this node.
func (n *Node) member() fsm.Member {
	stored, known := n.View().Member(n.id)
	n.mu.Lock()
	defer n.mu.Unlock()
	addresses := maps.Clone(n.addresses)
	if addresses == nil {
		addresses = map[string][]string{}
	}
	addresses["peer"] = []string{n.cfg.Network.Address}
	nonVoter := n.cfg.NonVoter
	if known {
		nonVoter = stored.NonVoter
	}
	return fsm.Member{
		ID: n.id, Incarnation: incarnationOf(n.Identity()), Addresses: addresses, Program: n.cfg.Program,
		Supports: fsm.ProgramVersion, NonVoter: nonVoter,
	}
}

// errOutOfService: no raft half runs here.
func (n *Node) errOutOfService() error {
	id := n.Identity()
	switch id.State {
	case logstore.Left:
		return fmt.Errorf("node %s left cluster %s; floe join HOST:PORT enters a cluster again", n.id, id.ClusterID)
	case logstore.Removed:
		return fmt.Errorf("node %s was removed from cluster %s; floe join HOST:PORT enters a cluster again", n.id, id.ClusterID)
	case logstore.New:
		return fmt.Errorf("node %s is in no cluster yet", n.id)
	}
	if err := n.stopped(); err != nil {
		return err
	}
	return fmt.Errorf("node %s is starting or stopping", n.id)
}
