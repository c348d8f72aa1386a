package fsm

import (
	"fmt"
	"slices"

	"floe/routing"
)

// touched is what an op may have changed, as far as it goes by keys and
// MEIDs; see draft.
type touched struct {
	loaded, derived routing.Changes
}

func (*touched) touch(to *routing.Changes, c routing.Changes) {
	if to.Empty() { // mostly there is one, which may be large
		*to = c
		return
	}
	to.Routes = slices.Concat(to.Routes, c.Routes)
	to.MEIDs = slices.Concat(to.MEIDs, c.MEIDs)
}

// recorded returns the view with a command that was applied to before noted
// in its history.
func (v View) recorded(before *View, c Command, index uint64, t touched) View {
	if v.Version < HistoryVersion {
		return v
	}
	if before.Version < HistoryVersion || c.Op.Kind() == KindCommitRestore {
		v.History = History{floor: index - 1} // nothing is known of what was before
	}
	change := &Change{Index: index, Time: c.Time, From: c.From, Kind: c.Op.Kind(), ByNode: madeByNode(c.Op), Name: about(c.Op)}
	change.Was, change.Cut = revertedTo(c.Op), c.Op.Kind() == KindCommitRestore
	e := effect{change: change, before: before, after: &v, room: maxChange}
	e.graph(c.Op)
	e.routes(before.Routes.Loaded, v.Routes.Loaded, t.loaded, false)
	e.routes(before.Routes.derived(), v.Routes.derived(), t.derived, true)
	if change.differs() && !e.idle(c.Op) {
		v.History = v.History.with(change)
	}
	return v
}

// regrouped returns the view with other servers, and that noted.
func (v View) regrouped(now []Server, index uint64) View {
	change := &Change{Index: index, ByNode: true, Servers: serverChanges(v.Servers, now)}
	v.Servers, v.Index = now, index
	if v.Version >= HistoryVersion && change.differs() {
		v.History = v.History.with(change)
	}
	return v
}

func serverChanges(was, is []Server) []ServerChange {
	words := map[bool]string{true: "voter", false: "non-voter"}
	by := map[string]ServerChange{}
	for _, s := range was {
		by[s.ID] = ServerChange{ID: s.ID, Was: words[s.Voter]}
	}
	for _, s := range is {
		c := by[s.ID]
		c.ID, c.Is = s.ID, words[s.Voter]
		by[s.ID] = c
	}
	var out []ServerChange
	for _, s := range union(ids(was), ids(is)) {
		if c := by[s]; c.Was != c.Is {
			out = append(out, c)
		}
	}
	return out
}

func ids(servers []Server) []string {
	var out []string
	for _, s := range servers {
		out = append(out, s.ID)
	}
	return out
}

// madeByNode tells what nodes do by themselves from what somebody asked for.
// Other than byNode it is about who, and not about what.
func madeByNode(op Op) bool {
	switch op.Kind() {
	case KindSetToken, KindDropToken:
		return false
	case KindStageRoutes:
		return true // CommitRoutes is the change
	}
	return byNode(op)
}

// about names what an op of neither graph nor routes is about.
func about(op Op) string {
	switch o := op.(type) {
	case SetMember:
		return o.Member.ID
	case DropMember:
		return o.ID
	case SetCluster:
		return o.Cluster.Name
	case DropCluster:
		return o.Name
	case SetToken:
		return o.Token.Name
	case DropToken:
		return o.Name
	case RaiseVersion:
		return fmt.Sprint(o.Version)
	case SetRelay:
		word := map[bool]string{true: "on", false: "off"}[o.On]
		if o.MType != nil {
			return fmt.Sprintf("%s for type %d", word, *o.MType)
		}
		return word
	}
	return ""
}
