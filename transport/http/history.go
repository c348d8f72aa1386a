package http

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"floe/fsm"
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
