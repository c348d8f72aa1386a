package http

import (
	"context"
	"net/http"

	"floe/transport/http/api"
)

func (s *Server) listKeys(ctx context.Context, _ *http.Request) (any, error) {
	return s.config.Nodes.Keys(ctx), nil
}

// changeKeys changes the secrets of the gossip on all nodes.
func (s *Server) changeKeys(ctx context.Context, r *http.Request) (any, error) {
	var ask api.KeyChange
	if err := decode(r, bodyLimit, &ask); err != nil {
		return nil, err
	}
	switch {
	case ask.Do == "add" && len(ask.Key) > 0 && ask.ID == "":
	case (ask.Do == "use" || ask.Do == "remove") && ask.ID != "" && ask.Key == nil:
	default:
		return nil, refuse(api.BadRequest, `do is "add" with a key, or "use" or "remove" with an id`)
	}
	if err := s.config.Nodes.ChangeKeys(ctx, ask); err != nil {
		return nil, err
	}
	return s.config.Nodes.Keys(ctx), nil
}
