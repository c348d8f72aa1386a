package http

import (
	"context"
	"fmt"
	"net/http"

	"floe/fsm"
	"floe/transport/http/api"
)

func (s *Server) listClusters(ctx context.Context, r *http.Request) (any, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	out := make([]api.Cluster, 0, len(v.Clusters))
	for _, p := range v.Clusters {
		out = append(out, clusterValue(p))
	}
	return out, nil
}

// addCluster asks the addresses which cluster lives there before it is noted.
func (s *Server) addCluster(ctx context.Context, r *http.Request) (any, error) {
	var ask api.Cluster
	if err := decode(r, bodyLimit, &ask); err != nil {
		return nil, err
	}
	if ask.Name == "" || len(ask.Addresses) == 0 {
		return nil, refuse(api.BadRequest, "another cluster needs a name and at least one peer address")
	}
	if s.config.Clusters == nil {
		return nil, refuse(api.NotBuilt, "this node knows no other floe clusters")
	}
	peer, err := s.config.Clusters.Discover(ctx, ask.Name, ask.Addresses)
	if err != nil {
		return nil, err
	}
	if ask.ID != "" && ask.ID != peer.ID {
		return nil, &fsm.Refusal{Kind: fsm.ErrCluster, Name: ask.Name, Detail: fmt.Sprintf("the addresses lead to cluster %s, not to %s", peer.ID, ask.ID)}
	}
	if _, err := s.propose(ctx, r, fsm.SetCluster{Cluster: peer}); err != nil {
		return nil, err
	}
	return clusterValue(peer), nil
}

func (s *Server) removeCluster(ctx context.Context, r *http.Request) (any, error) {
	name, err := param(r, "name")
	if err != nil {
		return nil, err
	}
	if _, err := s.propose(ctx, r, fsm.DropCluster{Name: name}); err != nil {
		return nil, err
	}
	return api.Removed{Removed: 1}, nil
}

func clusterValue(p fsm.Peer) api.Cluster {
	return api.Cluster{Name: p.Name, ID: p.ID, Addresses: p.Addresses}
}
