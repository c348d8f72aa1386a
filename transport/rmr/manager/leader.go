package manager

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"floe/fsm"
)

// roll is what the leader knows of the nodes: who lives, by who renewed its
// lease.
type roll struct {
	mu       sync.Mutex
	since    time.Time // it leads; zero: it does not
	heard    map[string]time.Time
	known    map[string]time.Time // when a node was first seen in the group
	resigned map[string]bool
}

func newRoll() *roll {
	return &roll{heard: map[string]time.Time{}, known: map[string]time.Time{}, resigned: map[string]bool{}}
}

var errNotLeader = errors.New("this node is not the leader")

// renewed answers a node that lives. It is heard before the leader makes sure
// that it leads: so whoever leads later leads for longer than this lease.
func (m *Manager) renewed(ctx context.Context, from string, _ []byte) ([]byte, error) {
	if !m.cfg.Group.IsLeader() {
		return nil, errNotLeader
	}
	if !isServer(m.cfg.Group.View(), from) {
		return nil, fmt.Errorf("node %s is not in the group", from)
	}
	m.roll.hear(from, time.Now())
	v, err := m.cfg.Group.Read(ctx)
	if err != nil {
		return nil, err
	}
	if !m.cfg.Group.IsLeader() { // another one may have answered the read
		return nil, errNotLeader
	}
	return binary.BigEndian.AppendUint64(nil, v.Index), nil
}

// resignedNow answers a node that stops.
func (m *Manager) resignedNow(ctx context.Context, from string, _ []byte) ([]byte, error) {
	if !m.cfg.Group.IsLeader() {
		return nil, errNotLeader
	}
	m.roll.resign(from)
	return nil, m.assign(ctx)
}

func isServer(v *fsm.View, node string) bool {
	return slices.ContainsFunc(v.Servers, func(s fsm.Server) bool { return s.ID == node })
}

func (r *roll) hear(node string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard[node] = now
	delete(r.resigned, node)
}

func (r *roll) resign(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resigned[node] = true
}

// lead gives the apps of dead nodes to others while this node is the leader.
func (m *Manager) lead(ctx context.Context) {
	for ctx.Err() == nil {
		changed := m.cfg.Group.LeaderChanged()
		m.roll.leads(m.cfg.Group.IsLeader(), time.Now())
		if err := m.assign(ctx); err != nil && ctx.Err() == nil {
			m.complain.warn("apps of dead nodes could not be given to others", "error", err)
		}
		waitFor(ctx, changed, m.cfg.Lease/12)
	}
}

func (r *roll) leads(leads bool, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !leads:
		r.since = time.Time{}
	case r.since.IsZero():
		r.since = now
	}
}

// assign commits who is out, who is back, and who serves the apps of those
// that are out, if that is another thing than what holds.
func (m *Manager) assign(ctx context.Context) error {
	if !m.cfg.Group.IsLeader() {
		return nil
	}
	v := m.cfg.Group.View()
	op := m.roll.serving(v, time.Now(), m.cfg.Lease+m.cfg.margin())
	if v.Version < servingVersion || len(op.Out)+len(op.In)+len(op.Assign) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := m.cfg.Group.Propose(ctx, op, "route manager"); err != nil {
		return err
	}
	m.log.Info("nodes that serve apps", "out", op.Out, "back", op.In, "apps moved", len(op.Assign))
	return nil
}

// servingVersion is the cluster version from which on apps are part of the
// state.
const servingVersion = 3

// serving returns the change that is due.
func (r *roll) serving(v *fsm.View, now time.Time, limit time.Duration) fsm.SetServing {
	r.mu.Lock()
	defer r.mu.Unlock()
	var op fsm.SetServing
	if r.since.IsZero() {
		return op
	}
	r.meet(v, now)
	dead := func(node string) bool {
		if r.resigned[node] || r.known[node].IsZero() {
			return true
		}
		last := latest(r.since, r.heard[node], r.known[node])
		return now.Sub(last) > limit
	}
	for _, s := range v.Servers {
		if dead(s.ID) && !v.Distribution.IsOut(s.ID) {
			op.Out = append(op.Out, s.ID)
		}
	}
	for _, node := range v.Distribution.Out {
		if r.known[node].IsZero() || !dead(node) && now.Sub(r.heard[node]) <= limit {
			op.In = append(op.In, node)
		}
	}
	op.Assign = assignments(v, dead)
	return op
}

// meet notes who is in the group, and since when this leader knows it. Of
// who left it takes note like of any other that is not heard of: it may be
// pushing still.
func (r *roll) meet(v *fsm.View, now time.Time) {
	here := map[string]bool{}
	for _, s := range v.Servers {
		here[s.ID] = true
		if r.known[s.ID].IsZero() {
			r.known[s.ID] = now
		}
	}
	for _, a := range v.Apps {
		if !here[a.Node] && r.known[a.Node].IsZero() {
			r.known[a.Node] = now
		}
	}
	for node := range r.known {
		if !here[node] && !slices.ContainsFunc(v.Apps, func(a fsm.App) bool { return a.Node == node }) {
			delete(r.known, node)
			delete(r.heard, node)
			delete(r.resigned, node)
		}
	}
}

// assignments gives the apps of the dead to the living, to who has fewest
// first.
func assignments(v *fsm.View, dead func(string) bool) []fsm.Assignment {
	var orphans []fsm.App
	load := map[string]int{}
	for _, a := range v.Apps {
		if load[a.Node]++; dead(a.Node) {
			orphans = append(orphans, a)
		}
	}
	nodes := willing(v, dead)
	if len(orphans) == 0 || len(nodes) == 0 {
		return nil
	}
	var out []fsm.Assignment
	for _, a := range orphans {
		to := slices.MinFunc(nodes, func(a, b string) int { return load[a] - load[b] })
		load[to]++
		out = append(out, fsm.Assignment{Name: a.Name, Serial: a.Serial, Node: to})
	}
	return out
}

// willing are the living nodes with a listener for apps or, if no node has
// one, all.
func willing(v *fsm.View, dead func(string) bool) []string {
	var all, listening []string
	for _, s := range v.Servers {
		if dead(s.ID) {
			continue
		}
		all = append(all, s.ID)
		if member, _ := v.Member(s.ID); member.Address(Listener) != "" {
			listening = append(listening, s.ID)
		}
	}
	if len(listening) > 0 {
		return listening
	}
	return all
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
