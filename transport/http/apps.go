package http

import (
	"context"
	"net/http"

	"floe/fsm"
	"floe/transport/http/api"
)

// Apps knows the programs that asked for a route table, on all nodes. It
// answers at once and without a leader.
type Apps interface {
	Apps(ctx context.Context) []api.App
}

// listApps answers with what each app was sent and acknowledged.
func (s *Server) listApps(ctx context.Context, r *http.Request) (any, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	if s.config.Apps != nil {
		return listed(s.config.Apps.Apps(ctx)), nil
	}
	out := []api.App{}
	for _, a := range v.Apps {
		out = append(out, RecordedApp(a))
	}
	return out, nil
}

// RecordedApp is what the replicated state knows of an app.
func RecordedApp(a fsm.App) api.App {
	out := api.App{Name: a.Name, Node: a.Node, VersionAcked: a.Acked}
	if len(a.Control) > 0 {
		out.Address = a.Control[0]
	}
	return out
}

func (s *Server) showRelay(ctx context.Context, r *http.Request) (any, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	return relayOf(v), nil
}

func relayOf(v *fsm.View) api.Relay {
	relay := v.Distribution.Relay
	return api.Relay{All: relay.All, Except: listed(relay.Except), Version: v.TableVersion()}
}

// setRelay answers with what holds now.
func (s *Server) setRelay(ctx context.Context, r *http.Request) (any, error) {
	var ask api.SetRelay
	if err := decode(r, bodyLimit, &ask); err != nil {
		return nil, err
	}
	if _, err := s.propose(ctx, r, fsm.SetRelay{On: ask.On, MType: ask.MType}); err != nil {
		return nil, err
	}
	return relayOf(s.config.Group.View()), nil
}
