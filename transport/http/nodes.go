package http

import (
	"context"
	"net/http"

	"floe/transport/http/api"
)

// members answers from this node's own knowledge, also without a leader.
func (s *Server) members(ctx context.Context, r *http.Request) (any, error) {
	s.confirm(ctx, r)
	return s.config.Nodes.Members(ctx), nil
}

// status answers from this node's own knowledge, also without a leader.
func (s *Server) status(ctx context.Context, r *http.Request) (any, error) {
	s.confirm(ctx, r)
	return s.config.Nodes.Status(ctx), nil
}

// confirm catches up with the leader where there is one: status and members
// answer without one, too.
func (s *Server) confirm(ctx context.Context, r *http.Request) {
	if !stale(r) && s.config.Nodes.Ready() == nil {
		_, _ = s.config.Group.Read(ctx) // status says itself what is wrong
	}
}

func (s *Server) join(ctx context.Context, r *http.Request) (any, error) {
	var ask api.Join
	if err := decode(r, bodyLimit, &ask); err != nil {
		return nil, err
	}
	if len(ask.Addresses) == 0 {
		return nil, refuse(api.BadRequest, "join needs the peer address of a member")
	}
	return done("joined", s.config.Nodes.Join(ctx, ask.Addresses, ask.Token))
}

func (s *Server) leave(ctx context.Context, _ *http.Request) (any, error) {
	return done("left", s.config.Nodes.Leave(ctx))
}

func (s *Server) remove(ctx context.Context, r *http.Request) (any, error) {
	var ask api.Remove
	if err := decode(r, bodyLimit, &ask); err != nil {
		return nil, err
	}
	return done("removed "+ask.ID, s.hintedNode(ctx, s.config.Nodes.Remove(ctx, ask.ID, ask.Force), ask.ID))
}

func (s *Server) transfer(ctx context.Context, r *http.Request) (any, error) {
	var ask api.Transfer
	if err := decode(r, bodyLimit, &ask); err != nil {
		return nil, err
	}
	return done("leadership handed over", s.hintedNode(ctx, s.config.Nodes.Transfer(ctx, ask.ID), ask.ID))
}

func (s *Server) drain(ctx context.Context, r *http.Request) (any, error) {
	var ask api.Drain
	if err := decode(r, bodyLimit, &ask); err != nil {
		return nil, err
	}
	message := "drained"
	if ask.Undo {
		message = "takes part again"
	}
	return done(message, s.config.Nodes.Drain(ctx, ask.Undo))
}

func done(message string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return api.Done{Message: message}, nil
}
