package http

import (
	"context"
	"net/http"

	"floe/fsm"
	"floe/routing/derive"
	"floe/transport/http/api"
)

// OldManager is what an old route manager left behind, as changes of the
// facts that routes are derived from.
type OldManager struct {
	Changes []derive.Change
	// Facts say in words what was found, Notes what will not be as it was.
	Facts, Notes []string
}

// importRouteManager takes over what an old route manager knows.
func (s *Server) importRouteManager(ctx context.Context, r *http.Request) (any, error) {
	var ask api.ImportRouteManager
	if err := decode(r, bulkLimit, &ask, "texts"); err != nil {
		return nil, err
	}
	if s.config.OldManager == nil {
		return nil, refuse(api.BadRequest, "this node does not read what an old route manager left behind")
	}
	v, err := s.config.Group.Read(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.config.OldManager(v.Routes.Facts, ask.Texts)
	if err != nil {
		return nil, refuse(api.BadRequest, err.Error())
	}
	was := v.Routes.Facts.State()
	facts, changes, err := v.Routes.Facts.ApplyAll(found.Changes)
	if err != nil {
		return nil, &fsm.Refusal{Kind: fsm.ErrRoutes, Detail: err.Error()}
	}
	next := facts.State()
	imported := api.RoutesImported{
		Facts: listed(found.Facts), Notes: listed(found.Notes),
		Removed: records(was, next, changes), Added: records(next, was, changes),
		Changed: facts != v.Routes.Facts, Version: v.Routes.Version, Applied: !ask.Check,
	}
	if ask.Check || !imported.Changed {
		return imported, nil
	}
	result, err := s.propose(ctx, r, fsm.ChangeFacts{Changes: found.Changes})
	imported.Version = result.Version
	return imported, err
}
