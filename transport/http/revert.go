package http

import (
	"context"
	"fmt"
	"net/http"

	"floe/fsm"
	"floe/routing"
	"floe/topics"
	"floe/transport/http/api"
)

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
