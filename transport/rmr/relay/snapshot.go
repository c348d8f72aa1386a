package relay

import (
	"slices"

	"floe/fsm"
	"floe/routing"
)

// snapshot is all that routing one message needs, at one version of it. A
// message goes by one snapshot, from its look-up to its last copy.
type snapshot struct {
	version uint64
	table   *routing.Table
	meids   *routing.MEIDMap
	apps    *apps
	dead    []string            // endpoints found dead by the probe, sorted
	own     map[string]struct{} // listeners for messages of this cluster's nodes
}

// compile makes the snapshot of a view from that of the view before.
func compile(v *fsm.View, old *snapshot) *snapshot {
	state := v.Routes.State()
	s := &snapshot{
		version: v.TableVersion(), table: state.Table, meids: state.MEIDs,
		dead: v.Distribution.Dead, apps: compileApps(v.Apps, old.apps), own: map[string]struct{}{},
	}
	for _, m := range v.Members {
		for _, listener := range []string{"rmr", "rmr-topics"} {
			for _, address := range m.Addresses[listener] {
				s.own[address] = struct{}{}
			}
		}
	}
	return s
}

// isDead tells whether the probe found an endpoint dead.
func (s *snapshot) isDead(endpoint string) bool {
	_, found := slices.BinarySearch(s.dead, endpoint)
	return found
}

// newest returns the snapshot of the View as it stands: what comes after the
// node has a change never goes by the table or map before it.
func (r *Relay) newest() *snapshot {
	s := r.current.Load()
	if s.version == r.cfg.Group.View().TableVersion() {
		return s
	}
	r.update()
	return r.current.Load()
}

// watch keeps the snapshot up to date also where no message comes.
func (r *Relay) watch() {
	for {
		changed := r.cfg.Group.Changed()
		r.update()
		select {
		case <-changed:
		case <-r.ctx.Done():
			return
		}
	}
}

// update makes the snapshot anew; one at a time, so that versions never step back.
func (r *Relay) update() {
	r.updating.Lock()
	defer r.updating.Unlock()
	old := r.current.Load()
	s := compile(r.cfg.Group.View(), old)
	r.current.Store(s)
	if s.table != old.table {
		r.turns.Prune(s.table)
		r.topicTurns.Prune(s.table)
		r.routes.prune(s.table)
	}
}
