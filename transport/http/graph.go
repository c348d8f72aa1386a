package http

import (
	"context"
	"net/http"
	"strconv"

	"floe/fsm"
	"floe/transport/http/api"
)

// graph answers with all topics and links as they stand at one index.
func (s *Server) graph(ctx context.Context, r *http.Request) (any, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	return graphValue(v), nil
}

func graphValue(v *fsm.View) api.Graph {
	return api.Graph{Topics: topicValues(v.Graph), Links: linkValues(v, nil)}
}

func quote(s string) string { return strconv.Quote(s) }
