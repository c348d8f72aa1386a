package http

import (
	"context"
	"net/http"

	"floe/transport/http/api"
)

func (s *Server) listSettings(context.Context, *http.Request) (any, error) {
	if s.config.Settings == nil {
		return []api.Setting{}, nil
	}
	return s.config.Settings.List(), nil
}

// changeSetting changes one value until this node stops.
func (s *Server) changeSetting(_ context.Context, r *http.Request) (any, error) {
	var ask api.Setting
	if err := decode(r, bodyLimit, &ask); err != nil {
		return nil, err
	}
	if s.config.Settings == nil {
		return nil, refuse(api.NotBuilt, "this node has no settings to change")
	}
	if err := s.config.Settings.Set(ask); err != nil {
		return nil, refuse(api.BadRequest, err.Error())
	}
	return ask, nil
}
