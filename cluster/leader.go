package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"floe/cluster/logstore"
	"floe/fsm"
)

// quiet is how long nothing has to change before the leader adds a barrier:
// a commit index reaches the disks with the next entry only.
const quiet = time.Second

// promoteLag is how many entries a joiner may be behind when it gets its vote:
// under load it is never at the leader's last one.
const promoteLag = 64

// lead does what only the leader does, while this node is the leader.
func (h *half) lead(ctx context.Context) {
	var l leadership
	for ctx.Err() == nil {
		changed, leader := h.n.state.Changed(), h.n.leaders.changed.next()
		wait := h.n.cfg.Timing.Election
		if h.raft.State() == raft.Leader && h.settle(ctx) {
			l.duties(ctx, h)
			wait = min(wait, quiet/4)
		}
		select {
		case <-changed:
			pause(ctx, 10*time.Millisecond) // many changes, one look
		case <-leader:
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// settle makes sure that everything of former terms is applied.
func (h *half) settle(ctx context.Context) bool {
	if h.leads() {
		return true
	}
	term := h.raft.CurrentTerm()
	_, err := h.await(ctx, func() raft.Future { return h.raft.Barrier(DefaultTimeout) })
	if err != nil || h.raft.CurrentTerm() != term || h.raft.State() != raft.Leader {
		return false
	}
	h.ready.Store(term)
	h.n.log.Info("leading", "term", term)
	h.n.poke.fire()
	return true
}

// leadership is what a leader remembers between two looks.
type leadership struct {
	barrier uint64 // index of the last barrier proposed
	asked   time.Time
}

func (l *leadership) duties(ctx context.Context, h *half) {
	view := h.n.View()
	if view.ClusterID == "" {
		h.nameCluster(ctx)
		return
	}
	l.addBarrier(ctx, h)
	if time.Since(l.asked) < h.n.cfg.Timing.Election/4 {
		return
	}
	l.asked = time.Now()
	h.promote(ctx, view)
	h.raiseVersion(ctx, view)
}

// nameCluster is the first command of a new cluster.
func (h *half) nameCluster(ctx context.Context) {
	op := fsm.Init{ClusterID: h.n.clusterID(), Instance: h.n.cfg.Instance, Version: fsm.ProgramVersion}
	if _, err := h.n.Propose(ctx, op, "node "+h.n.id); err != nil && !errors.Is(err, fsm.ErrInitialised) && ctx.Err() == nil {
		h.n.log.Warn("cluster not named yet", "error", err)
	}
}

// addBarrier proposes a barrier once it has been quiet.
func (l *leadership) addBarrier(ctx context.Context, h *half) {
	last := h.replica.latest.Load()
	if last == nil || last.index <= l.barrier || time.Since(last.at) < quiet {
		return
	}
	if r, err := h.n.Propose(ctx, fsm.Barrier{}, "node "+h.n.id); err == nil {
		l.barrier = r.Index
	}
}

// promote gives their vote to joiners that have caught up.
func (h *half) promote(ctx context.Context, view *fsm.View) {
	for _, s := range view.Servers {
		if member, known := view.Member(s.ID); s.Voter || !known || member.NonVoter {
			continue
		}
		select {
		case h.voting <- struct{}{}:
		default:
			return // a node is being removed, this one maybe; the next round sees
		}
		h.promoteOne(ctx, s.ID)
		<-h.voting
	}
}

// promoteOne gives one joiner its vote, if it has none, has caught up and is
// in the group still: no removal is under way.
func (h *half) promoteOne(ctx context.Context, id string) {
	view := h.n.View()
	member, known := view.Member(id)
	info, ok := h.n.askAround(ctx, []string{id})[id]
	caughtUp := ok && info.Applied > 0 && info.Applied+promoteLag >= view.Index
	if !known || !caughtUp || info.Unproven || info.Incarnation != member.Incarnation || info.Supports < view.Version {
		return
	}
	if voter, found := h.suffrage(id); voter || !found || !h.leads() {
		return
	}
	err := h.change(ctx, func(timeout time.Duration) raft.IndexFuture {
		return h.raft.AddVoter(raft.ServerID(id), raft.ServerAddress(id), 0, timeout)
	})
	if err != nil {
		h.n.log.Warn("node not promoted", "node", id, "error", err)
		return
	}
	h.n.log.Info("node promoted to voter", "node", id)
}

// raiseVersion raises the cluster version to what every voter and every node
// that can be reached supports.
func (h *half) raiseVersion(ctx context.Context, view *fsm.View) {
	if view.Version >= fsm.ProgramVersion {
		return
	}
	ids := make([]string, 0, len(view.Servers))
	for _, s := range view.Servers {
		ids = append(ids, s.ID)
	}
	infos := h.n.askAround(ctx, ids)
	lowest := uint32(fsm.ProgramVersion)
	for _, s := range view.Servers {
		info, ok := infos[s.ID]
		if !ok && s.Voter {
			return
		}
		if ok {
			lowest = min(lowest, info.Supports)
		}
	}
	if lowest > view.Version {
		if _, err := h.n.Propose(ctx, fsm.RaiseVersion{Version: lowest}, "node "+h.n.id); err != nil {
			h.n.log.Warn("cluster version not raised", "version", lowest, "error", err)
		}
	}
}

// announce tells the cluster about this node whenever what the state says of
// it is not the truth.
func (h *half) announce(ctx context.Context) {
	n := h.n
	wait := 2 * lookSoon
	for ctx.Err() == nil {
		changed, poked, leader := n.Changed(), n.poke.next(), n.leaders.changed.next()
		view := n.View()
		stored, _ := view.Member(n.id)
		truth := n.member()
		retry := lookCalm
		if view.ClusterID != "" && inServers(view, n.id) && n.LeaderID() != "" && !stored.Equal(truth) {
			retry = wait
			wait = min(2*wait, lookLater)
			if _, err := n.Propose(ctx, fsm.SetMember{Member: truth}, "node "+n.id); err == nil {
				wait = 2 * lookSoon
			} else if errors.Is(err, fsm.ErrStale) {
				h.askBelonging(ctx)
			}
		}
		select {
		case <-changed:
		case <-poked:
		case <-leader:
		case <-time.After(retry):
		case <-ctx.Done():
		}
	}
}

func inServers(view *fsm.View, id string) bool {
	for _, s := range view.Servers {
		if s.ID == id {
			return true
		}
	}
	return false
}

// watchState follows the group as the state shows it: addresses, and whether
// this node is in it.
func (h *half) watchState(ctx context.Context) {
	n := h.n
	for {
		changed := n.Changed()
		n.noteMembers()
		view := n.View()
		id := n.Identity()
		in := inServers(view, n.id)
		switch {
		case id.State == logstore.Joining && in && view.ClusterID == clusterOf(id.ClusterID):
			h.becomeMember(view.Index)
		case id.State == logstore.Member && len(view.Servers) > 0 && !in:
			h.askBelonging(ctx)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (h *half) becomeMember(index uint64) {
	err := h.n.updateIdentity(func(id *logstore.Identity) { id.State, id.PromisedTo, id.CommitIndex = logstore.Member, "", index })
	if err != nil {
		h.n.end(err)
		return
	}
	h.n.setProblem("join", "")
	h.n.log.Info("member of the cluster", "cluster", h.n.clusterID(), "index", index)
	h.n.poke.fire()
}
