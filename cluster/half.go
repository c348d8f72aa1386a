package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
)

// half is the raft half of a node while it runs: one Raft instance with what
// belongs to it.
type half struct {
	n        *Node
	raft     *raft.Raft
	conf     raft.Config
	trans    *gate
	layer    *streamLayer
	replica  *replica
	disk     *disk
	reads    reads
	progress *progress // of the leader, as a follower hears of it
	gossip   atomic.Pointer[gossip]

	ready    atomic.Uint64 // the term whose barrier this leader has applied
	caughtUp atomic.Bool   // was once as far as a leader
	voting   chan struct{} // has an element while this leader gives a node its vote or removes one
	done     chan struct{} // closed by finish
	gone     chan struct{} // closed once Raft has stopped
	once     sync.Once
	wg       sync.WaitGroup
	mu       sync.Mutex
	stopped  bool
}

// spawn runs f as a goroutine that stop waits for, unless it is too late.
func (h *half) spawn(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return false
	}
	h.wg.Go(f)
	return true
}

// finish has the half stop; the phase then follows the identity.
func (h *half) finish() { h.once.Do(func() { close(h.done) }) }

// rpcsInFlight is 1, which is no pipeline: that of Raft may wedge towards one
// follower, see DESIGN.md. A variable for the benchmark of what it costs.
var rpcsInFlight = 1

func (n *Node) raftConfig() raft.Config {
	t := n.cfg.Timing
	c := *raft.DefaultConfig()
	c.LocalID = raft.ServerID(n.id)
	// A millisecond over: startAlone lowers it, which wakes Raft's timer.
	c.HeartbeatTimeout = t.Election + time.Millisecond
	c.ElectionTimeout = t.Election + time.Millisecond
	c.LeaderLeaseTimeout = t.Election
	c.CommitTimeout = max(t.Election/8, 10*time.Millisecond)
	c.MaxAppendEntries = 256
	c.BatchApplyCh = true
	c.SnapshotThreshold = n.cfg.SnapshotThreshold
	c.SnapshotInterval = n.cfg.SnapshotInterval
	c.TrailingLogs = n.cfg.SnapshotThreshold
	c.RestoreCommittedLogs = true
	c.NoSnapshotRestoreOnStart = true // Open did it, and replayed what is known to be committed
	c.Logger = n.raftLog
	return c
}

// startHalf starts Raft on the data directory.
func (n *Node) startHalf() (h *half, err error) {
	h = &half{n: n, conf: n.raftConfig(), disk: n.disk, done: make(chan struct{}), gone: make(chan struct{}), voting: make(chan struct{}, 1)}
	h.replica = newReplica(n.state, &n.marks, n.disk.snaps.Newest())
	h.layer = n.streams.forRaft(n.id)
	h.progress = newProgress(n.cfg.Timing)
	h.trans = (&gate{
		mayVote: n.mayVote, hasRoom: n.space.admit, acked: n.witness.acked, leadsTo: n.leadsTo,
		heard: func(commit uint64) { h.progress.hear(time.Now(), commit) },
	}).open(raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		ServerAddressProvider: n.book,
		Logger:                n.raftLog,
		Stream:                h.layer,
		MaxPool:               4,
		MaxRPCsInFlight:       rpcsInFlight,
		Timeout:               max(5*n.cfg.Timing.Election, time.Second),
	}))
	trans := h.trans
	defer func() {
		if err != nil {
			trans.Close()
		}
	}()
	if err := n.prepareLog(h); err != nil {
		return nil, err
	}
	store := n.disk.store.ForRaft()
	err = store.Start(func() (err error) {
		h.raft, err = raft.NewRaft(&h.conf, h.replica, store, store, n.disk.snaps, h.trans)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("start raft: %w", err)
	}
	return h, nil
}

// prepareLog ties the log to the identity, and founds a cluster where the
// identity says that this node does.
func (n *Node) prepareLog(h *half) error {
	id := n.Identity()
	if err := n.disk.store.SetOwner(id); err != nil {
		return err
	}
	if id.State != logstore.Joining || id.PromisedTo != founding {
		return nil
	}
	servers := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(n.id), Address: raft.ServerAddress(n.id)}}}
	err := raft.BootstrapCluster(&h.conf, n.disk.store, n.disk.store, n.disk.snaps, h.trans, servers)
	if err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return fmt.Errorf("found cluster: %w", err)
	}
	return nil
}

// startAlone has the only voter of a cluster campaign at once.
func (h *half) startAlone() {
	if servers := h.servers(); len(servers) != 1 || servers[0].ID != raft.ServerID(h.n.id) {
		return
	}
	reload := h.raft.ReloadableConfig()
	reload.HeartbeatTimeout, reload.ElectionTimeout = h.n.cfg.Timing.Election, h.n.cfg.Timing.Election
	if err := h.raft.ReloadConfig(reload); err != nil {
		h.n.log.Warn("election not hastened", "error", err)
	}
}

// serveGroup runs the raft half until ctx ends, or it has to stop.
func (n *Node) serveGroup(ctx context.Context) error {
	if n.stopped() != nil {
		return n.outOfService(ctx)
	}
	h, err := n.startHalf()
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(ctx)
	h.goAll(run)
	n.half.Store(h)
	h.startAlone()
	n.poke.fire()

	select {
	case <-ctx.Done():
	case <-h.done:
	case <-h.disk.health.Done():
	case err = <-n.fatal:
	}
	h.handOver()
	n.half.Store(nil)
	n.leaders.set("")
	cancel()
	h.stop()
	return err
}

// goAll starts the half's background work; it ends with ctx.
func (h *half) goAll(ctx context.Context) {
	for _, work := range []func(context.Context){
		h.watchRaft, h.watchState, h.lookAround, h.announce, h.lead, h.hint, h.runGossip, h.watchDisk, h.enrol, h.catchUp, h.vouch, h.keepWitness, h.compare, h.removeDead,
	} {
		h.wg.Go(func() { work(ctx) })
	}
}

// stop ends Raft and waits for everything.
func (h *half) stop() {
	h.mu.Lock()
	h.stopped = true
	h.mu.Unlock()
	shutdown := h.raft.Shutdown()
	h.trans.release()
	h.layer.Close() // wakes what waits for the network
	if !h.awaitShutdown(shutdown) {
		h.n.abandoned.Store(true)
		close(h.gone) // nobody answers any more
		return
	}
	h.trans.Close()
	close(h.gone)
	h.wg.Wait()
}

// servers are those of the latest configuration, committed or not.
func (h *half) servers() []raft.Server {
	f := h.raft.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// leader returns the id of the leader this node knows of, "" for none.
func (h *half) leader() string {
	_, id := h.raft.LeaderWithID()
	if string(id) == h.n.id && (h.raft.State() != raft.Leader || h.trans.silent.Load()) {
		return ""
	}
	return string(id)
}

// leads tells whether this node is the leader, has applied all that went
// before its term, and may speak for the group.
func (h *half) leads() bool {
	term := h.ready.Load()
	return term != 0 && h.raft.CurrentTerm() == term && h.raft.State() == raft.Leader && !h.trans.silent.Load()
}

// watchRaft tells the rest of the node of elections.
func (h *half) watchRaft(ctx context.Context) {
	events := make(chan raft.Observation, 64)
	o := raft.NewObserver(events, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.LeaderObservation, raft.RaftState:
			return true
		}
		return false
	})
	h.raft.RegisterObserver(o)
	defer h.raft.DeregisterObserver(o)
	for {
		h.n.leaders.set(h.leader())
		select {
		case <-events:
		case <-time.After(h.n.cfg.Timing.Election): // events may be dropped
		case <-ctx.Done():
			return
		}
	}
}
