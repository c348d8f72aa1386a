package cluster

import (
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// gate is Raft's transport, with a say of ours in what passes. It keeps a
// node whose disk hangs silent, a node that has not been vouched for from
// voting and standing, and entries from a node without room for them.
type gate struct {
	*raft.NetworkTransport
	// mayVote and hasRoom say why not; nil: it may, it has.
	mayVote func() error
	hasRoom func(bytes int) error
	// acked hears what a follower has for good: the entry at index is
	// committed and on its disk.
	acked func(id string, index uint64)
	// leadsTo tells whether this node, as the leader of a term, still has to
	// reach another; heard takes in the commit index that a leader names
	// in what is passed on.
	leadsTo func(id string, term uint64) bool
	heard   func(commit uint64)

	rpcs   chan raft.RPC
	closed chan struct{}
	once   sync.Once
	silent atomic.Bool

	mu      sync.Mutex
	full    map[string]string // what followers without room said last
	reached map[string]*reach
}

var (
	_ raft.Transport   = (*gate)(nil)
	_ raft.WithPreVote = (*gate)(nil)
	_ raft.WithClose   = (*gate)(nil)
)

// open gives a gate, whose functions are set, what it stands before.
func (g *gate) open(inner *raft.NetworkTransport) *gate {
	g.NetworkTransport = inner
	g.rpcs, g.closed = make(chan raft.RPC), make(chan struct{})
	g.full, g.reached = map[string]string{}, map[string]*reach{}
	go g.pass()
	return g
}

var errSilent = errors.New("silent: a disk operation hangs")

// noRoom begins what a follower says that has no room for entries. It travels
// as text.
const noRoom = "no room for entries: "

// pass hands on what others ask, unless it is refused.
func (g *gate) pass() {
	for {
		select {
		case rpc := <-g.NetworkTransport.Consumer():
			if err := g.refuses(rpc.Command); err != nil {
				go turnAway(rpc, err)
				continue
			}
			if r, ok := rpc.Command.(*raft.AppendEntriesRequest); ok {
				g.heard(r.LeaderCommitIndex) // no heartbeat: those go by the handler
			}
			select {
			case g.rpcs <- rpc:
			case <-g.closed:
				return
			}
		case <-g.closed:
			return
		}
	}
}

// turnAway answers with an error. What belongs to the request is read first:
// the connection goes on behind it.
func turnAway(rpc raft.RPC, err error) {
	if rpc.Reader != nil {
		_, _ = io.Copy(io.Discard, rpc.Reader) // the connection ends where this fails
	}
	rpc.Respond(nil, err)
}

// refuses says why a request of another node is not passed on.
func (g *gate) refuses(command any) error {
	if g.silent.Load() {
		return errSilent
	}
	bytes := 0
	switch c := command.(type) {
	case *raft.RequestVoteRequest, *raft.RequestPreVoteRequest, *raft.TimeoutNowRequest:
		return g.mayVote()
	case *raft.AppendEntriesRequest:
		if len(c.Entries) == 0 {
			return nil
		}
		for _, e := range c.Entries {
			bytes += len(e.Data)
		}
	case *raft.InstallSnapshotRequest:
	default:
		return nil
	}
	if err := g.hasRoom(bytes); err != nil {
		return errors.New(noRoom + err.Error())
	}
	return nil
}

// Consumer gives Raft what is passed on.
func (g *gate) Consumer() <-chan raft.RPC { return g.rpcs }

// SetHeartbeatHandler has a silent node answer no heartbeat either.
func (g *gate) SetHeartbeatHandler(handle func(raft.RPC)) {
	g.NetworkTransport.SetHeartbeatHandler(func(rpc raft.RPC) {
		if err := g.refuses(rpc.Command); err != nil {
			rpc.Respond(nil, err)
			return
		}
		handle(rpc)
	})
}

// AppendEntries sends entries or a heartbeat. Entries are sent until they are
// answered; see persist.
func (g *gate) AppendEntries(id raft.ServerID, target raft.ServerAddress, r *raft.AppendEntriesRequest, reply *raft.AppendEntriesResponse) error {
	try := func() error { return g.tryEntries(id, target, r, reply) }
	if r.PrevLogEntry == 0 && len(r.Entries) == 0 && r.LeaderCommitIndex == 0 {
		err := try()
		g.noteHeartbeat(string(id), err == nil)
		return err
	}
	return g.persist(string(id), r.Term, try)
}

// tryEntries sends entries or a heartbeat once.
func (g *gate) tryEntries(id raft.ServerID, target raft.ServerAddress, r *raft.AppendEntriesRequest, reply *raft.AppendEntriesResponse) error {
	if g.silent.Load() {
		return errSilent
	}
	err := g.NetworkTransport.AppendEntries(id, target, r, reply)
	g.noteRoom(string(id), len(r.Entries) > 0, err)
	if err == nil && reply.Success {
		g.acked(string(id), min(r.PrevLogEntry+uint64(len(r.Entries)), r.LeaderCommitIndex))
	}
	return err
}

// noteRoom remembers who has no room.
func (g *gate) noteRoom(id string, entries bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err != nil && strings.HasPrefix(err.Error(), noRoom):
		g.full[id] = strings.TrimPrefix(err.Error(), noRoom)
	case err == nil && entries:
		delete(g.full, id)
	}
}

// withoutRoom returns what a follower said when it had no room for entries
// the last time it was sent any, "" where it took them.
func (g *gate) withoutRoom(id string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.full[id]
}

// InstallSnapshot sends a snapshot, once the node answers.
func (g *gate) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, r *raft.InstallSnapshotRequest, reply *raft.InstallSnapshotResponse, data io.Reader) error {
	g.awaitReach(string(id), r.Term)
	if g.silent.Load() {
		return errSilent
	}
	err := g.NetworkTransport.InstallSnapshot(id, target, r, reply, data)
	g.noteRoom(string(id), true, err)
	return err
}

// RequestVote asks for a vote.
func (g *gate) RequestVote(id raft.ServerID, target raft.ServerAddress, r *raft.RequestVoteRequest, reply *raft.RequestVoteResponse) error {
	if err := g.mayStand(); err != nil {
		return err
	}
	return g.NetworkTransport.RequestVote(id, target, r, reply)
}

// RequestPreVote asks whether a vote would be given.
func (g *gate) RequestPreVote(id raft.ServerID, target raft.ServerAddress, r *raft.RequestPreVoteRequest, reply *raft.RequestPreVoteResponse) error {
	if err := g.mayStand(); err != nil {
		return err
	}
	return g.NetworkTransport.RequestPreVote(id, target, r, reply)
}

func (g *gate) mayStand() error {
	if g.silent.Load() {
		return errSilent
	}
	return g.mayVote()
}

// TimeoutNow has another node stand for election.
func (g *gate) TimeoutNow(id raft.ServerID, target raft.ServerAddress, r *raft.TimeoutNowRequest, reply *raft.TimeoutNowResponse) error {
	if g.silent.Load() {
		return errSilent
	}
	return g.NetworkTransport.TimeoutNow(id, target, r, reply)
}

// release ends what waits to be sent again; nothing is passed on any more.
func (g *gate) release() { g.once.Do(func() { close(g.closed) }) }

// Close ends the transport.
func (g *gate) Close() error {
	g.release()
	return g.NetworkTransport.Close()
}
