package manager

import (
	"context"
	"slices"
	"time"

	"floe/fsm"
	"floe/routing"
)

// edition is all that decides what apps are sent, at one moment. It never
// changes; two of them that give the same are one.
type edition struct {
	version uint64 // of the table, for people and for acknowledgements
	state   routing.State
	gone    *routing.Tombstones
	outline *outline
	senders *senders
}

// newEdition returns what apps are to be sent by a view: old itself where
// nothing changed, nil while there is no table.
func newEdition(old *edition, v *fsm.View, node string) *edition {
	if v.Routes.Version == 0 {
		return nil
	}
	e := &edition{version: v.TableVersion(), state: v.Routes.State(), gone: v.Routes.Gone, outline: newOutline(v, node)}
	if old == nil {
		e.senders = newSenders(e.state.Table, v.Apps)
		return e
	}
	if e.outline.equal(old.outline) {
		e.outline = old.outline
	}
	e.senders = old.senders.after(e.state.Table, v.Apps)
	if e.version == old.version && e.state == old.state && e.outline == old.outline && e.senders == old.senders {
		return old
	}
	return e
}

// Pauses between two editions: changes that come faster are taken together.
const (
	minPause = 20 * time.Millisecond
	maxPause = time.Second
)

// follow keeps edition and sessions up to the state until ctx ends.
func (m *Manager) follow(ctx context.Context) {
	var apps []fsm.App
	var out []string
	for ctx.Err() == nil {
		changed := m.cfg.Group.Changed()
		began := time.Now()
		v := m.cfg.Group.View()
		old := m.edition.Load()
		e := newEdition(old, v, m.node)
		m.edition.Store(e)
		switch before, from := m.followed.Swap(v.Index), m.lease.began(); {
		case v.Index < before:
			m.lease.drop() // the copy begins anew
		case before < from && from <= v.Index:
			m.wakeAll() // now the lease covers it
		}
		if moved := !sameSlice(apps, v.Apps); moved || e != old {
			apps = v.Apps
			m.serve(v)
			m.wakeAll()
		}
		m.returned(v, out)
		out = v.Distribution.Out
		m.contents.sweep(e, began)
		// What is dear to compute is not computed all the time.
		waitFor(ctx, nil, min(max(minPause, 2*time.Since(began)), maxPause))
		waitFor(ctx, changed, sweepEvery)
	}
}

// sameSlice tells whether two lists are one: a state that changes has others.
func sameSlice(a, b []fsm.App) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// serve sees to it that there is a session for every app of this node.
func (m *Manager) serve(v *fsm.View) {
	for _, a := range v.Apps {
		if a.Node == m.node {
			m.post(a.Name, nil)
		}
	}
}

// returned has the apps that a node served before sent everything again where
// that node is back: what its process sent last, before it died or while it was cut
// off, may have come meanwhile.
func (m *Manager) returned(v *fsm.View, out []string) {
	for _, a := range v.Apps {
		if a.Node != m.node || v.Distribution.IsOut(a.Before) || !slices.Contains(out, a.Before) {
			continue
		}
		if s := m.session(a.Name); s != nil {
			s.poke(s.void)
		}
	}
}

// encoder writes what an app is sent: own are the senders that are this app.
// Those that are other apps of this or of the other edition are not for it.
func (e *edition) encoder(own []string, other *edition) *routing.Encoder {
	return &routing.Encoder{
		Groups: e.outline.groups,
		Other: func(s string) bool {
			return !slices.Contains(own, s) && (e.senders.known[s] || other != nil && other.senders.known[s])
		},
	}
}

// suspects are the keys whose entries an app might see otherwise than in old.
func (e *edition) suspects(old *edition) []routing.Key {
	switch {
	case e.outline != old.outline:
		return union(old.state.Table.Keys(), e.state.Table.Keys())
	case e.senders.lacks(old.senders):
		return union(routing.DiffTables(old.state.Table, e.state.Table), union(old.senders.keys, e.senders.keys))
	}
	return routing.DiffTables(old.state.Table, e.state.Table)
}

func union(a, b []routing.Key) []routing.Key {
	all := slices.Concat(a, b)
	slices.SortFunc(all, routing.Key.Compare)
	return slices.Compact(all)
}
