package http

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"floe/fsm"
	"floe/routing"
	"floe/topics"
	"floe/transport/http/api"
)

// usualChanges is how many changes a history shows unless asked for more.
const usualChanges = 100

// history answers with the latest changes, of a topic if one is named.
func (s *Server) history(ctx context.Context, r *http.Request) (any, error) {
	limit, err := count(r, "limit", usualChanges)
	if err != nil {
		return nil, err
	}
	all, err := flag(r, "all")
	if err != nil {
		return nil, err
	}
	v, err := s.view(ctx, r)
	if err == nil {
		err = hasHistory(v)
	}
	if err != nil {
		return nil, err
	}
	topic, named := r.URL.Query().Get("topic"), r.URL.Query().Has("topic")
	out := api.History{Index: v.Index, Floor: v.History.Floor(), Changes: []api.Record{}}
	changes, _ := v.History.After(0)
	for _, c := range slices.Backward(changes) {
		if len(out.Changes) == limit {
			break
		}
		if c.ByNode && !all && !named || named && !mayTouch(c, topic) {
			continue
		}
		out.Changes = append(out.Changes, record(v, c))
	}
	slices.Reverse(out.Changes)
	return out, nil
}

// hasHistory refuses what needs a history in a cluster that has none yet.
func hasHistory(v *fsm.View) error {
	if v.Version >= fsm.HistoryVersion {
		return nil
	}
	return refuse(api.Version, fmt.Sprintf("changes are remembered from cluster version %d on, the cluster is at %d; it rises once all nodes run this program", fsm.HistoryVersion, v.Version))
}

// mayTouch tells whether a change has to do with a topic, as far as is known.
func mayTouch(c *fsm.Change, topic string) bool {
	return c.Touches(topic) || c.Cut && c.NRoutes+c.NMEIDs == 0
}

// count returns a query parameter that is a number from 1 on.
func count(r *http.Request, name string, usual int) (int, error) {
	q := r.URL.Query()
	if !q.Has(name) {
		return usual, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 1 {
		return 0, refuse(api.BadRequest, fmt.Sprintf("the parameter %q is %q, not a number from 1 on", name, q.Get(name)))
	}
	return n, nil
}

// record is a change as it travels.
func record(v *fsm.View, c *fsm.Change) api.Record {
	out := api.Record{
		Index: c.Index, From: c.From, ByNode: c.ByNode, Op: opWord(c), Topics: listed(c.TopicNames()), Graph: graphChanges(v, c), Cut: c.Cut,
		Removed: []string{}, Added: []string{},
	}
	if c.Time != 0 {
		out.Time = time.Unix(0, c.Time).UTC()
	}
	for i := range c.Routes {
		out.Removed = append(out.Removed, recordTexts(c.Routes[i].Was)...)
		out.Added = append(out.Added, recordTexts(c.Routes[i].Is)...)
	}
	for _, m := range c.MEIDs {
		if m.Was != "" {
			out.Removed = append(out.Removed, "mme_ar|"+m.Was+"|"+m.MEID)
		}
		if m.Is != "" {
			out.Added = append(out.Added, "mme_ar|"+m.Is+"|"+m.MEID)
		}
	}
	for _, s := range c.Servers {
		out.Members = append(out.Members, api.MemberChange{ID: s.ID, Was: s.Was, Is: s.Is})
	}
	out.Text = changeText(c, out)
	return out
}

func recordTexts(records []fsm.RouteRecord) []string {
	out := make([]string, len(records))
	for i := range records {
		out[i] = records[i].Text()
	}
	return out
}

// graphChanges are topics that were made, links, topics that were destroyed,
// and subscriptions.
func graphChanges(v *fsm.View, c *fsm.Change) []api.Change {
	out := []api.Change{}
	for _, t := range c.Topics {
		if t.Made {
			out = append(out, api.Change{Op: "create", From: t.Name})
		}
	}
	for i := range c.Links {
		out = append(out, linkChange(v, &c.Links[i]))
	}
	for _, t := range c.Topics {
		if !t.Made {
			out = append(out, api.Change{Op: "destroy", From: t.Name})
		}
	}
	for _, s := range c.Subscriptions {
		op := "unsubscribe"
		if s.Made {
			op = "subscribe"
		}
		out = append(out, api.Change{Op: op, From: s.Topic, To: identityText(s.Identity)})
	}
	return out
}

func linkChange(v *fsm.View, l *fsm.LinkChange) api.Change {
	out := api.Change{From: l.From, To: targetName(v, l.To, l.Target().Remote)}
	switch {
	case l.Was == nil:
		out.Op, out.Cost = "link", l.Is.Cost
	case l.Is == nil:
		out.Op, out.Cost = "unlink", l.Was.Cost
	default:
		out.Op, out.Cost, out.Was = "cost", l.Is.Cost, l.Was.Cost
	}
	return out
}

// targetName is how a link's target is shown; to is a topic of this graph.
func targetName(v *fsm.View, to string, remote *topics.Remote) string {
	if remote == nil {
		return to
	}
	name, _ := LinkName(v, topics.Link{Remote: remote})
	return name
}

// revert brings graph and routes back to an index, or says what that would
// change.
func (s *Server) revert(ctx context.Context, r *http.Request) (any, error) {
	var ask api.Revert
	if err := decode(r, bodyLimit, &ask, "to"); err != nil {
		return nil, err
	}
	v, err := s.config.Group.Read(ctx)
	if err == nil {
		err = hasHistory(v)
	}
	if err != nil {
		return nil, err
	}
	seen := v.History.Last()
	if ask.Seen != 0 && ask.Seen != seen {
		return nil, refuse(api.Changed, fmt.Sprintf("graph or routes changed at index %d, after this was worked out; look at the difference again", seen))
	}
	batch, err := v.RevertTo(ask.To)
	if err != nil {
		return nil, err
	}
	out := reverted(v, batch)
	out.To, out.Seen, out.Index, out.Applied = ask.To, seen, v.Index, !ask.Check
	if ask.Check || len(batch.Ops) == 0 {
		return out, nil
	}
	result, err := s.propose(ctx, r, batch)
	if err != nil {
		return nil, err
	}
	out.Index = result.Index
	return out, nil
}

// reverted says what a batch would change.
func reverted(v *fsm.View, batch fsm.Batch) api.Reverted {
	out := api.Reverted{Graph: []api.Change{}, Removed: []string{}, Added: []string{}}
	for _, op := range batch.Ops {
		switch o := op.(type) {
		case fsm.CreateTopic:
			out.Graph = append(out.Graph, api.Change{Op: "create", From: o.Name})
		case fsm.DestroyTopic:
			out.Graph = append(out.Graph, api.Change{Op: "destroy", From: o.Name})
		case fsm.Link:
			out.Graph = append(out.Graph, linkAgain(v, o))
		case fsm.Unlink:
			out.Graph = append(out.Graph, unlinkAgain(v, o))
		case fsm.Subscribe:
			out.Graph = append(out.Graph, api.Change{Op: "subscribe", From: o.Topic, To: identityText(o.Subscription.Identity)})
		case fsm.ChangeRoutes:
			out.Removed, out.Added = routesAgain(v.Routes.Loaded, o)
		}
	}
	return out
}

func linkAgain(v *fsm.View, o fsm.Link) api.Change {
	c := api.Change{Op: "link", From: o.From, To: targetName(v, o.To, o.Remote), Cost: o.Cost}
	if l := findLink(v, o.From, c.To); l != nil {
		c.Op, c.Was = "cost", l.Cost
	}
	return c
}

func unlinkAgain(v *fsm.View, o fsm.Unlink) api.Change {
	c := api.Change{Op: "unlink", From: o.From, To: topics.TopicName(o.Target)}
	for _, l := range v.Graph.Topic(o.From).Links {
		if v.Graph.TargetIdentity(l) == o.Target {
			c.To, _ = LinkName(v, l)
			c.Cost = l.Cost
		}
	}
	return c
}

// findLink returns the link that is shown as to, nil where there is none.
func findLink(v *fsm.View, from, to string) *topics.Link {
	t := v.Graph.Topic(from)
	if t == nil {
		return nil
	}
	for i := range t.Links {
		if name, _ := LinkName(v, t.Links[i]); name == to {
			return &t.Links[i]
		}
	}
	return nil
}

// routesAgain says what a change does to loaded routes.
func routesAgain(was routing.State, o fsm.ChangeRoutes) (removed, added []string) {
	next, changes, err := was.Apply(fsm.RouteUpdate(o.Blocks))
	if err != nil {
		return []string{}, []string{} // then the batch is refused
	}
	return records(was, next, changes), records(next, was, changes)
}
