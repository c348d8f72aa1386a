package http

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"floe/fsm"
	"floe/routing"
	"floe/transport/http/api"
)

// traceMessage says what would become of a message that is sent to floe: the
// lookup, and what floe knows of each endpoint.
func (s *Server) traceMessage(ctx context.Context, r *http.Request) (any, error) {
	ask, err := routeQuery(r)
	if err != nil {
		return nil, err
	}
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	found := find(v, ask)
	found.Why = append(found.Why, onTheWay(v, ask, &found)...)
	return found, nil
}

// find answers a query with what the table says.
func find(v *fsm.View, ask routing.Query) api.RouteFound {
	a := v.Routes.State().Explain(ask)
	found := api.RouteFound{
		MType: ask.MType, SubID: ask.SubID, Groups: a.Groups, Owner: a.Owner,
		Reason: string(a.Reason), Near: a.Near, Why: listed(a.Why),
	}
	if a.Entry != nil {
		found.Record = a.Entry.String()
	}
	return found
}

// onTheWay says what lies between the sender and the endpoints of an answer.
func onTheWay(v *fsm.View, ask routing.Query, found *api.RouteFound) []string {
	why := aboutSender(v, ask.Sender.Name)
	if found.Reason != "" {
		return why
	}
	if v.Distribution.Relay.On(ask.MType) {
		why = append(why, fmt.Sprintf("the relay is on for type %d: programs send it to floe, which sends it on", ask.MType))
	} else {
		why = append(why, "programs send it straight to the endpoint, by the table they were given")
	}
	if found.Owner != "" {
		return why
	}
	for _, g := range found.Groups {
		for _, member := range g {
			why = append(why, aboutMember(v, member)...)
		}
		if dead := deadOf(v, g); len(dead) > 0 && len(dead) < len(g) {
			why = append(why, fmt.Sprintf("%s found dead and passed over", strings.Join(dead, " and ")))
		}
	}
	return why
}

func aboutSender(v *fsm.View, sender string) []string {
	if sender == "" || len(v.Apps) == 0 {
		return nil
	}
	a, known := v.App(sender)
	if !known {
		why := fmt.Sprintf("no program named %s asked for a table: floe routes apps lists those that did", sender)
		if near := nearNames(sender, names(slices.Values(v.Apps), func(a fsm.App) string { return a.Name })); near != "" {
			why += "; did you mean " + near + "?"
		}
		return []string{why}
	}
	if a.Acked < v.TableVersion() {
		return []string{fmt.Sprintf("%s acknowledged version %d, the table is at %d: it may go by an older one", a.Name, a.Acked, v.TableVersion())}
	}
	return []string{fmt.Sprintf("%s has this table, version %d", a.Name, a.Acked)}
}

func aboutMember(v *fsm.View, member string) []string {
	name, is := routing.Topic(member)
	if !is {
		return nil
	}
	t := v.Graph.Topic(name)
	if t == nil {
		return []string{fmt.Sprintf("there is no topic %q: what is meant for it is dropped", name)}
	}
	return []string{fmt.Sprintf("topic %q has %s in this cluster; a message crosses none of its links", name, api.Plural(len(t.Subscriptions), "subscriber"))}
}

func deadOf(v *fsm.View, group []string) []string {
	return slices.DeleteFunc(slices.Clone(group), func(m string) bool { return !v.Distribution.IsDead(m) })
}
